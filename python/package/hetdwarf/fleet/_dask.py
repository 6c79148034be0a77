"""Runs tasks on workers of Dask."""

from __future__ import annotations

from collections import deque
from typing import Iterator

from distributed import Client, Future, KilledWorker, default_client

from ._run import Record, Task


def run(task: Task, parts: list[list[str]], *, client: Client | None = None) -> Iterator[list[Record]]:
    """The adapter for Dask, see `Adapter`. Dask retries a task on other workers until `distributed.scheduler.allowed-failures` of them have died."""
    client = client or default_client()

    def submit(files: list[str]) -> Future:
        # Another run may have files with the same names and other contents.
        return client.submit(task, files, pure=False)

    waiting = deque(map(submit, parts))
    for part in parts:
        try:
            yield waiting.popleft().result()
            continue
        except KilledWorker:
            pass
        records: list[Record] = []
        for file in part:
            try:
                records += submit([file]).result()
            except KilledWorker:
                records += task.lost(file)
        yield records
