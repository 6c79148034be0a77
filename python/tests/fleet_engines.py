"""Starts the engines of `hetdwarf.fleet` on this machine."""

from __future__ import annotations

import os
import sys
from typing import Any, Iterator

import pytest

ENGINES = ["local", "dask", "ray", "spark"]
WORKERS = 2


def started(name: str) -> Iterator[dict[str, Any]]:
    """Starts an engine with two workers, and provides the options that `run` needs for it."""
    # Ray and Spark do not pass the module path to workers.
    os.environ["PYTHONPATH"] = os.pathsep.join(sys.path)
    if name == "local":
        yield {"workers": WORKERS}
    elif name == "dask":
        distributed = pytest.importorskip("distributed", reason="Dask is not installed")
        options = {"n_workers": WORKERS, "threads_per_worker": 1, "dashboard_address": None}
        import dask

        # Every death starts a worker, so two retries are enough.
        dask.config.set({"distributed.scheduler.allowed-failures": 1})
        with distributed.LocalCluster(silence_logs=50, **options) as cluster, distributed.Client(cluster) as client:
            yield {"client": client}
    elif name == "ray":
        ray = pytest.importorskip("ray", reason="Ray is not installed: .ci/full installs it")
        ray.init(num_cpus=WORKERS, include_dashboard=False, log_to_driver=False)
        yield {}
        ray.shutdown()
    elif name == "spark":
        sql = pytest.importorskip("pyspark.sql", reason="Spark is not installed: .ci/full installs it")
        os.environ["PYSPARK_PYTHON"] = sys.executable
        builder = sql.SparkSession.builder.master(f"local[{WORKERS}]").config("spark.ui.enabled", "false")
        session = builder.config("spark.log.level", "OFF").getOrCreate()
        yield {"session": session}
        session.stop()
