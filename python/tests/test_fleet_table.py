"""Makes a table of many files, some damaged, with one process, with shards, and with every engine. A worker of each engine is killed."""

from __future__ import annotations

import functools
import gzip
import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hetdwarf import fleet

import fleet_files
import fleet_functions
from conftest import FIXTURES

COMMAND = Path(sys.executable).parent / "hetdwarf"
SHARDS = 7
FORMATS = ["text", "json", "sarif", "junit", "jsonl"]


def printed(folder: Path, *arguments: str) -> str:
    ran = subprocess.run([COMMAND, *arguments], cwd=folder, capture_output=True, text=True)
    assert ran.returncode in (1, 2) and "panicked" not in ran.stderr, ran.stderr
    return ran.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("table")
    fleet_files.make(folder / "objects")
    return folder


@pytest.fixture(scope="module")
def names(folder: Path) -> list[str]:
    return [str(path.relative_to(folder)) for path in (folder / "objects").rglob("*.*") if path.is_file()]


@pytest.fixture(scope="module")
def lines(folder: Path, names: list[str]) -> str:
    """Returns the output of the command in one process."""
    return printed(folder, "verify", "--format", "jsonl", *names)


def test_the_set_is_what_it_should_be(names: list[str], lines: str) -> None:
    assert len(names) == fleet_files.COUNT
    files = lines.count('{"format":"hetdwarf-file/1"')
    assert files == fleet_files.COUNT and 0 < lines.count('"sha256":null') + lines.count('"unreadable":') < files / 10
    assert lines.count('{"format":"hetdwarf-finding/1"') > files


def test_every_engine_gives_it(engine: Any, folder: Path, names: list[str], lines: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    victim, mark = sorted(names)[len(names) // 2], tmp_path / "mark"
    # Workers have their own current folders.
    function = functools.partial(fleet_functions.verify_or_death_once, folder, victim, mark)
    fleet.to_jsonl(engine(names, function), tmp_path / "records.jsonl")
    assert mark.exists()
    assert (tmp_path / "records.jsonl").read_text() == lines


def test_so_do_shards_in_any_order(folder: Path, names: list[str], lines: str, tmp_path: Path) -> None:
    shards = []
    for number in range(1, SHARDS + 1):
        shard = tmp_path / f"{number}.jsonl"
        shard.write_text(printed(folder, "verify", "--shard", f"{number}/{SHARDS}", "--format", "jsonl", *names))
        shards.append(str(shard))
    random.Random(40).shuffle(shards)
    assert printed(folder, "merge", *shards, "--format", "jsonl") == lines
    whole = tmp_path / "whole.jsonl"
    whole.write_text(lines)
    for format in FORMATS:
        report = printed(folder, "verify", "--format", format, *names)
        assert printed(folder, "merge", *shards, "--format", format) == report
        # A duplicate counts once.
        assert printed(folder, "merge", str(whole), *shards, "--format", format) == report


def test_a_file_that_was_lost_is_in_the_report(folder: Path, names: list[str], tmp_path: Path) -> None:
    some = sorted(names)[:20]
    function = functools.partial(fleet_functions.verify_or_death, folder, some[3])
    fleet.to_jsonl(fleet.run(some, function, workers=1), tmp_path / "records.jsonl")
    ran = subprocess.run([COMMAND, "merge", tmp_path / "records.jsonl", "--format", "json"], capture_output=True, text=True)
    assert ran.returncode == 2 and f"{some[3]}: its worker died on every attempt" in ran.stderr


def test_crashes_of_cores_are_those_of_the_command(tmp_path: Path) -> None:
    cores = []
    for path in sorted(FIXTURES.glob("cores/*/merged.core.gz")):
        core = tmp_path / f"{path.parent.name}.core"
        core.write_bytes(gzip.decompress(path.read_bytes()))
        cores.append(core.name)
    expected = printed(tmp_path, "core", *cores, "--format", "json")
    function = functools.partial(fleet_functions.triage, tmp_path)
    fleet.to_jsonl(fleet.run(cores, function, workers=2, files_per_task=2), tmp_path / "records.jsonl")
    assert printed(tmp_path, "merge", "records.jsonl", "--format", "json") == expected
    assert json.loads(expected)["crashes"] and json.loads(expected)["unreadable"]
