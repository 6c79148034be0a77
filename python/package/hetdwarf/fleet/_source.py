"""Where files are: on this machine, or where fsspec reaches."""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager
from typing import Any, Iterator


def is_remote(name: str) -> bool:
    """Returns true for a URL of fsspec, chained ones (`zip://k.hsaco::s3://…`) too."""
    return "://" in name


def name_of(path: Any) -> str:
    """Returns what records call a file: its path as it was given, without `./`, as the command does."""
    name = os.fsdecode(path)
    while not is_remote(name) and name.startswith("./"):
        name = name[2:].lstrip("/") or "."
    return name


def text_of(name: str) -> str:
    """Returns a name as records have it: with U+FFFD for what is no UTF-8, as the command does."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


@contextmanager
def local_copy(name: str) -> Iterator[str]:
    """Provides the path of a file of this machine with the contents of `name`, as long as it is wanted."""
    if not is_remote(name):
        yield "./-" if name == "-" else name  # Not the standard input.
        return
    try:
        import fsspec
    except ImportError as error:
        raise ImportError(f"{name}: `pip install fsspec` installs what reads URLs") from error
    with tempfile.TemporaryDirectory(prefix="hetdwarf-") as folder:
        path = os.path.join(folder, "file")
        files, source = fsspec.core.url_to_fs(name)
        files.get_file(source, path)
        yield path
