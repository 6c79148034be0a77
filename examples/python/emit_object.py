"""Writes a relocatable object with call frame information and lane PCs, as a compiler would, and checks it.

    python emit_object.py [OUT]

The function is the one in `examples/emit_object`, described as a control-flow graph. `relocatable` writes an ELF file for any function.
"""

from __future__ import annotations

import struct
import sys

import hetdwarf

# r = a > b ? a + b : a - b for 32 lanes of a gfx1030, with a in v0, b in v1 and r in v2.
CODE = struct.pack(
    "<9I",
    0xBE84037E,  # 0x00  s_mov_b32 s4, exec_lo
    0x7D080300,  # 0x04  v_cmp_gt_i32 vcc_lo, v0, v1
    0x877E6A04,  # 0x08  s_and_b32 exec_lo, s4, vcc_lo       lanes of `else` wait here
    0x4A040300,  # 0x0c  v_add_nc_u32 v2, v0, v1
    0x8A7E7E04,  # 0x10  s_andn2_b32 exec_lo, s4, exec_lo
    0x4C040300,  # 0x14  v_sub_nc_u32 v2, v0, v1
    0xBEFE0304,  # 0x18  s_mov_b32 exec_lo, s4
    0x7E000302,  # 0x1c  v_mov_b32 v0, v2                    lanes of `then` wait here
    0xBE80201E,  # 0x20  s_setpc_b64 s[30:31]
)
BLOCKS = [
    {"name": "entry", "code": (0x00, 0x0C), "events": [(0x00, 0x04, "save", "s4"), (0x08, 0x0C, "and")], "successors": [1]},
    {"name": "then", "code": (0x0C, 0x10), "successors": [2]},
    {"name": "flip", "code": (0x10, 0x14), "events": [(0x10, 0x14, "flip", "s4")], "successors": [3]},
    {"name": "else", "code": (0x14, 0x18), "successors": [4]},
    {"name": "end", "code": (0x18, 0x24), "events": [(0x18, 0x1C, "restore", "s4")]},
]


def call_frames() -> tuple[bytes, list[hetdwarf.Relocation]]:
    """Writes the location of the caller's registers at each address."""
    writer = hetdwarf.CfiWriter("gfx1030", 32)
    writer.function("choose", len(CODE))
    writer.cfa_from_register(0, "s32")
    writer.stack_pointer_from_cfa(0, "s32")
    writer.return_address_in_pair(0, "s30")
    writer.clobbered(0, "s4")
    writer.saved_in_register(0x04, "exec", "s4")
    writer.restored(0x1C, "exec")
    return writer.section()


def lanes() -> dict[str, tuple[bytes, list[hetdwarf.Relocation]]]:
    """Writes the positions of inactive lanes."""
    writer = hetdwarf.LanePcWriter()
    refused = writer.graph("choose", "choose", "choose_end", 32, BLOCKS)
    assert not refused, refused
    return writer.sections("choose.c")


def relocatable(function: str, code: bytes, flags: int, debug: dict[str, tuple[bytes, list[hetdwarf.Relocation]]]) -> bytes:
    """Writes an ELF file with one function and some sections. Each relocation names the function, a section, or None for its own section."""
    strings = bytearray(b"\0")

    def string(text: str) -> int:
        strings.extend(text.encode() + b"\0")
        return len(strings) - len(text) - 1

    # Each section has a symbol with the section's number. The function's symbol comes last.
    number = {name: index for index, name in enumerate([".text", *debug], 1)}
    last = len(number) + 1
    symbols = bytes(24) + b"".join(struct.pack("<IBBHQQ", 0, 3, 0, index, 0, 0) for index in number.values())
    symbols += struct.pack("<IBBHQQ", string(function), 0x12, 0, 1, 0, len(code))
    # Name, contents, type, flags, link, info, alignment and size of entries.
    sections: list[tuple[str, bytes, int, int, int, int, int, int]] = [(".text", code, 1, 6, 0, 0, 256, 0)]
    sections += [(name, data, 1, 0, 0, 0, 1, 0) for name, (data, _) in debug.items()]
    table = len(sections) + sum(bool(relocations) for _, relocations in debug.values()) + 1
    for name, (_, relocations) in debug.items():
        # R_AMDGPU_ABS64 and R_AMDGPU_ABS32.
        rows = [
            struct.pack("<QIIQ", one.offset, 3 if one.size == 8 else 6, last if one.symbol == function else number[one.symbol or name], one.addend)
            for one in relocations
        ]
        if rows:
            sections.append((f".rela{name}", b"".join(rows), 4, 0x40, table, number[name], 8, 24))
    sections.append((".symtab", symbols, 2, 0, table + 1, last, 8, 24))
    names = [string(name) for name, *_ in sections] + [string(".strtab")]
    sections.append((".strtab", bytes(strings), 3, 0, 0, 0, 1, 0))

    out, headers = bytearray(64), bytearray(64)
    for name_at, (_, data, kind, section_flags, link, info, alignment, entry) in zip(names, sections):
        out.extend(bytes(-len(out) % alignment))
        headers += struct.pack("<IIQQQQIIQQ", name_at, kind, section_flags, 0, len(out), len(data), link, info, alignment, entry)
        out += data
    out.extend(bytes(-len(out) % 8))
    # ET_REL for EM_AMDGPU, ELFOSABI_AMDGPU_HSA and version 5 of code objects.
    start = struct.pack("<4sBBBBB7x", b"\x7fELF", 2, 1, 1, 64, 3)
    out[:64] = start + struct.pack("<HHIQQQIHHHHHH", 1, 224, 1, 0, 0, len(out), flags, 64, 0, 0, 64, len(sections) + 1, len(sections))
    return bytes(out + headers)


def main() -> None:
    frames = {".debug_frame": call_frames()}
    data = relocatable("choose", CODE, 0x36, frames | lanes())  # EF_AMDGPU_MACH_AMDGCN_GFX1030
    if len(sys.argv) > 1:
        with open(sys.argv[1], "wb") as out:
            out.write(data)
    obj = hetdwarf.open(data)
    assert [function.name for function in obj.functions] == ["choose"]
    findings = obj.verify()
    assert not findings, findings
    print(f"{len(data)} bytes, {len(obj.info['units'])} unit, {len(findings)} findings")


if __name__ == "__main__":
    main()
