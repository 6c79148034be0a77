"""Runs tasks in processes that may die, and reports the files on which they died."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from typing import Iterator

from ._run import Record, Task


def pool(workers: int) -> ProcessPoolExecutor:
    """Returns a pool of processes that inherit nothing, not even locks or threads of other libraries."""
    return ProcessPoolExecutor(workers, mp_context=get_context("spawn"))


def alone(task: Task, parts: list[list[str]]) -> Iterator[list[Record]]:
    """Gives a process one file after the other. If it dies, a new process tries the file once more, and then continues."""
    process = pool(1)
    for part in parts:
        records: list[Record] = []
        for file in part:
            for retry in (True, False):
                try:
                    records += process.submit(task, [file]).result()
                    break
                except BrokenProcessPool:
                    process = pool(1)
                    if not retry:
                        records += task.lost(file)
        yield records
    process.shutdown()
