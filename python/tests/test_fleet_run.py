"""Tests `hetdwarf.fleet.run`: the table is the same for every engine, even if workers die."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest
from hetdwarf import fleet

import fleet_functions
from fleet_engines import ENGINES

def files(folder: Path, *special: str) -> list[str]:
    """Makes a hundred files of different sizes in random order, with the special files among them."""
    names = [f"{number:03}" for number in range(100)] + list(special)
    for size, name in enumerate(names):
        (folder / name).write_bytes(bytes(size))
    return [str(folder / name) for name in reversed(names)]


def expected(paths: list[str]) -> list[dict[str, Any]]:
    return [{"format": "size", "file": path, "size": os.stat(path).st_size} for path in sorted(paths)]


def test_records_are_in_the_order_of_names(engine: Any, tmp_path: Path) -> None:
    paths = files(tmp_path)
    for files_per_task in (1, 7, 1000):
        assert list(engine(paths, fleet_functions.size, files_per_task=files_per_task)) == expected(paths)


def test_a_file_that_fails_is_a_record(engine: Any, tmp_path: Path) -> None:
    paths = files(tmp_path, "050bad")
    bad = paths[0]
    missing = str(tmp_path / "051missing")
    found = list(engine([*paths, missing], fleet_functions.size_or_error))
    errors = [record for record in found if record["format"] == "hetdwarf-error/1"]
    assert errors[0] == {"format": "hetdwarf-error/1", "file": bad, "error": "ValueError: it is bad"}
    assert errors[1]["file"] == missing and errors[1]["error"].startswith("FileNotFoundError: ")
    assert [record for record in found if record not in errors] == expected(paths[1:])


def test_a_worker_that_dies_loses_nothing(engine: Any, tmp_path: Path) -> None:
    # The last file is in the task of the deadly file. Its worker therefore dies for the first time when the files are run one by one.
    paths = files(tmp_path, "020once", "070deadly", "071once")
    again, deadly, once = paths[:3]
    found = list(engine(paths, fleet_functions.size_or_death, files_per_task=10))
    assert Path(once + ".mark").exists() and Path(again + ".mark").exists()
    lost = {"format": "hetdwarf-error/1", "file": deadly, "error": "its worker died on every attempt"}
    assert [record for record in found if record["format"] == "hetdwarf-error/1"] == [lost]
    assert [record for record in found if record != lost] == expected([path for path in paths if path != deadly])
    assert [record["file"] for record in found] == sorted(paths)


def test_a_file_that_is_named_twice_counts_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a").write_bytes(b"1")
    found = list(fleet.run(["a", "./a", Path("a"), b".//a"], fleet_functions.size, workers=1))
    assert found == [{"format": "size", "file": "a", "size": 1}]


def test_what_cannot_be_run_is_said_at_once() -> None:
    with pytest.raises(ValueError, match="engine 'slurm': expected local, dask, ray, spark"):
        fleet.run([], fleet_functions.size, engine="slurm")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="files_per_task"):
        fleet.run([], fleet_functions.size, files_per_task=0)
    with pytest.raises(TypeError):
        fleet.run([], fleet_functions.size, client=None)
    assert list(fleet.run([], fleet_functions.size)) == []


def test_an_engine_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    monkeypatch.delitem(sys.modules, "hetdwarf.fleet._dask", raising=False)
    with pytest.raises(ImportError, match=r"pip install hetdwarf\[dask\]"):
        fleet.run([], fleet_functions.size, engine="dask")


@pytest.mark.parametrize("name", ENGINES)
def test_an_adapter_has_at_most_forty_lines(name: str) -> None:
    path = Path(fleet.__file__).with_name(f"_{name}.py")
    code = [line for line in path.read_text().splitlines() if line.strip()]
    assert len(code) <= 40
