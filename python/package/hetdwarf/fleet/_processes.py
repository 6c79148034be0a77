"""Processes that may die, and what becomes of their files."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from typing import Iterator

from ._run import Record, Task


def pool(workers: int) -> ProcessPoolExecutor:
    """Returns processes that inherit nothing, no lock or thread of another library either."""
    return ProcessPoolExecutor(workers, mp_context=get_context("spawn"))


def alone(task: Task, parts: list[list[str]]) -> Iterator[list[Record]]:
    """Gives a process one file after the other. After a death, a new process gets the file once more, and then the next one."""
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
