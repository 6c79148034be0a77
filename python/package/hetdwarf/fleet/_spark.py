"""Runs tasks on executors of Spark."""

from __future__ import annotations

from functools import partial
from typing import Iterator

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from ._processes import alone
from ._run import Record, Task

# The number of parts per core that the driver holds at once.
PARTS_PER_CORE = 64


def apart(task: Task, part: list[str]) -> list[Record]:
    """Runs files one by one in a separate process, so that Spark's job continues if it dies."""
    return next(alone(task, [part]))


def run(task: Task, parts: list[list[str]], *, session: SparkSession | None = None) -> Iterator[list[Record]]:
    """The adapter for Spark, see `Adapter`.

    Spark ends a job whose task has killed `spark.task.maxFailures` workers, four by default and one with `local[N]`.
    """
    context = (session or SparkSession.active()).sparkContext
    size = PARTS_PER_CORE * context.defaultParallelism
    for at in range(0, len(parts), size):
        some = parts[at : at + size]
        tasks = context.parallelize(some, len(some))
        try:
            found = tasks.map(task).collect()
        except Py4JJavaError:
            found = tasks.map(partial(apart, task)).collect()
        yield from found
