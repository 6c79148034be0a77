"""Functions over files that each fail in one way. Workers import this module."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

from hetdwarf import fleet


def size(path: str) -> list[dict[str, Any]]:
    return [{"format": "size", "file": path, "size": os.stat(path).st_size}]


def size_or_error(path: str) -> list[dict[str, Any]]:
    if path.endswith("bad"):
        raise ValueError("it is bad")
    return size(path)


def kill() -> None:
    # Dask does not replace a worker that dies during its start.
    time.sleep(2)
    os.kill(os.getpid(), signal.SIGKILL)


def size_or_death(path: str) -> list[dict[str, Any]]:
    """Kills its worker at every file that ends with `deadly`, and the first time at a file that ends with `once`."""
    if path.endswith("deadly"):
        kill()
    mark = Path(path + ".mark")
    if path.endswith("once") and not mark.exists():
        mark.touch()
        kill()
    return size(path)


def verify_or_death(folder: Path, victim: str, name: str) -> list[dict[str, Any]]:
    """Verifies a file below a folder, and kills its worker at the victim."""
    if name == victim:
        kill()
    os.chdir(folder)
    return fleet.verify_file(name)


def verify_or_death_once(folder: Path, victim: str, mark: Path, name: str) -> list[dict[str, Any]]:
    """Verifies a file below a folder, and kills its worker at the victim, but only the first time."""
    if name == victim and not mark.exists():
        mark.touch()
        kill()
    return verify_or_death(folder, "", name)


def triage(folder: Path, name: str) -> list[dict[str, Any]]:
    """Triages a core of a folder."""
    os.chdir(folder)
    return fleet.triage_core(name)
