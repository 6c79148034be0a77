"""Tests values that exceed the size limit of one value."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import hetdwarf
import pytest

from made import array, base, make, member, record

COMMAND = Path(sys.executable).parent / "hetdwarf"

LIMIT = 1 << 16
DATA = random.Random(35).randbytes(LIMIT + 100)
BYTE = base("unsigned char", "unsigned_char", 1)
MADE = make([(array(BYTE, len(DATA)), [DATA]), (record("big", len(DATA), member("a", array(BYTE, LIMIT + 96), 4)), [DATA])])


def test_what_is_not_read_of_a_value_is_missing() -> None:
    for variable in hetdwarf.open(MADE.data).stop(MADE.wave).frames[0].variables:
        assert variable.state(0) == "partial" and variable.lanes == []
        assert str(LIMIT) in variable.message(0) and "value" in variable.message(0)
        with pytest.raises(hetdwarf.Partial) as raised:
            variable.value(3)
        assert raised.value.bytes == DATA[:LIMIT]
        assert raised.value.undefined == [(LIMIT * 8, len(DATA) * 8)]


def test_the_mask_says_what_is_not_read() -> None:
    numbers, records = hetdwarf.open(MADE.data).stop(MADE.wave).frames[0].variables
    found = numbers.array()
    assert found.shape == (32, len(DATA))
    assert found[5][:LIMIT].tolist() == list(DATA[:LIMIT])
    assert found.mask[5].tolist() == [False] * LIMIT + [True] * 100
    assert records.array().mask["a"][1].tolist() == [False] * (LIMIT - 4) + [True] * 100


def test_the_limit_can_be_raised() -> None:
    obj = hetdwarf.open(MADE.data, limits={"value": len(DATA)})
    numbers, records = obj.stop(MADE.wave).frames[0].variables
    assert numbers.value(0) == list(DATA) and numbers.state(0) == "ok"
    assert records.value(31)["a"] == list(DATA[4:])
    with pytest.raises(ValueError, match='no limit "sizes"'):
        hetdwarf.open(MADE.data, limits={"sizes": 1})


def test_an_expression_of_it_reaches_the_limit() -> None:
    frame = hetdwarf.open(MADE.data).stop(MADE.wave).frames[0]
    with pytest.raises(hetdwarf.Limit, match="65536"):
        frame.eval("v0").value(0)
    assert frame.eval(f"v0[{len(DATA) - 1}]").value(0) == DATA[-1]


def test_the_command_says_the_same(tmp_path: Path) -> None:
    obj, wave = tmp_path / "made.o", tmp_path / "wave.json"
    obj.write_bytes(MADE.data)
    wave.write_text(json.dumps(MADE.wave))
    asked: list[Any] = [COMMAND, "vars", obj, "--wave", wave, "--lane", "0", "--children", "2", "--format", "json"]
    for limit, state in [([], "partial"), (["--limit", f"value={len(DATA)}"], "ok")]:
        ran = subprocess.run([*asked, *limit], capture_output=True, text=True, check=True)
        for variable in json.loads(ran.stdout)["frames"][0]["variables"]:
            (lane,) = variable["lanes"]
            assert lane["state"] == state, lane["state"]
            inner = [child["state"] for child in lane["children"]]
            # The elements of the array are single bytes. The member is the rest of the structure.
            assert inner[0] == ("ok" if variable["name"] == "v0" else state)
