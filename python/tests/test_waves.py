"""Compares values with the truth of the emulated waves, which comes from running the same source on the host."""

from __future__ import annotations

import json
from pathlib import Path

import hetdwarf
import pytest

from conftest import JsonWave


@pytest.mark.parametrize("key", ["object", "object_rocm"])
def test_values_are_the_truth(case: Path, key: str) -> None:
    truth = json.loads((case / "truth.json").read_text())
    obj = hetdwarf.open(case / truth[key])
    assert obj.target.split(":")[0] == truth["target"]
    read = 0
    for snapshot in truth["snapshots"]:
        path = case / snapshot["wave"]
        if not path.exists():
            continue
        stop = obj.stop(path)
        # If the compiler's CFI is wrong, the callers are not the real ones.
        frames = snapshot["frames"] if snapshot["cfi_leaves_truth"] is None else snapshot["frames"][:1]
        for expected, frame in zip(frames, stop.frames):
            assert frame.pc == int(expected["pc"], 16)
            assert frame.function == expected["function"]
        frame = stop.frames[0]
        for expected in snapshot.get("variables", []):
            if expected["name"] not in frame:
                continue
            variable = frame[expected["name"]]
            for lane in expected["lanes"]:
                # `dwarf_bytes`: the value of the compiler's location, which differs from the source's.
                if expected["kind"] != "value" or "dwarf_bytes" in lane:
                    continue
                try:
                    value = variable.value(lane["lane"])
                except (hetdwarf.OptimizedOut, hetdwarf.Ambiguous, hetdwarf.Partial):
                    continue
                read += 1
                assert variable.bytes(lane["lane"]).hex() == lane["bytes"]
                if isinstance(value, int) and "value" in lane and not isinstance(value, bool):
                    assert str(value) == lane["value"]
                assert repr(variable.values()[lane["lane"]]) == repr(value)
    assert read > 0 or key == "object"


def test_a_wave_of_python_says_the_same(case: Path) -> None:
    truth = json.loads((case / "truth.json").read_text())
    obj = hetdwarf.open(case / truth["object_rocm"])
    for path in sorted(case.glob("w*.json"))[:3]:
        wave = JsonWave(path)
        own, file = obj.stop(wave), obj.stop(path)
        assert [repr(frame) for frame in own.frames] == [repr(frame) for frame in file.frames]
        for mine, theirs in zip(own.frames, file.frames):
            assert mine.cfa == theirs.cfa
            pairs = list(zip(mine.variables, theirs.variables))
            assert len(pairs) == len(theirs.variables)
            for variable, expected in pairs:
                # Texts are compared, since a NaN is not equal to itself.
                assert (variable.name, repr(variable.values())) == (expected.name, repr(expected.values()))
            lanes = [(lane.state, lane.pc, lane.reason) for lane in mine.lane_pcs()]
            assert lanes == [(lane.state, lane.pc, lane.reason) for lane in theirs.lane_pcs()]
        assert wave.asked > 0


def test_a_wave_as_a_dictionary(structs: Path) -> None:
    obj = hetdwarf.open((structs / "structs.rocm.hsaco").read_bytes())
    path = structs / "w00.json"
    of_dict = obj.stop(json.loads(path.read_text())).frames[1]["copy"]
    assert of_dict.values() == obj.stop(str(path)).frames[1]["copy"].values()
