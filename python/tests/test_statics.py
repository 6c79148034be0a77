"""Tests types as trees, and queries without a stop."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import hetdwarf
import pytest

from conftest import FIXTURES
from made import Die, array, base, bit_field, make, member, record

DUMP = shutil.which("llvm-dwarfdump-22")
OBJECTS = sorted(FIXTURES.glob("waves/*/*.rocm.hsaco"))

INT = base("int", "signed", 4)
PAIR = record("pair", 8, member("a", INT, 0), bit_field("b", base("unsigned int", "unsigned", 4), 35, 7))
COLOUR = Die("enum", {"name": "colour", "byte_size": 4, "type": INT})
COLOUR.children = [Die("enumerator", {"name": name, "const_value": value}) for name, value in [("red", -1), ("green", 7)]]
GRID = array(PAIR, 2, 3)
LOCAL = Die("pointer", {"type": PAIR, "byte_size": 4, "LLVM_address_space": 3})
NODE = record("node", 8)
NODE.children.append(member("next", Die("pointer", {"type": NODE, "byte_size": 8}), 0))
DERIVED = record("derived", 12, Die("inheritance", {"type": PAIR, "data_member_location": 0}), member("c", INT, 8), tag="class")
UNION = record("either", 4, member("f", base("float", "float", 4), 0), member("i", INT, 0), tag="union")
ALIAS = Die("typedef", {"name": "alias", "type": Die("const", {"type": PAIR})})
ALL = [GRID, COLOUR, LOCAL, NODE, DERIVED, UNION, ALIAS]
MADE = hetdwarf.open(make([], types=ALL).data)


def one(name: str) -> hetdwarf.Type:
    (found,) = MADE.types(name)
    return found


def test_structures() -> None:
    pair = one("pair")
    assert (pair.kind, pair.name, pair.size) == ("struct", "pair", 8)
    a, b = pair.members
    assert (a.name, a.type.name, a.offset, a.bit_offset, a.bit_size) == ("a", "int", 0, 0, None)
    assert (b.name, b.type.name, b.offset, b.bit_offset, b.bit_size) == ("b", "unsigned int", 4, 35, 7)
    assert a.type.kind == "base" and a.type.members == [] and pair.bases == []
    either = one("either")
    assert either.kind == "union" and [(part.name, part.offset) for part in either.members] == [("f", 0), ("i", 0)]


def test_classes_have_bases() -> None:
    derived = one("derived")
    assert derived.kind == "class" and [part.name for part in derived.members] == ["c"]
    assert [(part.type.name, part.offset) for part in derived.bases] == [("pair", 0)]


def test_enumerations_pointers_and_typedefs() -> None:
    colour = one("colour")
    assert colour.kind == "enum" and dict(colour.enumerators) == {"red": -1, "green": 7}
    assert colour.target == one("int")
    node = one("node")
    following = node.members[0].type
    assert following.kind == "pointer" and following.pointee == node and following.address_space == "none"
    assert following.pointee is not None and following.pointee.members[0].type == following
    alias = one("alias")
    assert alias.kind == "typedef" and [part.name for part in alias.members] == ["a", "b"]
    assert alias.target is not None and alias.target.kind == "qualified"
    assert MADE.types("nobody") == []


def test_arrays_and_address_spaces() -> None:
    made = make([(GRID, [bytes(48)]), (LOCAL, [bytes(4)])])
    grid, local = hetdwarf.open(made.data).stop(made.wave).frames[0].variables
    assert grid.type.kind == "array" and grid.type.dimensions == [2, 3] and grid.type.size == 48
    assert grid.type.element is not None and grid.type.element.name == "pair"
    assert local.type.address_space == "local" and local.type.pointee == one("pair")
    assert len({grid.type, grid.type, local.type}) == 2


@pytest.mark.skipif(DUMP is None, reason="llvm-dwarfdump-22 is not installed")
@pytest.mark.parametrize("path", OBJECTS, ids=lambda path: path.stem)
def test_lines_are_those_of_llvm(path: Path) -> None:
    assert DUMP is not None
    text = subprocess.run([DUMP, "--debug-line", path], capture_output=True, text=True, check=True).stdout
    expected = []
    for match in re.finditer(r"^(0x[0-9a-f]{16}) +(\d+) +(\d+) +\d+ +\d+ +\d+(?: +\d+)?(?: +(.*))?$", text, re.M):
        flags = match[4] or ""
        expected.append((int(match[1], 16), int(match[2]), int(match[3]), "is_stmt" in flags, "end_sequence" in flags))
    obj = hetdwarf.open(path)
    rows = obj.line_rows()
    assert [(row.address, row.line, row.column, row.is_stmt, row.end_sequence) for row in rows] == expected
    for row in rows:
        if row.line and row.is_stmt and not row.end_sequence and row.file is not None:
            addresses = obj.addresses_of(row.file, row.line)
            assert addresses == obj.addresses_of(row.file.rsplit("/", 1)[-1], row.line) == sorted(set(addresses))
            assert addresses and all(obj.line_at(pc) is not None for pc in addresses)
            begin = {one.address for one in rows if (one.file, one.line) == (row.file, row.line) and one.is_stmt}
            assert set(addresses) <= begin
    assert obj.addresses_of("nobody.c", 1) == [] and obj.addresses_of(rows[0].file or "", 99999) == []


@pytest.mark.skipif(DUMP is None, reason="llvm-dwarfdump-22 is not installed")
@pytest.mark.parametrize("path", OBJECTS, ids=lambda path: path.stem)
def test_functions_are_those_of_llvm(path: Path) -> None:
    assert DUMP is not None
    text = subprocess.run([DUMP, "--debug-info", path], capture_output=True, text=True, check=True).stdout
    entries = re.split(r"^(?=0x)", text, flags=re.M)
    expected = set()
    for entry in entries:
        low = re.search(r"DW_AT_low_pc\s+\((0x[0-9a-f]+)\)", entry)
        if "DW_TAG_subprogram" in entry.splitlines()[0] and low:
            expected.add(int(low[1], 16))
    obj = hetdwarf.open(path)
    assert {function.low_pc for function in obj.functions} == expected
    for function in obj.functions:
        assert function.low_pc is not None and function.ranges[0][0] == function.low_pc
        found = obj.function_at(function.low_pc)
        assert found is not None and found.name == function.name and found.line == function.line


def test_info_is_that_of_the_command(structs: Path) -> None:
    import json
    import sys

    path = structs / "structs.rocm.hsaco"
    asked: list[Any] = [Path(sys.executable).parent / "hetdwarf", "info", path, "--format", "json"]
    document = json.loads(subprocess.run(asked, capture_output=True, text=True, check=True).stdout)
    info = hetdwarf.open(path).info
    # The command has more facts about kernels.
    assert info["kernels"] and {**info, "kernels": None} == {**{name: document["object"][name] for name in info}, "kernels": None}
    assert info["units"][0]["name"] == "structs.cl" and info["target"] == "gfx1100"


def test_globals() -> None:
    found = {}
    for path in sorted(FIXTURES.glob("**/*.hsaco")):
        try:
            found.update({one.name: one for one in hetdwarf.open(path).globals})
        except hetdwarf.Error:
            continue
    assert all(one.type.name for one in found.values())


def test_frames_are_mappings_and_stops_are_sequences(structs: Path) -> None:
    stop = hetdwarf.open(structs / "structs.rocm.hsaco").stop(structs / "w03.json")
    assert list(stop) == stop.frames and len(stop) == 3 and stop[-1].index == 2
    with pytest.raises(IndexError):
        stop[3]
    frame = stop[0]
    assert list(frame) == frame.keys() == ["r", "id", "g"] and len(frame) == 3
    nothing = object()
    assert frame.get("id").name == "id" and frame.get("nobody") is None and frame.get("nobody", nothing) is nothing
    assert {name: variable.name for name, variable in dict(frame).items()} == {"r": "r", "id": "id", "g": "g"}
    assert frame["id"][5] == frame["id"].value(5) == 5
    with pytest.raises(IndexError):
        frame["id"][32]
    with pytest.raises(hetdwarf.Inactive):
        frame["id"][0]


def test_registers_and_places(structs: Path) -> None:
    import json

    wave = json.loads((structs / "w03.json").read_text())
    frame = hetdwarf.open(structs / "structs.rocm.hsaco").stop(wave).frames[0]
    names = [name for name, value in wave["registers"].items() if name not in ("pc",)]
    for name in names[:60]:
        given = wave["registers"][name]
        expected: Any = [int(lane, 16) for lane in given] if isinstance(given, list) else int(given, 16)
        assert frame.register(name) == expected, name
    assert frame.register("s99") is None or isinstance(frame.register("s99"), int)
    with pytest.raises(KeyError):
        frame.register("rax")
    places = frame["id"].place(5)
    assert len(places) >= 1 and places[0]["storage"] in ("memory", "register")
    with pytest.raises(hetdwarf.Unsupported):
        frame.eval("id + 1").place(5)


def test_the_fixture_checks_all_files_and_knows_its_names(structs: Path, tmp_path: Path, hetdwarf_verify: Any) -> None:
    bad = tmp_path / "bad.hsaco"
    bad.write_bytes(b"\x7fELF")
    good = structs / "structs.rocm.hsaco"
    with pytest.raises(ValueError, match="cfi-nonsense"):
        hetdwarf_verify(good, allow="cfi-nonsense")
    with pytest.raises(ValueError):
        hetdwarf_verify(good, rules="nonsense")
    for rules in ["cfi-*", "cfi-*, lane-*", ["cfi-*"]]:
        found = hetdwarf_verify(good, rules=rules, allow="*")
        assert found and all(finding.rule.startswith(("cfi-", "lane-")) for finding in found)
    with pytest.raises(pytest.fail.Exception, match="not readable"):
        hetdwarf_verify(bad, good, allow="*")
    # The files after an unreadable one are checked, too.
    wrong = {finding.rule for finding in hetdwarf.open(good).verify() if finding.severity == "error"}
    with pytest.raises(pytest.fail.Exception, match="not readable") as failed:
        hetdwarf_verify(bad, good)
    assert wrong and all(rule in str(failed.value) for rule in wrong)
    assert set(hetdwarf.rules(["cfi-*"])) == {rule for rule in hetdwarf.rules() if rule.startswith("cfi-")}


def test_verify_with_threads_finds_the_same(structs: Path) -> None:
    obj = hetdwarf.open(structs / "structs.rocm.hsaco")
    assert [repr(one) for one in obj.verify(jobs=1000)] == [repr(one) for one in obj.verify()]
    with pytest.raises(ValueError):
        obj.verify(jobs=0)
    with pytest.raises(ValueError, match="llvm22"):
        obj.verify(assembler="masm")
    assert isinstance(obj.verify(assembler="llvm24"), list)


def test_the_lines_of_kernels_with_lines_only(structs: Path) -> None:
    from hetdwarf import triton

    objects = [path for path in sorted(FIXTURES.glob("**/*.hsaco")) if "line" in path.name or "triton" in str(path)]
    bare = FIXTURES / "corpus" / "triton" / "add-gfx942-lines-only.hsaco"
    assert triton.lines(bare) and not hetdwarf.open(bare).functions
    # `leaf` and `mid` are no kernels.
    calls = hetdwarf.open(FIXTURES / "waves" / "calls" / "calls.rocm.hsaco")
    others = [function for function in calls.functions if function.low_pc not in {kernel.entry for kernel in calls.kernels}]
    addresses = {address for address, *_ in triton.lines(calls.data)}
    assert others and all(function.low_pc in addresses for function in others)
    for path in [structs / "structs.rocm.hsaco", *objects[:8]]:
        obj = hetdwarf.open(path)
        rows = triton.lines(path)
        table = {row.address for row in obj.line_rows() if not row.end_sequence}
        assert {address for address, *_ in rows} <= table and bool(rows) == bool(table), path
        # The table has all lines of every function.
        assert {line for _, _, line, _ in rows} == {row.line for row in obj.line_rows() if not row.end_sequence}, path


def test_variables_are_written_through_their_places(structs: Path) -> None:
    import struct

    from conftest import JsonWave

    class Writable(JsonWave):
        def write_memory(self, space: str, address: int, data: bytes) -> None:
            for region in self.wave["memory"]:
                start, old = int(region["address"], 16), bytearray.fromhex(region["bytes"])
                if region["space"] == space and start <= address < start + len(old):
                    old[address - start : address - start + len(data)] = data
                    region["bytes"] = old.hex()

    wave: Any = Writable(structs / "w00.json")
    obj = hetdwarf.open(structs / "structs.rocm.hsaco")
    frame = obj.stop(wave).frames[1]
    before = {name: repr(variable.values()) for name, variable in dict(frame).items()}
    old = frame["recs"]
    changed = bytearray(old.bytes(3))
    struct.pack_into("<i", changed, 0, -5)
    old.write(3, bytes(changed))
    assert old.value(3)[0]["x"] != -5, "what was read stays what it was"
    for new in [frame["recs"], obj.stop(wave).frames[1]["recs"]]:
        assert new.bytes(3) == bytes(changed) and new.value(3)[0]["x"] == -5
        assert [new.bytes(lane) for lane in range(32) if lane != 3] == [old.bytes(lane) for lane in range(32) if lane != 3]
    assert {name for name, variable in dict(frame).items() if repr(variable.values()) != before[name]} == {"recs"}
    number = next(variable for variable in frame.variables if variable.type.dtype == "<f4" and variable.place(0)[0]["storage"] == "memory")
    number.write(7, 1.5)
    assert frame[number.name].value(7) == 1.5 and frame[number.name].value(8) == number.value(8)
    for wrong in [b"", "1", None]:
        with pytest.raises((ValueError, TypeError, struct.error)):
            number.write(7, wrong)
    with pytest.raises(hetdwarf.Unsupported, match="write_memory"):
        obj.stop(JsonWave(structs / "w00.json")).frames[1]["recs"].write(0, bytes(64))
    with pytest.raises(hetdwarf.Unsupported, match="wave implemented in Python"):
        obj.stop(structs / "w00.json").frames[1]["recs"].write(0, bytes(64))


@pytest.mark.parametrize("path", OBJECTS, ids=lambda path: path.name)
def test_symbolized_addresses_have_functions_and_lines(path: Path) -> None:
    import numpy

    obj = hetdwarf.open(path)
    load_address = 0x7F40_0000_0000
    pcs = [pc for function in obj.functions for start, end in function.ranges for pc in range(start, end, 4)]
    frames = obj.symbolize(pcs)
    for pc, found in zip(pcs, frames):
        function = obj.function_at(pc)
        line = obj.line_at(pc)
        assert function is not None and line is not None
        assert [frame.function for frame in found] == [*function.inlined, function.name]
        assert found[-1].kind == "call" and all(frame.kind == "inlined" for frame in found[:-1])
        if line[1] != 0:
            assert (found[0].line, found[0].column or 0, found[0].approximate) == (line[1], line[2], False)

    # The order, the kind of array and repetitions do not matter. Equal addresses have the same tuple.
    symbolizer = hetdwarf.Symbolizer([(obj, load_address)])
    array = numpy.array(pcs[::-1] + pcs, dtype=numpy.uint64) + numpy.uint64(load_address)
    again = symbolizer.symbolize(array)
    shown = [[(frame.function, frame.line) for frame in found] for found in frames]
    assert [[(frame.function, frame.line) for frame in found] for found in again] == shown[::-1] + shown
    assert all(one is other for one, other in zip(again[: len(pcs)][::-1], again[len(pcs) :]))


def test_a_symbolizer_of_several_objects() -> None:
    first, second = (hetdwarf.open(path) for path in OBJECTS[:2])
    both = hetdwarf.Symbolizer([first, (second, 0x100000)])
    pc = first.functions[0].low_pc
    assert pc is not None
    assert [frame.function for frame in both.symbolize([pc])[0]] == [frame.function for frame in first.symbolize([pc])[0]]
    assert repr(both) == "<Symbolizer of 2 code objects>"
    assert both.symbolize([]) == [] and both.symbolize([2**64 - 1]) == [()]
    # An address in two objects has no frames.
    assert hetdwarf.Symbolizer([first, first]).symbolize([pc]) == [()]
    with pytest.raises(OverflowError):
        both.symbolize([-1])
    with pytest.raises(TypeError):
        hetdwarf.Symbolizer([1])  # type: ignore[list-item]


def test_a_symbolizer_of_a_core() -> None:
    core = hetdwarf.open_core(FIXTURES.parent.parent / "examples" / "demo" / "demo.core")
    symbolizer = hetdwarf.Symbolizer(core)
    for wave in core.waves:
        frame = wave.stop().frames[0]
        (found,) = symbolizer.symbolize([frame.pc])
        assert found and found[0].function is not None
