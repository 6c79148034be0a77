"""Runs a function over files. All engines share this module."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any, Callable, Dict, Iterable, Iterator, List, Literal, Protocol, Sequence, cast

from ._source import name_of, text_of

Record = Dict[str, Any]
Function = Callable[[str], List[Record]]
Engine = Literal["local", "dask", "ray", "spark"]

ENGINES = ("local", "dask", "ray", "spark")


def failed(file: str, error: str) -> Record:
    """Returns the record of a file that has no other record."""
    return {"format": "hetdwarf-error/1", "file": text_of(file), "error": text_of(error)}


@dataclass(frozen=True)
class Task:
    """A task that calls a function for each of its files. Engines pickle it and run it on their workers."""

    function: Function

    def __call__(self, files: Sequence[str]) -> list[Record]:
        records: list[Record] = []
        for file in files:
            try:
                records += self.function(file)
            except (KeyboardInterrupt, SystemExit):
                raise
            except BaseException as error:  # A panic in native code is not an Exception.
                records.append(failed(file, f"{type(error).__name__}: {error}"))
        return records

    def lost(self, file: str) -> list[Record]:
        """Returns the record of a file whose worker died on every attempt."""
        return [failed(file, "its worker died on every attempt")]


class Adapter(Protocol):
    """Runs a task over parts of the files, and yields the records of each part, in order.

    If workers keep dying on a part, the engine gets its files one by one. A file whose workers die again has the record of `Task.lost`.
    """

    def __call__(self, task: Task, parts: list[list[str]], **options: Any) -> Iterator[list[Record]]: ...


def run(
    paths: Iterable[Any], function: Function, engine: Engine = "local", *, files_per_task: int = 16, **options: Any
) -> Iterator[Record]:
    """Calls `function` for each file on the workers of an engine, and yields the records in the order of the file names.

    The order does not depend on the engine. A path that is given twice counts once. A file has one record, `hetdwarf-error/1`, if its function
    raises an exception or its worker dies on every attempt. The record has the name of the file and the error.

    * paths: paths as the workers see them, or URLs of fsspec such as `s3://bucket/k.hsaco`.
    * function: a function that takes a path and returns records: `verify_file`, `triage_core`, a `functools.partial` of them, or any other
      function of a module that workers can import.
    * engine: `local` (processes of this machine), `dask`, `ray` or `spark`.
    * `files_per_task`: the number of files that a worker takes at once. The engine repeats a task as a whole.
    * options: the options of the engine. `local`: `workers`, the number of processes. `dask`: `client`, the current one by default.
      `spark`: `session`, the active one by default. `ray` has none: call `ray.init` first to choose a cluster.
    """
    if engine not in ENGINES:
        raise ValueError(f"engine {engine!r}: expected {', '.join(ENGINES)}")
    if files_per_task < 1:
        raise ValueError("files_per_task must be at least 1")
    names = sorted({name_of(path) for path in paths})
    parts = [names[at : at + files_per_task] for at in range(0, len(names), files_per_task)]
    try:
        adapter = cast(Adapter, import_module(f"._{engine}", __package__).run)
    except ImportError as error:
        raise ImportError(f"{error}; `pip install hetdwarf[{engine}]` installs what the engine needs") from error
    return (record for records in adapter(Task(function), parts, **options) for record in records)
