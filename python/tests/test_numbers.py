"""Compares numbers with numpy and `struct`: all base types, sizes and lanes, with random bits."""

from __future__ import annotations

import math
import random
import struct
from typing import Any, Callable

import hetdwarf
import numpy
import pytest

from made import LANES, Die, Made, array, base, bit_field, make, member, record

Reading = Callable[[bytes], Any]


def integer(signed: bool) -> Reading:
    return lambda data: int.from_bytes(data, "little", signed=signed)


def unpacked(code: str) -> Reading:
    return lambda data: struct.unpack(code, data)[0]


def bfloat(data: bytes) -> float:
    # bfloat16 is the upper half of a 32-bit float.
    return float(struct.unpack("<f", b"\0\0" + data)[0])


def extended(data: bytes) -> float:
    # numpy's long double is x87's format in 16 bytes. The conversion to float rounds it.
    with numpy.errstate(all="ignore"):
        return float(numpy.frombuffer(data + bytes(6), dtype=numpy.longdouble)[0])


# The type, the number according to struct or numpy, and the dtype of its array.
SCALARS: list[tuple[Die, Reading, str]] = [
    (base("char", "signed_char", 1), integer(True), "int8"),
    (base("unsigned char", "unsigned_char", 1), integer(False), "uint8"),
    (base("short", "signed", 2), integer(True), "int16"),
    (base("unsigned short", "unsigned", 2), integer(False), "uint16"),
    (base("int", "signed", 4), integer(True), "int32"),
    (base("unsigned int", "unsigned", 4), integer(False), "uint32"),
    (base("long", "signed", 8), integer(True), "int64"),
    (base("unsigned long", "unsigned", 8), integer(False), "uint64"),
    (base("__int128", "signed", 16), integer(True), "object"),
    (base("unsigned __int128", "unsigned", 16), integer(False), "object"),
    (base("char16_t", "utf", 2), integer(False), "uint16"),
    (base("char32_t", "utf", 4), integer(False), "uint32"),
    (base("_Bool", "boolean", 1), lambda data: any(data), "bool"),
    (base("bool4", "boolean", 4), lambda data: any(data), "bool"),
    (base("half", "float", 2), unpacked("<e"), "float16"),
    (base("__bf16", "float", 2), bfloat, "float32"),
    (base("float", "float", 4), unpacked("<f"), "float32"),
    (base("double", "float", 8), unpacked("<d"), "float64"),
    (base("long double", "float", 10), extended, "object"),
    (base("complex float", "complex", 8), lambda data: complex(*struct.unpack("<ff", data)), "complex64"),
    (base("complex double", "complex", 16), lambda data: complex(*struct.unpack("<dd", data)), "complex128"),
    (base("odd", "unsigned", 3), integer(False), "object"),
    (base("network", "unsigned", 4, endianity=1), lambda data: int.from_bytes(data, "big"), ">u4"),
    (base("network float", "float", 4, endianity=1), unpacked(">f"), ">f4"),
    (base("fixed", "signed_fixed", 4, binary_scale=-16), lambda data: integer(True)(data) / 65536, "object"),
    (Die("pointer", {"type": base("int", "signed", 4), "byte_size": 8}), integer(False), "uint64"),
    (Die("enum", {"name": "e", "byte_size": 2, "type": base("short", "signed", 2)}), integer(True), "int16"),
    (Die("typedef", {"name": "t", "type": Die("const", {"type": base("int", "signed", 4)})}), integer(True), "int32"),
]

NAMES = [str(ty.attributes.get("name", ty.tag)) for ty, *_ in SCALARS]
SEED = 35


def size_of(ty: Die) -> int:
    if ty.tag in ("typedef", "const"):
        target = ty.attributes["type"]
        assert isinstance(target, Die)
        return size_of(target)
    size = ty.attributes["byte_size"]
    assert isinstance(size, int)
    return size


def samples(ty: Die, count: int) -> list[bytes]:
    """Returns random bits, and the ends of the ranges."""
    size, rng = size_of(ty), random.Random(SEED)
    edges = [bytes(size), b"\xff" * size, b"\x01" + bytes(size - 1), bytes(size - 1) + b"\x80", b"\xff" * (size - 1) + b"\x7f"]
    # Infinities and NaNs of each floating-point format.
    edges += [number.to_bytes(16, "little")[:size] for number in (0x7C00, 0x7F80, 0x7F800000, 0x7FF << 52, 0x7C01, 0x7F810000)]
    drawn = [rng.randbytes(size) for _ in range(count - len(edges))]
    if "long double" == ty.attributes.get("name"):
        # Some bit patterns are not x87 numbers and have no value to compare. The bit before the binary point is therefore always set.
        exponents = [rng.choice([rng.randrange(0x3FFF - 1100, 0x3FFF + 1100), 0x7FFF]) | rng.choice([0, 0x8000]) for _ in range(count)]
        return [(rng.getrandbits(63) | 1 << 63).to_bytes(8, "little") + struct.pack("<H", exponent) for exponent in exponents]
    return edges + drawn


