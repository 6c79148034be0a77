"""Runs tasks on processes of this machine, with `concurrent.futures`."""

from __future__ import annotations

import os
from collections import deque
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from typing import Iterator

from ._processes import alone, pool
from ._run import Record, Task


def run(task: Task, parts: list[list[str]], *, workers: int | None = None) -> Iterator[list[Record]]:
    """The adapter for local processes, see `Adapter`."""
    workers, done = workers or os.cpu_count() or 1, 0
    while done < len(parts):
        waiting: deque[Future[list[Record]]] = deque()
        with pool(workers) as processes:
            try:
                while waiting or done < len(parts):
                    while len(waiting) < 2 * workers and done + len(waiting) < len(parts):
                        waiting.append(processes.submit(task, parts[done + len(waiting)]))
                    yield waiting[0].result()
                    waiting.popleft()
                    done += 1
            except BrokenProcessPool:
                pass  # A waiting part may have killed its process, but it is unknown which one.
        for records in alone(task, parts[done : done + len(waiting)]):
            yield records
            done += 1
