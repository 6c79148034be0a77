"""Compares the parts of values in the example (`examples/python/expand.py`) with `vars --children`, for every wave of the fixtures."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Iterator

import hetdwarf
import pytest

from conftest import FIXTURES
from made import Die, array, base, bit_field, make, member, record

COMMAND = Path(sys.executable).parent / "hetdwarf"
EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "python" / "expand.py"
# More levels than any value in the fixtures, except for circular lists.
DEPTH = 6
CASES = [(obj, wave) for obj in sorted(FIXTURES.glob("waves/*/*.hsaco")) for wave in sorted(obj.parent.glob("w*.json"))]


@pytest.fixture(scope="session")
def expand() -> Any:
    spec = importlib.util.spec_from_file_location("expand", EXAMPLE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def when(value: dict[str, Any]) -> str:
    """Returns the note on the age of an `entry` or `last-known` value."""
    if value["state"] == "entry":
        return " (at entry)"
    as_of = value["as_of"] if value["state"] == "last-known" else None
    return f" (as of line {as_of['line']})" if as_of and "line" in as_of else f" (as of {as_of['pc']})" if as_of else ""


def expected(name: str, value: dict[str, Any], type_name: str, indent: int = 0) -> Iterator[str]:
    # Parts have the state of the value that contains them. Only that value shows its age.
    since = when(value) if indent == 0 else ""
    shown = f" = {value['value']}{since} [{value['bytes']}]" if "value" in value else ""
    message = f" ({value['message']})" if value.get("message") else ""
    yield " " * indent + f"{type_name} {name} {value['state']}{shown}{message}"
    for child in value.get("children", []):
        yield from expected(child["name"], child, child["type"], indent + 2)
    if value.get("more_children") and indent:
        yield " " * (indent + 2) + f"{value['more_children']} more"


def of_command(obj: Path, wave: Path) -> list[str]:
    asked: list[Any] = [COMMAND, "vars", obj, "--wave", wave, "--frame", "all", "--lane", "all", "--children", str(DEPTH), "--format", "json"]
    document = json.loads(subprocess.run(asked, capture_output=True, text=True, check=True).stdout)
    found: list[str] = []
    for frame in document["frames"]:
        for variable in frame["variables"]:
            for lane in variable["lanes"]:
                found += expected(f"{variable['name']} {lane['lane']}", lane, variable["type"])
    return found


@pytest.mark.parametrize(("obj", "wave"), CASES[::9], ids=lambda path: path.stem)
def test_a_debugger_in_python_unfolds_what_the_command_unfolds(expand: Any, obj: Path, wave: Path) -> None:
    found = list(expand.stop_lines(hetdwarf.open(obj).stop(wave), DEPTH))
    assert found == of_command(obj, wave)
    assert len(found) > 100


def test_the_example_runs(structs: Path) -> None:
    asked: list[Any] = [sys.executable, EXAMPLE, structs / "structs.rocm.hsaco", structs / "w03.json", "2"]
    text = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    assert "float[3] y 5 ok" not in text and "float[3] y ok = {" in text and "pointer Rec * of 4 bytes into private_lane" in text
    assert "<Frame 0 fill at structs.cl:28> ['0x" in text


INT = base("int", "signed", 4)
UNSIGNED = base("unsigned int", "unsigned", 4)


def variants() -> Die:
    """Returns an enumeration as rustc writes it: `tag` 0 is `a`, 2 to 4 are `b`, and anything else is `c`."""
    tag = member("tag", INT, 0)
    part = Die("variant_part", {"discr": tag}, [tag])
    part.children.append(Die("variant", {"discr_value": 0}, [member("a", INT, 4)]))
    part.children.append(Die("variant", {"discr_list": bytes([1, 2, 4])}, [member("b", base("float", "float", 4), 4)]))
    part.children.append(Die("variant", {}, [member("c", UNSIGNED, 4)]))
    return Die("struct", {"name": "either", "byte_size": 8}, [part])


def test_variants_are_listed_and_unfolded() -> None:
    ty = variants()
    data = [bytes([0, 0, 0, 0, 7, 0, 0, 0]), bytes([3, 0, 0, 0, 0, 0, 0xC0, 0x3F]), bytes([9, 0, 0, 0, 5, 0, 0, 0])]
    made = make([(ty, data)])
    (variable,) = hetdwarf.open(made.data).stop(made.wave).frames[0].variables
    (part,) = variable.type.members
    assert part.type.kind == "variants" and part.type.discriminant is not None and part.type.discriminant.name == "tag"
    assert [variant.choices for variant in part.type.variants] == [[(0, 0)], [(2, 4)], None]
    assert [[one.name for one in variant.members] for variant in part.type.variants] == [["a"], ["b"], ["c"]]
    assert variable.type.variants == [] and variable.type.discriminant is None
    for lane, (name, value) in enumerate([("a", 7), ("b", 1.5), ("c", 5)]):
        found = {child.name: child.value for child in variable.children(lane)}
        assert found[name] == value and not {"a", "b", "c"} - {name} & set(found), found


def test_parts_are_what_the_bytes_say() -> None:
    pair = record("pair", 8, member("a", INT, 0), bit_field("b", UNSIGNED, 35, 7))
    made = make([(array(pair, 2, 3), [bytes(range(48)), bytes(range(100, 148))])])
    (grid,) = hetdwarf.open(made.data).stop(made.wave).frames[0].variables
    parts = grid.children(1, depth=2)
    assert [part.name for part in parts] == [f"[{row}][{column}]" for row in range(2) for column in range(3)]
    for at, part in enumerate(parts):
        raw = bytes(range(100 + 8 * at, 108 + 8 * at))
        assert part.bytes == raw and part.type.name == "pair" and part.state == "ok" and part.message == ""
        a, b = part.children
        assert a.value == int.from_bytes(raw[:4], "little", signed=True) and b.value == (int.from_bytes(raw, "little") >> 35) & 0x7F
        assert a.children == [] and part.value == {"a": a.value, "b": b.value}
    few = grid.children(0, elements=2)
    assert [part.name for part in few] == ["[0][0]", "[0][1]"] and few[0].children == []
    with pytest.raises(hetdwarf.Error):
        grid.children(32)


def test_expressions_have_parts_too(structs: Path) -> None:
    frame = hetdwarf.open(structs / "structs.rocm.hsaco").stop(structs / "w03.json").frames[0]
    whole, by_pointer = frame.eval("*r"), frame["r"].children(5, depth=2)
    assert [part.name for part in whole.children(5)] == [part.name for part in by_pointer[0].children]
    assert [part.text for part in whole.children(5)] == [part.text for part in by_pointer[0].children]
    assert whole.children(0) == [] and frame.eval("id + 1").children(5) == []


def test_locations_are_those_of_llvm(structs: Path) -> None:
    obj = hetdwarf.open(structs / "structs.rocm.hsaco")
    frame = obj.stop(structs / "w03.json").frames[0]
    (only,) = frame["id"].locations
    assert only.range is None and only.text.startswith("DW_OP_") and hetdwarf.evaluate(only.expression, wave=str(structs / "w03.json"))
    assert frame.eval("id").locations == []
    optimized = FIXTURES / "waves" / "calls-O2"
    (path, *_) = sorted(optimized.glob("*.hsaco"))
    lists = 0
    for frame in hetdwarf.open(path).stop(sorted(optimized.glob("w*.json"))[0]):
        for variable in frame.variables:
            ranges = [location.range for location in variable.locations]
            lists += len(ranges) > 1
            assert all(one is None or one[0] <= one[1] for one in ranges)
    assert lists > 0
