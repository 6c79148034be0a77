"""Functions that return the records of one file. Engines send them to the workers that have the file."""

from __future__ import annotations

import json
import os
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Sequence, Tuple, Union

from .. import _native
from ._run import Record, failed
from ._source import local_copy, name_of, text_of

Object = Union[str, "os.PathLike[str]", Tuple[Union[str, "os.PathLike[str]"], int]]


def verify_file(path: Any, *, rules: Sequence[str] | None = None, profile: str | None = None) -> list[Record]:
    """Returns the lines of `hetdwarf verify --format jsonl PATH`: a `hetdwarf-finding/1` for each finding, and a final `hetdwarf-file/1`.

    An unreadable file is a `hetdwarf-file/1` with the reason in `unreadable`. The configuration, `hetdwarf.toml`, is not read: the findings depend
    only on the file and the arguments.

    * path: a path, or a URL of fsspec such as `s3://bucket/k.hsaco`.
    * rules, profile: see `Object.verify`.
    """
    name = name_of(path)
    with local_copy(name) as copy:
        lines = _native.verify_lines(text_of(name), copy, rules, profile)
    return [json.loads(line) for line in lines]


def triage_core(path: Any, objects: Sequence[Object] = ()) -> list[Record]:
    """Returns the lines of `hetdwarf core --format jsonl PATH`: a `hetdwarf-core-wave/1` for each wave.

    A core that is unreadable, even in part, has a `hetdwarf-error/1` with the reason.

    * path: a GPU core file or a log of ROCm's debug agent, as a path or a URL of fsspec. For a core of two halves, a list of both.
    * objects: code objects in place of missing or stripped ones, each alone or with its load address, and folders to search for them.
    """
    names = [name_of(one) for one in path] if isinstance(path, (list, tuple)) else [name_of(path)]
    options = []
    for given in objects:
        file, load = given if isinstance(given, tuple) else (given, None)
        option = "--object-path" if Path(file).is_dir() else "--object"
        options.append(f"{option}={os.fspath(file)}" + ("" if load is None else f"@{load:#x}"))
    with ExitStack() as stack:
        copies = [stack.enter_context(local_copy(name)) for name in names]
        lines, messages = _native.core_lines([*options, "--", *copies])
    if not lines:  # The command wrote no record, not even for an error.
        name = ", ".join(names)
        return [failed(name, messages.strip().removeprefix("error: ").removeprefix(f"{name}: "))]
    records: list[Record] = [json.loads(line) for line in lines.splitlines()]
    for copy, name in zip(copies, names):
        if copy != name:
            records = [renamed(record, text_of(copy), text_of(name)) for record in records]
    return records


def renamed(record: Record, copy: str, name: str) -> Record:
    """Returns a record with the name of a file in place of the name of its copy."""
    texts = {field: record[field].replace(copy, name) for field in ("file", "error") if isinstance(record.get(field), str)}
    return {**record, **texts}