def same(one: Any, other: Any) -> bool:
    if isinstance(one, complex) or isinstance(other, complex):
        return same(one.real, other.real) and same(one.imag, other.imag)
    if isinstance(other, float) and math.isnan(other):
        return math.isnan(one)
    return type(one) is type(other) and bool(one == other) and math.copysign(1, one) == math.copysign(1, other)


def frame_of(made: Made) -> hetdwarf.Frame:
    return hetdwarf.open(made.data).stop(made.wave).frames[0]


@pytest.mark.parametrize(("ty", "reading", "dtype"), SCALARS, ids=NAMES)
def test_scalars(ty: Die, reading: Reading, dtype: str) -> None:
    data = samples(ty, 8 * LANES)
    made = make([(ty, data[start : start + LANES]) for start in range(0, len(data), LANES)])
    for index, variable in enumerate(frame_of(made).variables):
        found = variable.array()
        assert found.dtype == numpy.dtype(dtype) and found.shape == (LANES,) and not found.mask.any()
        for lane in range(LANES):
            expected = reading(data[index * LANES + lane])
            assert same(variable.value(lane), expected), (lane, data[index * LANES + lane].hex())
            entry = found[lane] if dtype == "object" else found[lane].item()
            assert same(entry, expected), (lane, data[index * LANES + lane].hex())


