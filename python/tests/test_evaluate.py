"""Compares the evaluation of DWARF expressions in frames with `hetdwarf eval`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import hetdwarf
import pytest

from conftest import JsonWave

# The CFA, a caller's register, an operation on the lane number, and an expression that fails.
EXPRESSIONS = ["DW_OP_call_frame_cfa", "DW_OP_regx SGPR33", "DW_OP_lit4, DW_OP_LLVM_push_lane, DW_OP_mul, DW_OP_stack_value", "DW_OP_plus"]


def of_command(obj: Path, wave: Path, frame: int, *more: str) -> Any:
    program = Path(sys.executable).with_name("hetdwarf")
    arguments: list[Any] = [program, "eval", "--object", obj, "--wave", wave, "--frame", str(frame), "--lane", "all", "--format", "json", *more]
    return json.loads(subprocess.run(arguments, capture_output=True).stdout)


def test_answers_are_those_of_the_command(case: Path) -> None:
    path = sorted(case.glob("*.hsaco"))[0]
    for wave in sorted(case.glob("w*.json"))[::7]:
        frames = hetdwarf.open(path).stop(wave).frames
        for frame in (frames[0], frames[-1]):
            for text in EXPRESSIONS:
                expected = of_command(path, wave, frame.index, "--expr", text, "--read", "32", "--tolerant")
                assert frame.evaluate(text, "all", 32) == expected
            expected = of_command(path, wave, frame.index, "--hex", "9c", "--tolerant")
            assert frame.evaluate(b"\x9c", "all") == expected


def test_strict_stops_evaluate_strictly(structs: Path) -> None:
    path, wave = structs / "structs.rocm.hsaco", structs / "w03.json"
    frame = hetdwarf.open(path).stop(wave, strict=True)[0]
    for text in EXPRESSIONS:
        assert frame.evaluate(text, "all", 32) == of_command(path, wave, 0, "--expr", text, "--read", "32")


def test_the_expression_of_a_variable_is_where_it_is(structs: Path) -> None:
    compared = 0
    for frame in hetdwarf.open(structs / "structs.rocm.hsaco").stop(structs / "w03.json"):
        for variable in frame.variables:
            assert variable.reading == "dwarf"
            for location in variable.locations:
                for expression in (location.expression, location.text):
                    answer = frame.evaluate(expression, 5, result="location")["lanes"]
                    assert [lane["lane"] for lane in answer] == [5]
                    assert answer[0]["result"]["places"] == variable.place(5)
                    compared += 1
    assert compared > 10


def test_stack_object_and_kind_of_result(structs: Path) -> None:
    frame = hetdwarf.open(structs / "structs.rocm.hsaco").stop(structs / "w03.json")[0]

    def read(text: str, **more: Any) -> Any:
        return frame.evaluate(text, 0, 32, **more)["lanes"][0]

    # 40 and 2 are on the stack before the expression begins.
    added = read("DW_OP_plus, DW_OP_stack_value", initial_stack=["DW_OP_lit8, DW_OP_lit5, DW_OP_mul", b"\x32"])
    assert added["read"]["bytes"] == "2a000000"
    pushed = read("DW_OP_push_object_address", object_location="DW_OP_lit7, DW_OP_stack_value")
    assert pushed["read"]["bytes"] == "07000000"
    assert read("DW_OP_lit1", result="value")["result"]["kind"] == "value"
    assert read("DW_OP_lit1", result="location")["result"]["kind"] == "location"
    assert hetdwarf.evaluate("DW_OP_plus", initial_stack=["DW_OP_lit8", "DW_OP_lit5"], read=8)["lanes"][0]["read"]["bytes"] == "0d"
    # Without a lane, the snapshot's focus lane is used, if there is one.
    snapshot = json.loads((structs / "w03.json").read_text())
    focused = hetdwarf.open(structs / "structs.rocm.hsaco").stop({**snapshot, "focus_lane": 6})[0]
    assert [lane["lane"] for lane in focused.evaluate("DW_OP_lit0")["lanes"]] == [6]


def test_a_wave_of_python_is_asked(structs: Path) -> None:
    wave = JsonWave(structs / "w03.json")
    frame = hetdwarf.open(structs / "structs.rocm.hsaco").stop(wave)[0]
    expected = hetdwarf.open(structs / "structs.rocm.hsaco").stop(structs / "w03.json")[0].evaluate("DW_OP_regx SGPR33", "all", 32)
    assert frame.evaluate("DW_OP_regx SGPR33", "all", 32) == expected

    def fails(*_: Any) -> bytes:
        raise KeyError("the process has ended")

    setattr(wave, "read_register", fails)
    with pytest.raises(KeyError, match="has ended"):
        frame.evaluate("DW_OP_regx SGPR7", 0, 32)


def test_what_is_no_expression_is_refused(structs: Path) -> None:
    frame = hetdwarf.open(structs / "structs.rocm.hsaco").stop(structs / "w03.json")[0]
    wrong: list[tuple[type[Exception], Any]] = [
        (hetdwarf.Malformed, lambda: frame.evaluate("DW_OP_nonsense")),
        (hetdwarf.Malformed, lambda: frame.evaluate("DW_OP_lit0", initial_stack=["nonsense"])),
        (hetdwarf.Error, lambda: frame.evaluate("DW_OP_lit0", 32)),
        (hetdwarf.Error, lambda: frame.evaluate("DW_OP_lit0", "some")),  # type: ignore[arg-type]
        (ValueError, lambda: frame.evaluate("DW_OP_lit0", result="text")),  # type: ignore[arg-type]
        (TypeError, lambda: frame.evaluate(5)),  # type: ignore[arg-type]
    ]
    for kind, call in wrong:
        with pytest.raises(kind):
            call()
    assert frame.evaluate(b"\xff\xff", 0)["lanes"][0]["error"]["kind"] == "unknown-operation"
    assert frame.evaluate("DW_OP_lit1, DW_OP_lit0, DW_OP_div", 0)["lanes"][0]["error"]["kind"] == "divide-by-zero"
