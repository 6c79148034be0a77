"""Checks the code objects of Triton's compiled kernels, and returns their lines."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Iterable, Iterator, Protocol, Union, cast

from . import Error, Finding, Object
from . import open as _open


class CompiledKernel(Protocol):
    """The used part of the result of `triton.compile`."""

    asm: Any


Source = Union[CompiledKernel, bytes, str, "os.PathLike[str]"]


def open(kernel: Source) -> Object:
    """Returns the code object of a compiled kernel, or of a kernel's `.hsaco` by its path or bytes."""
    if isinstance(kernel, (bytes, str, os.PathLike)):
        return _open(kernel)
    binary = kernel.asm.get("hsaco")
    if binary is None:
        raise Error("the kernel was not compiled for an AMD GPU: it has no hsaco")
    return _open(cast(bytes, binary))


def cached(folder: str | os.PathLike[str] | None = None) -> Iterator[Object]:
    """Returns the code objects in Triton's cache: `folder`, `TRITON_CACHE_DIR` or `~/.triton/cache`."""
    found = folder or os.environ.get("TRITON_CACHE_DIR") or Path.home() / ".triton" / "cache"
    for path in sorted(Path(found).rglob("*.hsaco")):
        yield _open(path)


def names(given: "str | Iterable[str] | None") -> list[str] | None:
    """Returns names of rules as a list. `given` is one name, several separated by commas, or an iterable of them."""
    if isinstance(given, str):
        return [name for name in (name.strip() for name in given.split(",")) if name]
    return None if given is None else list(given)


def verify(kernel: Source, rules: "str | Iterable[str] | None" = None, profile: str | None = None) -> list[Finding]:
    """Checks a kernel's debugging information, and returns the findings."""
    return open(kernel).verify(rules=names(rules), profile=profile)


def lines(kernel: Source) -> list[tuple[int, str | None, int, int]]:
    """Returns the line table of a kernel's code object, with all functions: address, file, line and column at each change."""
    rows: list[tuple[int, str | None, int, int]] = []
    before: tuple[str | None, int, int] | None = None
    for row in open(kernel).line_rows():
        place = (None if row.file is None else row.file.rsplit("/", 1)[-1], row.line, row.column)
        if not row.end_sequence and place != before:
            rows.append((row.address, *place))
        before = None if row.end_sequence else place
    return sorted(rows, key=lambda row: row[0])
