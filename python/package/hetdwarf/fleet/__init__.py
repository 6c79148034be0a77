"""Checks and triages the files of a whole fleet, on engines that people already run.

`verify_file` and `triage_core` take a file and return records: the lines that `hetdwarf verify --format jsonl` and `hetdwarf core --format jsonl` print
about it, as dictionaries. They can be pickled and keep no state. `run` calls them for many files on processes of this machine, Dask, Ray or Spark;
`to_parquet` makes tables of records, and `to_jsonl` files that `hetdwarf merge` makes reports of.
"""

from ._records import triage_core, verify_file
from ._run import Engine, Function, Record, run
from ._tables import schema, to_jsonl, to_parquet

__all__ = ["Engine", "Function", "Record", "run", "schema", "to_jsonl", "to_parquet", "triage_core", "verify_file"]
