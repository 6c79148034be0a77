"""The reference is made of docstrings, and the stubs say what there is."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import hetdwarf
from hetdwarf import _native

STUBS = Path(_native.__file__).with_name("_native.pyi")


def stubbed() -> dict[str, set[str]]:
    """The public names of the stubs, with those of their members."""
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