@pytest.mark.parametrize(("ty", "reading", "dtype"), SCALARS, ids=NAMES)
def test_arrays_of_scalars(ty: Die, reading: Reading, dtype: str) -> None:
    size = size_of(ty)
    few = samples(ty, 6 * LANES)
    lanes = [b"".join(few[lane * 6 : lane * 6 + 6]) for lane in range(LANES)]
    nested = array(Die("typedef", {"name": "row", "type": array(ty, 3)}), 2)
    vector = array(ty, 6, GNU_vector=1)
    made = make([(array(ty, 2, 3), lanes), (nested, lanes), (vector, lanes)])
    for variable, shape in zip(frame_of(made).variables, [(2, 3), (2, 3), (6,)]):
        found = variable.array()
        assert found.dtype == numpy.dtype(dtype) and found.shape == (LANES, *shape) and not found.mask.any()
        for lane in range(LANES):
            flat = found[lane].reshape(6)
            value = variable.value(lane)
            for index in range(6):
                expected = reading(lanes[lane][index * size : index * size + size])
                assert same(flat[index] if dtype == "object" else flat[index].item(), expected)
                row = value[index // 3] if len(shape) == 2 else value
                # A character array with a null character is text.
                if not isinstance(row, str):
                    assert same(row[index % len(row)], expected)


def test_vector_base_types() -> None:
    lanes = [struct.pack("<4f", lane, -1, 0.5, 2**-149) for lane in range(LANES)]
    (variable,) = frame_of(make([(base("float4", "float", 4, LLVM_vector_size=4), lanes)])).variables
    assert variable.value(3) == [3.0, -1.0, 0.5, 2**-149]
    assert variable.array().dtype == "float32" and variable.array().tolist()[3] == [3.0, -1.0, 0.5, 2**-149]


@pytest.mark.filterwarnings("ignore:overflow encountered in cast")
def test_a_structure_is_a_structured_dtype() -> None:
    char, short, half = base("char", "signed_char", 1), base("short", "signed", 2), base("half", "float", 2)
    inner = record("inner", 4, member("h", half, 0), member("b", base("_Bool", "boolean", 1), 2))
    union = record("u", 4, member("f", base("float", "float", 4), 0), member("i", base("int", "signed", 4), 0), tag="union")
    outer = record("outer", 40, member("c", char, 0), member("in", array(inner, 2), 4), member("", union, 12))
    outer.children.append(member("wide", base("unsigned long", "unsigned", 8), 16))
    outer.children.append(member("s", array(short, 2, 2), 24))
    rng = random.Random(SEED)
    lanes = [rng.randbytes(40) for _ in range(LANES)]
    one, several = frame_of(make([(outer, lanes), (array(outer, 1), lanes)])).variables
    for variable, shape in [(one, (LANES,)), (several, (LANES, 1))]:
        found = variable.array()
        assert found.shape == shape and found.dtype.itemsize == 40
        offsets = {name: found.dtype.fields[name][1] for name in found.dtype.names}
        assert offsets == {"c": 0, "in": 4, "f": 12, "i": 12, "wide": 16, "s": 24}
        assert numpy.dtype(one.type.dtype) == found.dtype
        for lane, data in enumerate(lanes):
            entry = found[lane] if variable is one else found[lane][0]
            value = variable.value(lane) if variable is one else variable.value(lane)[0]
            assert entry["c"] == value["c"] == struct.unpack_from("<b", data)[0]
            assert entry["wide"] == value["wide"] == struct.unpack_from("<Q", data, 16)[0]
            assert entry["i"] == value["i"] == struct.unpack_from("<i", data, 12)[0]
            assert same(entry["f"].item(), struct.unpack_from("<f", data, 12)[0]) and same(value["f"], entry["f"].item())
            assert entry["s"].tolist() == value["s"] == [list(struct.unpack_from("<2h", data, at)) for at in (24, 28)]
            for index, at in enumerate((4, 8)):
                assert same(entry["in"]["h"][index].item(), struct.unpack_from("<e", data, at)[0])
                assert bool(entry["in"]["b"][index]) is value["in"][index]["b"] is bool(data[at + 2])


def test_bit_fields() -> None:
    unsigned, signed = base("unsigned int", "unsigned", 4), base("int", "signed", 4)
    ty = record("bits", 8, bit_field("a", unsigned, 0, 3), bit_field("b", signed, 3, 7), bit_field("c", unsigned, 32, 31))
    rng = random.Random(SEED)
    numbers = [rng.getrandbits(64) for _ in range(LANES)]
    (variable,) = frame_of(make([(ty, [struct.pack("<Q", number) for number in numbers])])).variables
    assert variable.type.dtype is None
    for lane, number in enumerate(numbers):
        b = number >> 3 & 0x7F
        expected = {"a": number & 7, "b": b - 128 if b > 63 else b, "c": number >> 32 & 0x7FFFFFFF}
        assert variable.value(lane) == expected == variable.array()[lane]


def test_big_numbers_keep_their_digits_beside_small_ones() -> None:
    wide = base("unsigned long", "unsigned", 8)
    numbers = [2**64 - 1, 2**53 + 1, 0, 1]
    (variable,) = frame_of(make([(wide, [struct.pack("<Q", number) for number in numbers])])).variables
    assert variable.array().dtype == "uint64"
    assert variable.array().tolist()[:4] == numbers


@pytest.mark.filterwarnings("ignore:overflow encountered in cast")  # numpy's own, of its fill value in float16
def test_what_is_missing_of_a_value_is_masked_by_itself() -> None:
    # The bytes 0xEE are not in the wave's memory.
    ty, pair = base("int", "signed", 4), record("pair", 8, member("a", base("int", "signed", 4), 0), member("b", base("half", "float", 2), 4))
    first = struct.pack("<2i", 1, 2)
    lanes = [first, b"\xee" + first[1:], first[:7] + b"\xee", b"\xee" * 8] * 8
    wide = array(base("odd", "unsigned", 3), 2)
    odd = [lane[:6] for lane in lanes]
    numbers, records, objects = frame_of(make([(array(ty, 2), lanes), (pair, lanes), (wide, odd)], sparse=True)).variables
    expected = [[False, False], [True, False], [False, True], [True, True]]
    assert numbers.array().mask.tolist()[:4] == expected
    assert numbers.array().tolist()[:4] == [[1, 2], [None, 2], [1, None], [None, None]]
    # The last byte of the third variable is padding.
    assert records.array().mask.tolist()[:4] == [(False, False), (True, False), (False, False), (True, True)]
    assert objects.array().mask.tolist()[:4] == [[False, False], [True, False], [False, False], [True, True]]
    assert objects.array().shape == (LANES, 2)


def test_the_shape_does_not_depend_on_values() -> None:
    ty = array(base("char", "signed_char", 1), 4)
    lanes = [b"abc\0", b"abcd", b"\xee" * 4, bytes(4)]
    texts, nothing = frame_of(make([(ty, lanes), (array(ty, 2), [b"\xee" * 8])], sparse=True)).variables
    assert texts.value(0) == "abc" and texts.value(1) == list(b"abcd")
    assert texts.array().dtype == "int8" and texts.array().shape == (LANES, 4)
    assert nothing.array().dtype == "int8" and nothing.array().shape == (LANES, 2, 4) and nothing.array().mask.all()
