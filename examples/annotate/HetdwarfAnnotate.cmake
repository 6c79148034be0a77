# hetdwarf_annotate(TARGET): after TARGET is linked, adds to its code objects where the lanes are that EXEC has switched off.
#
# TARGET is linked by clang for amdgcn (a code object), or is a static library or object whose members hold code objects. HETDWARF
# names the command; without it the one in PATH is taken.

find_program(HETDWARF hetdwarf DOC "The command that annotates code objects")

function(hetdwarf_annotate target)
  if(NOT HETDWARF)
    message(WARNING "hetdwarf is not found: ${target} will not say where its lanes are")
    return()
  endif()
  # The output has to be another file; it replaces the input only if it was written.
  add_custom_command(TARGET ${target} POST_BUILD
    COMMAND "${HETDWARF}" annotate "$<TARGET_FILE:${target}>" -o "$<TARGET_FILE:${target}>.annotated"
    COMMAND "${CMAKE_COMMAND}" -E rename "$<TARGET_FILE:${target}>.annotated" "$<TARGET_FILE:${target}>"
    COMMENT "Annotating ${target}"
    VERBATIM)
endfunction()
