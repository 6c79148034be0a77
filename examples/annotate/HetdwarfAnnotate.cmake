# hetdwarf_annotate(TARGET): adds the positions of inactive lanes to the code objects of TARGET after it is linked.
#
# TARGET is a code object that clang links for amdgcn, or a static library or object whose members contain code objects.
# HETDWARF names the command. By default it is found in PATH.

find_program(HETDWARF hetdwarf DOC "The command that annotates code objects")

function(hetdwarf_annotate target)
  if(NOT HETDWARF)
    message(WARNING "hetdwarf is not found: ${target} will not say where its lanes are")
    return()
  endif()
  # The output must be another file. It replaces the input only if it was written completely.
  add_custom_command(TARGET ${target} POST_BUILD
    COMMAND "${HETDWARF}" annotate "$<TARGET_FILE:${target}>" -o "$<TARGET_FILE:${target}>.annotated"
    COMMAND "${CMAKE_COMMAND}" -E rename "$<TARGET_FILE:${target}>.annotated" "$<TARGET_FILE:${target}>"
    COMMENT "Annotating ${target}"
    VERBATIM)
endfunction()
