"""Makes code objects with variables of any types. The bytes of the variables differ between lanes."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import Any, Union

TEXT = 0x1000
TEXT_SIZE = 0x100
MEMORY = 0x10000000
LANES = 32

# DWARF 5 §7.5 and §7.8.
TAG = {"array": 0x01, "class": 0x02, "enum": 0x04, "parameter": 0x05, "member": 0x0D, "pointer": 0x0F, "unit": 0x11, "struct": 0x13}
TAG |= {"typedef": 0x16, "union": 0x17, "inheritance": 0x1C, "subrange": 0x21, "base": 0x24, "const": 0x26, "enumerator": 0x28}
TAG |= {"subprogram": 0x2E, "variable": 0x34, "volatile": 0x35, "variant": 0x19, "variant_part": 0x33}
AT = {"discr": 0x15, "discr_value": 0x16, "discr_list": 0x3D, "location": 0x02, "name": 0x03, "byte_size": 0x0B, "low_pc": 0x11, "high_pc": 0x12, "language": 0x13, "const_value": 0x1C}
AT |= {"count": 0x37, "data_member_location": 0x38, "external": 0x3F, "encoding": 0x3E, "type": 0x49, "byte_stride": 0x51}
AT |= {"binary_scale": 0x5B, "decimal_scale": 0x5C, "endianity": 0x65, "data_bit_offset": 0x6B, "bit_size": 0x0D, "linkage_name": 0x6E}
AT |= {"GNU_vector": 0x2107, "LLVM_vector_size": 0x3E13, "LLVM_address_space": 0x3E10}
ATE = {"boolean": 2, "complex": 3, "float": 4, "signed": 5, "signed_char": 6, "unsigned": 7, "unsigned_char": 8, "imaginary": 9}
ATE |= {"utf": 0x10, "signed_fixed": 0xD}


@dataclass(eq=False)
class Die:
    """A debugging information entry. Numbers are written as data, texts as strings, bytes as expressions, and other entries as references."""

    tag: str
    attributes: dict[str, Union[int, str, bytes, "Die"]] = field(default_factory=dict)
    children: list["Die"] = field(default_factory=list)


def base(name: str, encoding: str, size: int, **more: Union[int, str, bytes, Die]) -> Die:
    return Die("base", {"name": name, "encoding": ATE[encoding], "byte_size": size, **more})


def array(element: Die, *counts: int, **more: Union[int, str, bytes, Die]) -> Die:
    return Die("array", {"type": element, **more}, [Die("subrange", {"count": count}) for count in counts])


def member(name: str, ty: Die, offset: int, **more: Union[int, str, bytes, Die]) -> Die:
    named: dict[str, Union[int, str, bytes, Die]] = {"name": name} if name else {}
    return Die("member", {**named, "type": ty, "data_member_location": offset, **more})


def bit_field(name: str, ty: Die, offset: int, size: int) -> Die:
    return Die("member", {"name": name, "type": ty, "data_bit_offset": offset, "bit_size": size})


def record(name: str, size: int, *members: Die, tag: str = "struct") -> Die:
    return Die(tag, {"name": name, "byte_size": size}, list(members))


def _uleb(number: int) -> bytes:
    out = bytearray()
    while True:
        number, low = number >> 7, number & 0x7F
        out.append(low | (0x80 if number else 0))
        if not number:
            return bytes(out)


def _sleb(number: int) -> bytes:
    out = bytearray()
    while True:
        low, number = number & 0x7F, number >> 7
        if (number, low & 0x40) in ((0, 0), (-1, 0x40)):
            out.append(low)
            return bytes(out)
        out.append(low | 0x80)


def _info(unit: Die) -> tuple[bytes, bytes]:
    """Returns `.debug_abbrev` and `.debug_info` of one unit of version 5."""
    abbrevs: dict[bytes, int] = {}
    out = bytearray(12)
    offsets: dict[int, int] = {}
    references: list[tuple[int, Die]] = []

    def write(die: Die) -> None:
        offsets[id(die)] = len(out)
        declared = _uleb(TAG[die.tag]) + bytes([bool(die.children)])
        data, own = bytearray(), []
        for name, value in die.attributes.items():
            if name in ("external", "GNU_vector"):
                form, encoded = 0x19, b""
            elif name == "low_pc":
                assert isinstance(value, int)
                form, encoded = 0x01, struct.pack("<Q", value)
            elif isinstance(value, Die):
                form, encoded = 0x13, bytes(4)
            elif isinstance(value, str):
                form, encoded = 0x08, value.encode() + b"\0"
            elif isinstance(value, bytes):
                form, encoded = 0x09 if name == "discr_list" else 0x18, _uleb(len(value)) + value
            elif value < 0:
                form, encoded = 0x0D, _sleb(value)
            else:
                form, encoded = 0x0F, _uleb(value)
            declared += _uleb(AT[name]) + _uleb(form)
            if isinstance(value, Die):
                own.append((len(data), value))
            data += encoded
        code = abbrevs.setdefault(declared, len(abbrevs) + 1)
        out.extend(_uleb(code))
        references.extend((len(out) + at, target) for at, target in own)
        out.extend(data)
        for child in die.children:
            write(child)
        if die.children:
            out.append(0)

    write(unit)
    for at, target in references:
        struct.pack_into("<I", out, at, offsets[id(target)])
    struct.pack_into("<IHBBI", out, 0, len(out) - 4, 5, 1, 8, 0)
    table = b"".join(_uleb(code) + declared + b"\0\0" for declared, code in abbrevs.items())
    return table + b"\0", bytes(out)


def elf(sections: dict[str, bytes], flags: int = 0x41) -> bytes:
    """Returns an ELF file for gfx1100 with `.text` and these sections."""
    names = ["", ".text", *sections, ".shstrtab"]
    table = b"".join(name.encode() + b"\0" for name in names)
    contents = {".text": b"\0\0\x80\xbf" * (TEXT_SIZE // 4), **sections, ".shstrtab": table}
    out, headers, at = bytearray(64), [bytes(64)], 1
    for name, data in contents.items():
        is_text = name == ".text"
        kind = (1, 6, TEXT) if is_text else (3, 0, 0) if name == ".shstrtab" else (1, 0, 0)
        headers.append(struct.pack("<IIQQQQIIQQ", at, *kind, len(out), len(data), 0, 0, 4 if is_text else 1, 0))
        out += data
        at += len(name) + 1
    start = len(out)
    ident = b"\x7fELF\x02\x01\x01\x40\x04" + bytes(7)
    out[:64] = ident + struct.pack("<HHIQQQIHHHHHH", 3, 224, 1, 0, 0, start, flags, 64, 0, 0, 64, len(headers), len(headers) - 1)
    return bytes(out) + b"".join(headers)


def _lane_location(offset: int, size: int) -> bytes:
    """Returns the location of lane L's `size` bytes: MEMORY + offset + L * size."""
    # DW_OP_LLVM_user DW_OP_LLVM_push_lane, DW_OP_constu size, DW_OP_mul, DW_OP_const8u, DW_OP_plus
    return b"\xe9\x03\x10" + _uleb(size) + b"\x1e\x0e" + struct.pack("<Q", MEMORY + offset) + b"\x22"


