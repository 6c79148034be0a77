"""Compares the package with the command for every frame, variable and expression, in every lane."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Optional

import hetdwarf
import pytest

COMMAND = Path(sys.executable).parent / "hetdwarf"

Said = tuple[str, Optional[str], Optional[str]]


def asked(*arguments: object) -> Any:
    """Returns the document that the command prints."""
    ran = subprocess.run([COMMAND, *map(str, arguments), "--format", "json"], capture_output=True, text=True)
    assert ran.returncode in (0, 1), ran.stderr
    return json.loads(ran.stdout)


def said_by(lane: dict[str, Any]) -> Said:
    return lane["state"], lane.get("bytes"), lane.get("value")


def said_of(variable: hetdwarf.Variable, lane: int) -> Said:
    state = variable.state(lane)
    if state in ("entry", "last-known"):
        assert variable.earlier(lane) is not None
        # The text ends with the age of the value.
        text, _, since = variable.text(lane).rpartition(" (")
        assert since.startswith(("at entry", "as of "))
        return state, variable.bytes(lane).hex(), text
    if state not in ("ok", "partial"):
        return state, None, None
    try:
        data = variable.bytes(lane)
    except hetdwarf.Partial as partial:
        data = partial.bytes
    return state, data.hex(), variable.text(lane)


@pytest.mark.parametrize("key", ["object", "object_rocm"])
def test_the_command_says_the_same(case: Path, key: str) -> None:
    path = case / json.loads((case / "truth.json").read_text())[key]
    obj = hetdwarf.open(path)
    compared = 0
    for wave in sorted(case.glob("w*.json"))[::3]:
        stop = obj.stop(wave)
        frames = asked("vars", path, "--wave", wave, "--frame", "all")["frames"]
        assert len(frames) == len(stop.frames)
        for described, frame in zip(frames, stop.frames):
            place = described["frame"]
            assert (place["index"], place["kind"]) == (frame.index, frame.kind)
            assert int(place["pc"], 16) == frame.pc
            for name in ("function", "file", "line", "column", "call_frame"):
                assert place.get(name) == getattr(frame, name), (wave, name)
            assert len(described["variables"]) == len(frame.variables)
            for variable, value in zip(described["variables"], frame.variables):
                assert (variable["name"], variable.get("note")) == (value.name, value.note)
                for lane in variable["lanes"]:
                    assert said_by(lane) == said_of(value, lane["lane"]), (wave, frame.index, value.name, lane)
                    compared += 1
    assert compared > 100


def test_expressions_are_those_of_the_command(structs: Path) -> None:
    path, wave = structs / "structs.rocm.hsaco", structs / "w03.json"
    frame = hetdwarf.open(path).stop(wave).frames[0]
    names = [variable.name for variable in frame.variables][:4]
    texts = [text for name in names for text in (name, f"&{name}", f"sizeof({name})")]
    answers = asked("print", path, "--wave", wave, "--lane", "all", *texts)["expressions"]
    for text, answer in zip(texts, answers):
        if "error" in answer:
            with pytest.raises(hetdwarf.Error):
                frame.eval(text)
            continue
        value = frame.eval(text)
        for lane in answer["lanes"]:
            assert said_by(lane) == said_of(value, lane["lane"]), (text, lane)
