"""Runs every recipe of `docs/fleet-recipes.md`."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hetdwarf import fleet

import fleet_files

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "fleet-recipes.md").read_text()
RECIPES = dict(re.findall(r"^<!-- recipe: (\S+) -->\n```\w+\n(.*?)^```$", PAGE, re.M | re.S))
BIN = Path(sys.executable).parent
SHARDS = 7


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Provides a current folder with `objects` and the recipes."""
    for name in fleet_files.make(tmp_path / "objects", 60):
        # Recipes search for code objects by this suffix.
        os.rename(name, Path(name).with_suffix(".hsaco"))
    for name, text in RECIPES.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(folder: Path, *command: str, path: Path | None = None, **variables: str) -> int:
    """Runs a saved recipe, and returns its status."""
    paths = [*([str(path)] if path else []), str(BIN), os.environ["PATH"]]
    environment = {**os.environ, "PATH": os.pathsep.join(paths), "PYSPARK_PYTHON": sys.executable, **variables}
    ran = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=600)
    assert "Traceback" not in ran.stderr, ran.stderr[-5000:]
    return ran.returncode


def command(folder: Path, *arguments: str) -> str:
    """Returns the output of the command for the objects."""
    ran = subprocess.run([BIN / "hetdwarf", *arguments], cwd=folder, capture_output=True, text=True)
    assert ran.returncode == 2, "a twentieth of the files cannot be read"
    return ran.stdout


def files() -> list[str]:
    return sorted(str(path) for path in Path("objects").rglob("*.hsaco"))


def test_every_recipe_has_a_test() -> None:
    text = Path(__file__).read_text()
    assert len(RECIPES) == PAGE.count("<!-- recipe:") == 13
    assert [name for name in RECIPES if name not in text] == []
    fences = re.findall(r"^(?:<!-- recipe: \S+ -->\n)?```(bash|python|sql)$", PAGE, re.M)
    assert len(fences) == len(RECIPES), "each script has a name by which it is tested"


def slurm(folder: Path, *, dies: bool = False) -> Path:
    """Makes a stand-in for `srun`, which runs its arguments as a command, or dies if `dies` is true."""
    tools = folder / "tools"
    tools.mkdir(exist_ok=True)
    (tools / "srun").write_text("#!/bin/bash\nkill -9 $$\n" if dies else '#!/bin/bash\nexec "$@"\n')
    (tools / "srun").chmod(0o755)
    return tools


def test_slurm(folder: Path) -> None:
    first, last = map(int, re.findall(r"#SBATCH --array=(\d+)-(\d+)", RECIPES["verify.sbatch"])[0])
    assert (first, last) == (1, SHARDS)
    for task in range(first, last + 1):
        status = run(folder, "bash", "verify.sbatch", path=slurm(folder, dies=task == 3), SLURM_ARRAY_TASK_ID=str(task))
        assert (status == 0) == (task != 3)
    assert not (folder / "records" / "3.jsonl").exists()
    assert run(folder, "bash", "verify.sbatch", path=slurm(folder), SLURM_ARRAY_TASK_ID="3") == 0
    assert run(folder, "bash", "report.sh") == 2
    assert (folder / "report.sarif").read_text() == command(folder, "verify", "objects", "--format", "sarif")


def test_parallel(folder: Path) -> None:
    if shutil.which("parallel") is None:
        pytest.skip("GNU parallel is not installed")
    assert run(folder, "bash", "parallel.sh") == 2
    assert (folder / "report.json").read_text() == command(folder, "verify", "objects", "--format", "json")


@pytest.mark.parametrize("name", ["on_one_machine.py", "on_dask.py", "on_ray.py", "on_spark.py", "from_a_store.py"])
def test_engines(folder: Path, name: str) -> None:
    needed = {"on_dask.py": "distributed", "on_ray.py": "ray", "on_spark.py": "pyspark", "from_a_store.py": "fsspec"}.get(name)
    if needed and importlib.util.find_spec(needed) is None:
        pytest.skip(f"{needed} is not installed: .ci/full installs it")
    assert run(folder, sys.executable, name) == 0
    if name == "from_a_store.py":
        found = [json.loads(line) for line in Path("records.jsonl").read_text().splitlines()]
        expected = [record for file in files() for record in fleet.verify_file(file)]
        assert [record["file"] for record in found] == [f"file://{Path.cwd()}/{record['file']}" for record in expected]
        assert [record.get("message") for record in found] == [record.get("message") for record in expected]
    else:
        assert Path("records.jsonl").read_text() == command(folder, "verify", "--format", "jsonl", *files())


