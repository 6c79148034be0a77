"""Triton's compiled kernels: their code objects, checked and asked for lines."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Iterable, Iterator, Protocol, Union, cast

from . import Error, Finding, Object
from . import open as _open


class CompiledKernel(Protocol):
    """What `triton.compile` gives, as far as it is asked."""

    asm: Any


Source = Union[CompiledKernel, bytes, str, "os.PathLike[str]"]


def open(kernel: Source) -> Object:
    """The code object of a compiled kernel, or of the `.hsaco` of one by its path or bytes."""
    if isinstance(kernel, (bytes, str, os.PathLike)):
        return _open(kernel)
    binary = kernel.asm.get("hsaco")
    if binary is None:
        raise Error("the kernel was not compiled for an AMD GPU: it has no hsaco")
    return _open(cast(bytes, binary))


def cached(folder: str | os.PathLike[str] | None = None) -> Iterator[Object]:
    """The code objects in Triton's cache: `folder`, `TRITON_CACHE_DIR` or `~/.triton/cache`."""
    found = folder or os.environ.get("TRITON_CACHE_DIR") or Path.home() / ".triton" / "cache"
    for path in sorted(Path(found).rglob("*.hsaco")):
        yield _open(path)


def verify(kernel: Source, rules: Iterable[str] | None = None, profile: str | None = None) -> list[Finding]:
    """What is wrong with a kernel's debugging information."""
    return open(kernel).verify(rules=None if rules is None else list(rules), profile=profile)


def lines(kernel: Source) -> list[tuple[int, str | None, int, int]]:
    """The line table of a kernel: address, file, line and column where either begins."""
    obj = open(kernel)
    rows: list[tuple[int, str | None, int, int]] = []
    for found in obj.kernels:
        pc = found.entry
        while pc is not None:
            line = obj.line_at(pc)
            function = obj.function_at(pc)
            if line is None or function is None:
                break
            if not rows or rows[-1][1:] != line:
                rows.append((pc, *line))
            pc += 4
    return rows