@dataclass
class Made:
    """A code object with variables `v0`, `v1`, …, and the wave with their bytes."""

    data: bytes
    wave: dict[str, Any]


def make(variables: list[tuple[Die, list[bytes]]], types: list[Die] | None = None, sparse: bool = False) -> Made:
    """Makes a function whose variables have these types, and these bytes in each lane. Includes all types that the variables and `types` refer to.

    * sparse: leaves out the bytes 0xEE, so that they are unavailable.
    """
    found: list[Die] = []
    seen: set[int] = set()

    def collect(die: Die) -> None:
        if id(die) in seen:
            return
        seen.add(id(die))
        if die.tag not in ("member", "subrange", "enumerator", "inheritance", "variant_part", "variant"):
            found.append(die)
        for value in die.attributes.values():
            if isinstance(value, Die):
                collect(value)
        for child in die.children:
            collect(child)

    for ty in [ty for ty, _ in variables] + (types or []):
        collect(ty)
    memory = bytearray()
    entries = []
    for index, (ty, lanes) in enumerate(variables):
        (size,) = {len(lane) for lane in lanes}
        # A single value is shared by all lanes.
        step, count = (0, 1) if len(lanes) == 1 else (size, LANES)
        entries.append(Die("variable", {"name": f"v{index}", "type": ty, "location": _lane_location(len(memory), step)}))
        for lane in range(count):
            memory += lanes[lane % len(lanes)]
    code: dict[str, Union[int, str, bytes, Die]] = {"name": "k", "low_pc": TEXT, "high_pc": TEXT_SIZE, "external": 1}
    function = Die("subprogram", code, entries)
    unit = Die("unit", {"name": "made.c", "language": 0x1D, "low_pc": TEXT, "high_pc": TEXT_SIZE}, [*found, function])
    abbrev, info = _info(unit)
    wave = {
        "format": "hetdwarf-wave/1",
        "target": "gfx1100",
        "wave_size": LANES,
        "pc": hex(TEXT + 8),
        "registers": {"exec": "0xffffffff"},
        "memory": _memory(bytes(memory), sparse),
    }
    return Made(elf({".debug_abbrev": abbrev, ".debug_info": info}), wave)


def _memory(memory: bytes, sparse: bool) -> list[dict[str, str]]:
    if not sparse:
        return [{"space": "none", "address": hex(MEMORY), "bytes": memory.hex()}]
    regions, start = [], 0
    for piece in memory.split(b"\xee"):
        if piece:
            regions.append({"space": "none", "address": hex(MEMORY + start), "bytes": piece.hex()})
        start += len(piece) + 1
    return regions
