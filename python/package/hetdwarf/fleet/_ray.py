"""Runs tasks on workers of Ray."""

from __future__ import annotations

from collections import deque
from typing import Any, Iterator

import ray
from ray.exceptions import NodeDiedError, OutOfMemoryError, WorkerCrashedError

from ._run import Record, Task

DEATHS = (NodeDiedError, OutOfMemoryError, WorkerCrashedError)


def run(task: Task, parts: list[list[str]]) -> Iterator[list[Record]]:
    """The adapter for Ray, see `Adapter`. Ray retries a task on other workers until `max_retries` of them have died, three by default."""
    shared = ray.put(task)
    call = ray.remote(Task.__call__)

    def submit(files: list[str]) -> Any:
        return call.remote(shared, files)

    waiting = deque(map(submit, parts))
    for part in parts:
        try:
            yield ray.get(waiting.popleft())
            continue
        except DEATHS:
            pass
        records: list[Record] = []
        for file in part:
            try:
                records += ray.get(submit([file]))
            except DEATHS:
                records += task.lost(file)
        yield records
