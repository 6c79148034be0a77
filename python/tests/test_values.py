"""Tests the Python values for each kind of type."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import hetdwarf
import pytest


def test_a_record_is_a_dictionary_and_an_array_a_list(structs: Path) -> None:
    frame = hetdwarf.open(structs / "structs.rocm.hsaco").stop(structs / "w00.json").frames[1]
    records = frame["recs"]
    assert records.type.name == "Rec[2]" and records.type.kind == "array"
    # struct Rec { int x; float y[3]; struct { short s; char c; uchar u; } in; enum col; long big; }, laid out by hand.
    data = records.bytes(0)
    assert records.type.size == len(data) == 64
    x, y0, y1, y2, s, c, u, col = struct.unpack_from("<i3fhbBi", data)
    (big,) = struct.unpack_from("<q", data, 24)
    first = records.value(0)[0]
    assert first == {"x": x, "y": [y0, y1, y2], "in": {"s": s, "c": c, "u": u}, "col": col, "big": big}
    element = records.type.element
    assert element is not None and element.kind == "typedef" and records.type.dimensions == [2]
    members = [(member.name, member.bit_offset) for member in element.members]
    assert records.text(0).startswith(f"{{{{x = {x}, y = {{")
    assert members == [("x", 0), ("y", 32), ("in", 128), ("col", 160), ("big", 192)]


def test_an_expression_is_the_same_kind_of_object(structs: Path) -> None:
    frame = hetdwarf.open(structs / "structs.rocm.hsaco").stop(structs / "w00.json").frames[1]
    found = frame.eval("recs[1].x + 1")
    assert found.kind == "expression" and found.type.name == "int"
    assert found.value(3) == frame["recs"].value(3)[1]["x"] + 1
    text = frame.eval("recs[0].in.s")
    assert text.values() == {lane: value[0]["in"]["s"] for lane, value in frame["recs"].values().items()}


def test_arrays_of_numpy(structs: Path) -> None:
    frame = hetdwarf.open(structs / "structs.rocm.hsaco").stop(structs / "w00.json").frames[1]
    array = frame["a"].array()
    assert array.dtype == "float32" and array.shape == (32,)
    assert not array.mask.any()
    assert array.tolist() == [frame["a"].value(lane) for lane in range(32)]
    wide = frame.eval("recs[0].y").array()
    assert wide.shape == (32, 3)
    records = frame["recs"].array()
    assert records.shape == (32, 2) and records.dtype.names == ("x", "y", "in", "col", "big")
    assert records["in"]["s"][3].tolist() == [entry["in"]["s"] for entry in frame["recs"].value(3)]


def test_partial_waves_are_masked() -> None:
    from conftest import FIXTURES

    folder = FIXTURES / "waves" / "manyargs"
    frame = hetdwarf.open(folder / "manyargs.rocm.hsaco").stop(folder / "w00.json").frames[0]
    variable = next(v for v in frame.variables if v.lanes and v.type.dtype)
    # The wave has 20 work-items.
    assert variable.lanes == list(range(20))
    assert variable.array().mask.tolist() == [False] * 20 + [True] * 12


def test_notebooks_show_text_that_cannot_be_obeyed(structs: Path) -> None:
    frame = hetdwarf.open(structs / "structs.rocm.hsaco").stop(structs / "w00.json").frames[1]
    html = frame["copy"]._repr_html_()
    assert html.startswith("<table>") and html.count("<td") == 32
    assert "<svg" in frame._repr_html_()


def test_a_location_that_needs_a_missing_register_is_unavailable(structs: Path, tmp_path: Path) -> None:
    wave = json.loads((structs / "w03.json").read_text())
    # The parameter is in scratch at an offset in s33.
    del wave["registers"]["s33"]
    path = tmp_path / "w03.json"
    path.write_text(json.dumps(wave))
    frame = hetdwarf.open(structs / "structs.rocm.hsaco").stop(path).frames[0]
    assert frame["r"].state(4) == "unavailable" == frame.eval("r").state(4)
    for variable in (frame["r"], frame.eval("r")):
        with pytest.raises(hetdwarf.Unavailable, match="s33"):
            variable.value(4)
