"""Compares frames and their lanes with the command's documents."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import hetdwarf


def document(command: str, obj: Path, wave: Path, *more: str) -> Any:
    """Returns the document of the command, which is part of the package."""
    program = Path(sys.executable).with_name("hetdwarf")
    arguments: list[str | Path] = [program, command, obj, "--wave", wave, "--format", "json", *more]
    return json.loads(subprocess.run(arguments, check=True, capture_output=True).stdout)


def check_place(found: Any, expected: Any) -> None:
    """Compares an address and its source position with the command's document."""
    assert found.pc == (None if expected["pc"] is None else int(expected["pc"], 16))
    assert (found.file, found.line) == (expected.get("file"), expected.get("line"))


def test_frames_are_those_of_unwind(case: Path) -> None:
    for path in sorted(case.glob("*.hsaco")):
        obj = hetdwarf.open(path)
        for wave in sorted(case.glob("w*.json")):
            expected = document("unwind", path, wave)["frames"]
            frames = obj.stop(wave).frames
            assert len(frames) == len(expected) > 0
            for frame, of_command in zip(frames, expected):
                assert frame.index == of_command["index"]
                assert frame.kind == of_command["kind"]
                assert frame.call_frame == of_command["call_frame"]
                assert frame.pc == int(of_command["pc"], 16)
                assert frame.function == of_command["function"]
                assert frame.linkage_name == of_command.get("linkage_name")
                assert frame.symbol_offset == of_command.get("symbol_offset")
                assert frame.file == of_command["file"]
                assert frame.line == of_command["line"]
                assert frame.column == of_command.get("column")
                assert frame.approximate == of_command.get("approximate", False)


def test_lanes_are_those_of_lane_pc(case: Path) -> None:
    for path in sorted(case.glob("*.hsaco")):
        obj = hetdwarf.open(path)
        for wave in sorted(case.glob("w*.json"))[:4]:
            for frame in obj.stop(wave).frames:
                expected = document("lane-pc", path, wave, "--frame", str(frame.index))
                assert expected["frame"] == frame.index
                lanes = frame.lane_pcs()
                assert len(lanes) == len(expected["lanes"])
                for lane, of_command in zip(lanes, expected["lanes"]):
                    assert (lane.lane, lane.active, lane.state) == tuple(of_command[key] for key in ("lane", "active", "state"))
                    assert (lane.origin, lane.reason) == (of_command.get("origin"), of_command.get("reason"))
                    check_place(lane, of_command)
                    caller = of_command.get("caller")
                    assert (lane.caller is None) == (caller is None)
                    if lane.caller is not None:
                        assert (lane.caller.frame, lane.caller.function) == (caller["frame"], caller["function"])
                        check_place(lane.caller, caller)
