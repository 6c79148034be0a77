"""Converts records to tables: Arrow schemas, Parquet files, lines of JSON."""

from __future__ import annotations

import json
import os
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Dict, Iterable, Literal, Union

from ._run import Record

if TYPE_CHECKING:
    import pyarrow

Kind = Literal["finding", "file", "folder", "core-wave", "error"]
PathLike = Union[str, "os.PathLike[str]"]

TEXT, NUMBER, FLAG = "string", "int64", "bool"
# Deep and rarely queried fields are stored as JSON text.
JSON = "json"
OBJECT = {
    **{"object": TEXT, "target": TEXT, "producers": [TEXT], "findings": NUMBER, "left_out": NUMBER, "complete": FLAG, "same": [TEXT]},
    "missing_split": {"units": NUMBER, "name": TEXT, "has_others": FLAG},
}
UNREADABLE = {"path": TEXT, "message": TEXT, "code_is_elsewhere": FLAG}
SOURCE = {"file": TEXT, "line": NUMBER, "text": TEXT, "md5_differs": FLAG, "md5": TEXT}
VERDICT = {"kind": TEXT, "wave": NUMBER, "kernel": TEXT, "function": TEXT, "file": TEXT, "line": NUMBER, "text": TEXT}
WAVE = {
    **{"index": NUMBER, "gpu_id": NUMBER, "queue_id": NUMBER, "xcc": NUMBER, "packet_id": NUMBER, "workgroup": [NUMBER], "wave_in_group": NUMBER},
    **{"lanes": NUMBER, "pc": TEXT, "exec": TEXT, "state": TEXT, "stop": [TEXT], "code_object": NUMBER, "kernel": TEXT},
    **{"kernel_function": TEXT, "function": TEXT, "file": TEXT, "line": NUMBER, "halted_at_launch": FLAG, "fault": JSON, "assertion": JSON, "entry": JSON},
}
FRAME = {
    **{"index": NUMBER, "kind": TEXT, "function": TEXT, "linkage_name": TEXT, "file": TEXT, "line": NUMBER, "column": NUMBER},
    **{"approximate": FLAG, "symbol_offset": NUMBER, "pc": TEXT, "call_frame": NUMBER},
}
PROBLEM = {"where": TEXT, "offset": TEXT, "file": NUMBER, "message": TEXT}
# The columns of each kind of record. A test compares them with what the command prints.
COLUMNS: Dict[Kind, Dict[str, Any]] = {
    "finding": {
        **{"format": TEXT, "file": TEXT, "sha256": TEXT, "number": NUMBER, "object": TEXT, "target": TEXT, "producer": TEXT},
        **{"rule": TEXT, "severity": TEXT, "section": TEXT, "offset": TEXT, "pc": TEXT, "function": TEXT, "source": SOURCE},
        **{"excerpt": {"text": TEXT, "mark": [NUMBER]}, "message": TEXT, "help": TEXT, "spec": TEXT, "fingerprint": TEXT},
        **{"registers": [TEXT], "evidence": JSON, "cause_pc": TEXT, "kind": TEXT, "is_example": FLAG},
    },
    "file": {
        **{"format": TEXT, "file": TEXT, "sha256": TEXT, "hetdwarf": TEXT, "objects": NUMBER, "findings": NUMBER, "complete": FLAG},
        **{"known": NUMBER, "code_objects": [OBJECT], "unreadable": [UNREADABLE]},
    },
    "folder": {"format": TEXT, "folder": TEXT, "seen": FLAG, "partial": FLAG, "left_out": FLAG},
    "core-wave": {"format": TEXT, "file": TEXT, "fingerprint": TEXT, "verdict": VERDICT, "wave": WAVE, "stack": [FRAME]},
    "error": {"format": TEXT, "file": TEXT, "error": TEXT, "problems": [PROBLEM]},
}
KINDS: Dict[str, Kind] = {f"hetdwarf-{kind}/1": kind for kind in COLUMNS}
ROWS_AT_ONCE = 4096


