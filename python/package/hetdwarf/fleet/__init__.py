"""Checks and triages the files of a whole fleet, on common engines.

`verify_file` and `triage_core` take a file and return records: the lines of `hetdwarf verify --format jsonl` and `hetdwarf core --format jsonl`, as
dictionaries. Both functions can be pickled and keep no state. `run` calls them for many files, on processes of this machine, Dask, Ray or Spark.
`to_parquet` writes records to tables. `to_jsonl` writes files from which `hetdwarf merge` makes reports.
"""

from ._records import triage_core, verify_file
from ._run import Engine, Function, Record, run
from ._tables import schema, to_jsonl, to_parquet

__all__ = ["Engine", "Function", "Record", "run", "schema", "to_jsonl", "to_parquet", "triage_core", "verify_file"]
