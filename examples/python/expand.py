"""Expands variables like the variable view of a debugger.

Prints each variable of each frame in each lane, with its members, elements and pointer targets. Then prints their types, and the addresses of
each frame's line.

    python expand.py OBJECT SNAPSHOT [DEPTH]
"""

from __future__ import annotations

import sys
from typing import Any, Iterator, Union

import hetdwarf

# States with a value or a part of one.
READABLE = ("ok", "partial", "entry", "last-known")


def lines(value: Union[hetdwarf.Part, tuple[hetdwarf.Variable, int]], depth: int, indent: int = 0) -> Iterator[str]:
    """Yields a value in a lane: its state, text and bytes, or the reason for their absence. Then yields its parts, indented."""
    if isinstance(value, tuple):
        variable, lane = value
        state, message = variable.state(lane), variable.message(lane)
        text = variable.text(lane) if state in READABLE else None
        raw = variable.bytes(lane) if text is not None else None
        name, type_name = f"{variable.name} {lane}", variable.type.name
        parts = variable.children(lane, depth) if text is not None else []
    else:
        state, message, text, raw, name, type_name = value.state, value.message, value.text, value.bytes, value.name, value.type.name
        parts = value.children
    shown = f" = {text} [{raw.hex()}]" if text is not None and raw is not None else ""
    yield " " * indent + f"{type_name} {name} {state}{shown}" + (f" ({message})" if message else "")
    for part in parts:
        yield from lines(part, depth, indent + 2)
    if isinstance(value, hetdwarf.Part) and value.more_children:
        yield " " * (indent + 2) + f"{value.more_children} more"


def type_lines(type: hetdwarf.Type, depth: int = 4, indent: int = 0) -> Iterator[str]:
    """Yields a type and the types that it consists of. A depth is needed because a type can refer to itself."""
    space = f" into {type.address_space}" if type.address_space else ""
    yield " " * indent + f"{type.kind} {type.name} of {type.size} bytes{space}" + "".join(f" [{count}]" for count in type.dimensions)
    if depth == 0:
        return
    for name, number in type.enumerators:
        yield " " * (indent + 2) + f"{name} = {number}"
    for member in type.bases + type.members:
        yield " " * (indent + 2) + f"{member.name} at bit {member.bit_offset}"
        yield from type_lines(member.type, depth - 1, indent + 4)
    for variant in type.variants:
        yield " " * (indent + 2) + f"variant {variant.choices}"
        for member in variant.members:
            yield from type_lines(member.type, depth - 1, indent + 4)
    if type.kind != "typedef" and type.target is not None:
        yield from type_lines(type.target, depth - 1, indent + 2)


def stop_lines(stop: hetdwarf.Stop, depth: int) -> Iterator[str]:
    """Yields all values of a stop."""
    for frame in stop:
        for variable in frame.variables:
            for lane in range(variable.wave_size):
                yield from lines((variable, lane), depth)


def main(arguments: list[str]) -> Any:
    if len(arguments) not in (2, 3):
        return "usage: expand.py OBJECT SNAPSHOT [DEPTH]"
    obj = hetdwarf.open(arguments[0])
    stop = obj.stop(arguments[1])
    for line in stop_lines(stop, int(arguments[2]) if len(arguments) == 3 else 3):
        print(line)
    for frame in stop:
        for variable in frame.variables:
            print("\n".join(type_lines(variable.type)))
        if frame.file and frame.line:
            print(frame, [hex(address) for address in obj.addresses_of(frame.file, frame.line)])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
