// Describes how a function saves its caller's registers, as a compiler back end in C++ would. Prints assembler
// directives, and the relocations of .debug_frame. The function is the one in examples/emit_cfi.rs.
//
// emit_cfi [OUT]: writes the bytes of .debug_frame to OUT.

#include <hetdwarf.hpp>

#include <cstdio>
#include <cstdlib>
#include <fstream>

namespace {

// The DWARF register numbers of a 64-lane wave.
constexpr std::uint32_t s(std::uint32_t n) { return 32 + n; }
constexpr std::uint32_t v(std::uint32_t n) { return 2560 + n; }
constexpr std::uint32_t pc = 16, exec = 17;

// The instructions of the toy back end: the end of each one, in bytes from the start of the function.
enum : std::uint64_t {
  copied_fp = 4,      // s_mov_b32 s6, s33
  new_fp = 8,         // s_mov_b32 s33, s32
  saved_exec = 12,    // s_xor_saveexec_b64 s[4:5], -1
  stored_v40 = 20,    // buffer_store_dword v40, off, s[0:3], s33
  restored_exec = 24, // s_mov_b64 exec, s[4:5]
  stored_v41 = 32,    // buffer_store_dword v41, off, s[0:3], s33 offset:4
  saved_pc = 48,      // v_writelane_b32 v40, s30, 0 and v40, s31, 1
  body = 0x130,       // the body, with EXEC changed
  reloaded_pc = 0x140,
  reloaded = 0x160, // v41 and v40, s33 and s32
  returned = 0x164, // s_setpc_b64 s[30:31]
  size = 0x1a4,     // a cold block of the body
};

// Makes an event with the fields that all events use.
hetdwarf_cfi_event event(std::uint64_t at, std::uint32_t kind, std::uint32_t number = 0) {
  hetdwarf_cfi_event event{};
  event.code_offset = at;
  event.kind = kind;
  event.register_number = number;
  return event;
}

hetdwarf_cfi_event held(hetdwarf_cfi_event event, std::uint32_t holder, std::uint32_t lane = 0) {
  event.holder = holder;
  event.lane = lane;
  return event;
}

hetdwarf_cfi_event at_offset(hetdwarf_cfi_event event, std::int64_t offset) {
  event.offset = offset;
  return event;
}

// Returns the value, or ends the program with an error.
template <class T> T checked(hetdwarf::result<T> result) {
  if (!result) {
    std::fprintf(stderr, "%s: %s\n", result.error().name(), result.error().message.c_str());
    std::exit(2);
  }
  return *std::move(result);
}

} // namespace

int main(int argc, char **argv) {
  auto cfi = checked(hetdwarf::cfi::make("gfx908", 64));
  checked(cfi.function("helper", size));
  const hetdwarf_cfi_event events[] = {
      // On entry. The CFA is the caller's stack pointer.
      event(0, HETDWARF_CFI_CFA_FROM_REGISTER, s(32)),
      event(0, HETDWARF_CFI_STACK_POINTER_FROM_CFA, s(32)),
      event(0, HETDWARF_CFI_RETURN_ADDRESS_IN_PAIR, s(30)),
      event(0, HETDWARF_CFI_CLOBBERED, s(4)),
      event(0, HETDWARF_CFI_CLOBBERED, s(5)),
      event(0, HETDWARF_CFI_CLOBBERED, s(6)),
      // The prologue.
      held(event(copied_fp, HETDWARF_CFI_SAVED_IN_REGISTER, s(33)), s(6)),
      event(new_fp, HETDWARF_CFI_CFA_FROM_REGISTER, s(33)),
      held(event(saved_exec, HETDWARF_CFI_SAVED_IN_REGISTER, exec), s(4)),
      event(stored_v40, HETDWARF_CFI_INACTIVE_SAVED_TO_SCRATCH, v(40)),
      at_offset(event(stored_v41, HETDWARF_CFI_SAVED_TO_SCRATCH, v(41)), 4),
      held(event(saved_pc, HETDWARF_CFI_SAVED_IN_LANE, pc), v(40), 0),
      // The epilogue.
      event(body, HETDWARF_CFI_REMEMBER),
      event(reloaded_pc, HETDWARF_CFI_RESTORED, pc),
      event(reloaded, HETDWARF_CFI_RESTORED, v(41)),
      event(reloaded, HETDWARF_CFI_RESTORED, v(40)),
      event(reloaded, HETDWARF_CFI_RESTORED, exec),
      event(reloaded, HETDWARF_CFI_RESTORED, s(33)),
      event(reloaded, HETDWARF_CFI_CFA_FROM_REGISTER, s(32)),
      // The block after the return belongs to the body.
      event(returned, HETDWARF_CFI_RESTORE),
  };
  for (const auto &event : events)
    checked(cfi.add(event));

  auto text = checked(cfi.text());
  std::fwrite(text.data(), 1, text.size(), stdout);
  auto section = checked(cfi.write());
  for (std::size_t at = 0; at < section.relocation_count; at++) {
    const auto &relocation = section.relocations[at];
    std::printf("%#llx: %llu bytes of %s+%#llx\n", static_cast<unsigned long long>(relocation.offset),
                static_cast<unsigned long long>(relocation.size), relocation.symbol ? relocation.symbol : ".debug_frame",
                static_cast<unsigned long long>(relocation.addend));
  }
  if (argc > 1) {
    std::ofstream out(argv[1], std::ios::binary);
    out.write(reinterpret_cast<const char *>(section.bytes), static_cast<std::streamsize>(section.length));
    return out.good() ? 0 : 2;
  }
  return 0;
}