def test_spark_frame(folder: Path) -> None:
    pytest.importorskip("pyspark", reason="Spark is not installed: .ci/full installs it")
    assert run(folder, sys.executable, "spark_frame.py") == 0
    from pyarrow import parquet

    found = parquet.read_table(folder / "findings").to_pylist()
    expected = [record for file in files() for record in fleet.verify_file(file)[:-1]]
    keys = ["rule", "severity", "function", "message"]
    assert Counter(tuple(row[key] for key in keys) for row in found) == Counter(tuple(record[key] for key in keys) for record in expected)


def nights(folder: Path) -> tuple[list[Any], list[Any]]:
    """Makes the tables of two nights. The first has a third fewer files, and one file with other findings."""
    records = [record for file in files() for record in fleet.verify_file(file)]
    before = [record for record in records if "rocm-6.2.0" not in record["file"]]
    changed = next(record for record in before if record["format"] == "hetdwarf-finding/1")
    before = [{**record, "fingerprint": "0" * 16} if record == changed else record for record in before]
    for night, some in (("2026-11-26", before), ("2026-11-27", records)):
        fleet.to_jsonl(some, folder / "night.jsonl")
        assert run(folder, "bash", "-c", f"cat night.jsonl | python tables.py tables/{night}") == 0
    return before, records


def ask(name: str) -> list[dict[str, Any]]:
    duckdb = pytest.importorskip("duckdb")
    answer = duckdb.connect().execute(RECIPES[name])
    columns = [column[0] for column in answer.description]
    return [dict(zip(columns, row)) for row in answer.fetchall()]


def test_new_findings(folder: Path) -> None:
    before, after = nights(folder)
    known = {record.get("fingerprint") for record in before}
    new = [record for record in after if record.get("fingerprint") not in known]
    assert 0 < len({record["fingerprint"] for record in new}) < len(after)
    found = ask("new.sql")
    keys = ["rule", "severity", "function", "object"]
    of_fingerprint = {record["fingerprint"]: tuple(record[key] for key in keys) for record in new}
    assert Counter(tuple(row[key] for key in keys) for row in found) == Counter(of_fingerprint.values())


def wave(file: str, kernel: str, fingerprint: str, *stop: str) -> dict[str, Any]:
    """Returns a record with the given fields."""
    return {
        "format": "hetdwarf-core-wave/1",
        "file": file,
        "fingerprint": fingerprint,
        "verdict": {"kind": "assert", "text": f"of {file}"},
        "wave": {"index": 1, "kernel": kernel, "stop": list(stop)},
        "stack": [],
    }


def test_top_crashes(folder: Path) -> None:
    waves = [wave(f"b{n}", "k", "1", "assert_trap") for n in range(3)] + [wave("b0", "k", "1", "assert_trap"), wave("b0", "k", "3")]
    waves += [wave("a", "j", "2", "memory_violation")] * 7
    fleet.to_parquet(waves, folder / "tables" / "2026-11-27")
    assert ask("crashes.sql") == [
        {"kernel": "k", "fingerprint": "1", "cores": 3, "waves": 4, "example": "b0", "text": "of b0"},
        {"kernel": "j", "fingerprint": "2", "cores": 1, "waves": 7, "example": "a", "text": "of a"},
    ]


def test_versions(folder: Path) -> None:
    # In 6.8, two findings in one object. In 6.9, three in two objects, and one of another rule. In 6.10, the latest, four in one object.
    versions = {"6.8": (1, ["a", "a"]), "6.9": (2, ["a", "a", "a", "b"]), "6.10": (1, ["a", "a", "a", "a"])}
    records: list[dict[str, Any]] = []
    for version, (objects, rules) in versions.items():
        file = f"/opt/rocm-{version}/lib/k.hsaco"
        records += [{"format": "hetdwarf-finding/1", "file": file, "rule": rule} for rule in rules]
        records.append({"format": "hetdwarf-file/1", "file": file, "objects": objects})
    fleet.to_parquet(records, folder / "tables" / "2026-11-27")
    assert ask("versions.sql") == [
        {"rule": "a", "rocm": "6.10", "per_object": 4.0, "change": 2.5},
        {"rule": "b", "rocm": "6.9", "per_object": 0.5, "change": 0.5},
    ]
