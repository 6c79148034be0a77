"""Provides files of this machine, and files that fsspec can read."""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager
from typing import Any, Iterator


def is_remote(name: str) -> bool:
    """Returns true for a URL of fsspec, including a chained one (`zip://k.hsaco::s3://…`)."""
    return "://" in name


def name_of(path: Any) -> str:
    """Returns the name of a file in records: the given path without `./`, as in the command."""
    name = os.fsdecode(path)
    while not is_remote(name) and name.startswith("./"):
        name = name[2:].lstrip("/") or "."
    return name


def text_of(name: str) -> str:
    """Returns a name with U+FFFD in place of invalid UTF-8, as in the command's records."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


@contextmanager
def local_copy(name: str) -> Iterator[str]:
    """Provides the path of a local file with the contents of `name`, for the duration of the context."""
    if not is_remote(name):
        yield "./-" if name == "-" else name  # `-` alone is standard input.
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
