"""Tests the documents of a code object, and the facts about its kernels."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import hetdwarf
import pytest

from conftest import FIXTURES

OBJECTS = sorted(path for folder in ("waves", "corpus", "shapes", "linked") for path in FIXTURES.glob(f"{folder}/**/*.hsaco"))
OBJECTS += sorted(FIXTURES.glob("object/*.hipfb"))


def document(command: str, *arguments: Any) -> Any:
    """Returns the command's document."""
    program = Path(sys.executable).with_name("hetdwarf")
    return json.loads(subprocess.run([program, command, *arguments, "--format", "json"], capture_output=True).stdout)


def test_the_document_of_an_object_is_that_of_info() -> None:
    assert len(OBJECTS) > 20
    for path in OBJECTS:
        for index, obj in enumerate(hetdwarf.open_all(path)):
            assert obj.info == document("info", path, "--index", str(index), "--descriptor")["object"], path


def test_coverage_and_comparison_are_those_of_the_command() -> None:
    for path in OBJECTS[::9]:
        for index, obj in enumerate(hetdwarf.open_all(path)):
            assert obj.coverage() == document("coverage", path, "--index", str(index)), path
    calls = FIXTURES / "waves"
    old, new = calls / "calls" / "calls.rocm.hsaco", calls / "calls-O2" / "calls-O2.rocm.hsaco"
    for before, after, tolerance in ((old, new, 0.0), (new, old, 2.5), (old, old, 0.0)):
        expected = document("compare", before, after, "--tolerance", str(tolerance))
        assert hetdwarf.open(after).compare(hetdwarf.open(before), tolerance) == expected
    unnamed = hetdwarf.open(old.read_bytes())
    same = unnamed.compare(unnamed)
    assert (same["old"], same["new"], same["fell"], same["functions"]) == ("", "", False, [])
    assert unnamed.coverage()["files"][0]["file"] == ""
    for tolerance in (-1, float("nan")):
        with pytest.raises(ValueError, match="tolerance"):
            unnamed.compare(unnamed, tolerance)


def test_what_a_kernel_takes_and_starts_with() -> None:
    # `dwarf6.cl`: three pointers and an int; work-group ids x and z, work-item ids of all three, and the dispatch packet.
    kernel = hetdwarf.open(FIXTURES / "shapes" / "dwarf6-as-5.hsaco").kernels[0]
    assert kernel.arguments is not None
    places = [(argument["offset"], argument["size"]) for argument in kernel.arguments if not argument["hidden"]]
    assert places == [(0, 8), (8, 4), (16, 8), (24, 4)]
    assert kernel.max_workgroup_size == 256 and kernel.required_workgroup_size is None
    # `llvm-objdump-22 -D` shows .amdhsa_user_sgpr_private_segment_buffer, _dispatch_ptr and _kernarg_segment_ptr: 4, 2 and 2 registers.
    held = [(one["registers"], one["holds"]) for one in kernel.initial_registers]
    assert held[:4] == [
        ("s[0:3]", "private-segment-buffer"),
        ("s[4:5]", "dispatch-pointer"),
        ("s[6:7]", "kernarg-segment-pointer"),
        ("s8", "work-group-id-x"),
    ]
    assert [one for one in held if one[0] == "v0"] == [("v0", f"work-item-id-{axis}") for axis in "xyz"]