def arrow_type(shape: Any) -> Any:
    """Returns the type of a column."""
    import pyarrow

    if isinstance(shape, dict):
        return pyarrow.struct([(name, arrow_type(inner)) for name, inner in shape.items()])
    if isinstance(shape, list):
        return pyarrow.list_(arrow_type(shape[0]))
    return pyarrow.type_for_alias(TEXT if shape == JSON else shape)


def schema(kind: Kind) -> pyarrow.Schema:
    """Returns the Arrow schema of a kind of records: `finding`, `file`, `folder`, `core-wave` or `error`.

    The columns are the fields of the record. Addresses and offsets are the text `0x…`. Deep fields, for example `evidence`, are JSON text. A later
    version may add columns; existing columns keep their names and types.
    """
    try:
        import pyarrow
    except ImportError as error:
        raise ImportError("schemas need pyarrow: `pip install hetdwarf[arrow]` installs it") from error
    if kind not in COLUMNS:
        raise ValueError(f"kind {kind!r}: expected {', '.join(COLUMNS)}")
    return pyarrow.schema([(name, arrow_type(shape)) for name, shape in COLUMNS[kind].items()])


def flat(value: Any, shape: Any) -> Any:
    """Returns a field, as JSON text if it is deep."""
    if value is None:
        return None
    if shape == JSON:
        return json.dumps(value, ensure_ascii=False)
    if isinstance(shape, dict):
        return {name: flat(value.get(name), inner) for name, inner in shape.items()}
    return [flat(inner, shape[0]) for inner in value] if isinstance(shape, list) else value


def row(record: Record) -> Record:
    """Returns a record as a row of the table of its kind (`schema`)."""
    kind = KINDS.get(record["format"])
    if kind is None:
        raise ValueError(f"{record['format']}: expected {', '.join(KINDS)}")
    return {name: flat(record.get(name), shape) for name, shape in COLUMNS[kind].items()}


def to_parquet(records: Iterable[Record], path: PathLike) -> None:
    """Writes records into a folder, a Parquet file for each kind: `finding.parquet`, `file.parquet`, `folder.parquet`, `core-wave.parquet` and `error.parquet`.

    A kind without records has an empty table, so that queries can rely on every table. Files with the same names are replaced atomically. The memory
    use does not depend on the number of records.
    """
    schemas = {kind: schema(kind) for kind in COLUMNS}
    from pyarrow import RecordBatch
    from pyarrow.parquet import ParquetWriter

    folder = Path(path)
    folder.mkdir(parents=True, exist_ok=True)
    parts = {kind: folder / f".{kind}.parquet.{os.getpid()}" for kind in COLUMNS}
    rest = iter(records)
    try:
        with ExitStack() as stack:
            writers = {kind: stack.enter_context(ParquetWriter(parts[kind], schemas[kind])) for kind in COLUMNS}
            while some := list(islice(rest, ROWS_AT_ONCE)):
                rows = [row(record) for record in some]
                for kind, writer in writers.items():
                    own = [one for one in rows if KINDS[one["format"]] == kind]
                    if own:
                        writer.write_batch(RecordBatch.from_pylist(own, schema=schemas[kind]))
        for kind, part in parts.items():
            part.replace(folder / f"{kind}.parquet")
    finally:
        for part in parts.values():
            part.unlink(missing_ok=True)


def to_jsonl(records: Iterable[Record], path: PathLike) -> None:
    """Writes records as lines of JSON, as the command prints them. `hetdwarf merge` makes reports from such files."""
    whole = Path(path)
    part = whole.with_name(f".{whole.name}.{os.getpid()}")
    try:
        with part.open("w", encoding="utf-8", newline="\n") as lines:
            for record in records:
                print(json.dumps(record, ensure_ascii=False, separators=(",", ":")), file=lines)
        part.replace(whole)
    finally:
        part.unlink(missing_ok=True)
