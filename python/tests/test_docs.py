"""Tests the docstrings, from which the reference is made, and the stubs."""

from __future__ import annotations

import ast
import doctest
import inspect
from pathlib import Path
from typing import Any

import hetdwarf
import pytest
from hetdwarf import _native, fleet

from conftest import FIXTURES

STUBS = Path(_native.__file__).with_name("_native.pyi")


def stubbed() -> dict[str, set[str]]:
    """Returns the public names of the stubs, with the names of their members."""
    found = {}
    for node in ast.parse(STUBS.read_text()).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            members = [member for member in getattr(node, "body", []) if isinstance(member, ast.FunctionDef)]
            found[node.name] = {member.name for member in members}
    return found


def test_stubs_have_what_the_module_has() -> None:
    stubs = stubbed()
    public = {name for name in vars(_native) if not name.startswith("_")}
    assert public == set(stubs) - {"Wave"}
    for name in public:
        thing = getattr(_native, name)
        if inspect.isclass(thing) and not issubclass(thing, Exception):
            members = {member for member in vars(thing) if not member.startswith("__")}
            assert members == {member for member in stubs[name] if not member.startswith("__")}, name


def test_everything_public_has_a_docstring() -> None:
    for name in hetdwarf.__all__:
        thing = getattr(hetdwarf, name)
        if name == "__version__":
            continue
        assert inspect.getdoc(thing), name
        if inspect.isclass(thing) and not issubclass(thing, Exception):
            for member, value in vars(thing).items():
                assert member.startswith("_") or value.__doc__, f"{name}.{member}"


def test_functions_of_the_fleet_have_docstrings() -> None:
    functions = {name for name in fleet.__all__ if inspect.isfunction(getattr(fleet, name))}
    assert functions == {"run", "schema", "to_jsonl", "to_parquet", "triage_core", "verify_file"}
    for name in functions:
        assert inspect.getdoc(getattr(fleet, name)), name


def examples() -> list[Any]:
    """Returns the docstrings with examples, by name."""
    found = []
    for name in hetdwarf.__all__:
        text = inspect.getdoc(getattr(hetdwarf, name)) or ""
        if ">>>" in text:
            found.append(pytest.param(text, id=name))
    return found


@pytest.mark.parametrize("text", examples())
def test_examples_of_docstrings_say_what_happens(text: str, structs: Path, request: Any) -> None:
    obj = hetdwarf.open(structs / "structs.rocm.hsaco")
    stop = obj.stop(structs / "w03.json")
    names = {"hetdwarf": hetdwarf, "obj": obj, "stop": stop, "frame": stop[0], "demo": str(FIXTURES.parents[1] / "examples" / "demo")}
    test = doctest.DocTestParser().get_doctest(text, names, request.node.callspec.id, None, 0)
    report: list[str] = []
    result = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(test, out=report.append)
    assert result.failed == 0 and result.attempted > 0, "".join(report)


def test_what_is_asked_first_has_an_example() -> None:
    have = {param.id for param in examples()}
    asked = {"Object", "Stop", "Frame", "Variable", "Type", "Finding", "Core", "CfiWriter", "LanePcWriter", "evaluate"}
    assert asked <= have, asked - have
