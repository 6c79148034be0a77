"""Tests the records of `hetdwarf.fleet`: their contents, pickling, and conversion to tables."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import pickle
import subprocess
import sys
import zipfile
from functools import partial
from pathlib import Path
from typing import Any, Iterator

import hetdwarf
import pytest
from hetdwarf import fleet
from hetdwarf.fleet import _tables

import fleet_files
import fleet_functions
from conftest import FIXTURES

COMMAND = Path(sys.executable).parent / "hetdwarf"
OBJECT = FIXTURES / "waves" / "structs" / "structs.rocm.hsaco"
CORES = FIXTURES / "cores"


def printed(*arguments: object) -> str:
    """Returns the output of the command."""
    ran = subprocess.run([COMMAND, *map(str, arguments)], capture_output=True, text=True)
    assert ran.returncode in (0, 1, 2) and "panicked" not in ran.stderr, ran.stderr
    return ran.stdout


@pytest.fixture
def core(tmp_path: Path) -> Path:
    path = tmp_path / "merged.core"
    path.write_bytes(gzip.decompress((CORES / "gfx1100" / "merged.core.gz").read_bytes()))
    return path


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return fleet_files.make(tmp_path_factory.mktemp("files"), 200)


@pytest.fixture(scope="module")
def records(names: list[str]) -> list[fleet.Record]:
    return [record for name in sorted(names) for record in fleet.verify_file(name)]


def test_a_file_has_its_findings_and_then_itself() -> None:
    *findings, file = fleet.verify_file(OBJECT)
    assert file["format"] == "hetdwarf-file/1" and file["complete"] and file["findings"] == len(findings) > 0
    assert file["sha256"] == hashlib.sha256(OBJECT.read_bytes()).hexdigest()
    for number, finding in enumerate(findings):
        assert finding["format"] == "hetdwarf-finding/1" and finding["number"] == number
        assert (finding["file"], finding["sha256"]) == (str(OBJECT), file["sha256"])


def test_rules_and_profile_are_those_of_verify() -> None:
    found = fleet.verify_file(OBJECT, rules=["cfi-*"])
    assert {finding["rule"][:4] for finding in found[:-1]} == {"cfi-"}
    severities = {finding["severity"] for finding in fleet.verify_file(OBJECT, profile="application")[:-1]}
    assert severities == {"note"}
    with pytest.raises(Exception, match="no-such-rule"):
        fleet.verify_file(OBJECT, rules=["no-such-rule"])


def test_a_file_that_cannot_be_read_is_a_record(tmp_path: Path) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("text")
    for path, message in ((text, "no AMDGPU code object"), (tmp_path / "missing", "No such file"), (tmp_path, "directory")):
        (record,) = fleet.verify_file(path)
        assert record["format"] == "hetdwarf-file/1" and not record["complete"]
        (unreadable,) = record["unreadable"]
        assert unreadable["path"] == str(path) and message in unreadable["message"]


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such a name")
def test_a_name_that_is_no_utf_8_can_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    name = b"k\xff\xe2\x82.hsaco"
    Path(os.fsdecode(name)).write_bytes(OBJECT.read_bytes())
    fleet.to_jsonl(fleet.run([name], fleet.verify_file, workers=1), "verify.jsonl")
    assert Path("verify.jsonl").read_text() == printed("verify", os.fsdecode(name), "--format", "jsonl")
    fleet.to_jsonl(fleet.run([b"missing" + name], fleet_functions.size, workers=1), "size.jsonl")
    assert json.loads(Path("size.jsonl").read_text())["file"] == "missingk\ufffd\ufffd.hsaco"
    fleet.to_jsonl(fleet.run([name, "-"], fleet.triage_core, workers=1), "core.jsonl")
    records = [json.loads(line) for line in Path("core.jsonl").read_text().splitlines()]
    assert [record["file"] for record in records] == ["-", "k\ufffd\ufffd.hsaco"]
    assert all(record["format"] == "hetdwarf-error/1" for record in records)


def test_waves_of_a_core_are_records(core: Path, tmp_path: Path) -> None:
    truth = json.loads(gzip.decompress((CORES / "gfx1100" / "truth.json.gz").read_bytes()))
    found = fleet.triage_core(core)
    assert {record["format"] for record in found} == {"hetdwarf-core-wave/1"}
    assert len(found) == len(truth["waves"])
    assert {record["file"] for record in found} == {str(core)}
    assert "\n".join(json.dumps(one, ensure_ascii=False, separators=(",", ":")) for one in found) + "\n" == printed("core", core, "--format", "jsonl")
    (record,) = fleet.triage_core(tmp_path / "missing")
    assert record == {"format": "hetdwarf-error/1", "file": str(tmp_path / "missing"), "error": "No such file or directory (os error 2)"}


def test_two_halves_are_one_core(tmp_path: Path) -> None:
    halves = []
    for name in ("gpucore.4242", "core.4242"):
        halves.append(tmp_path / name)
        halves[-1].write_bytes(gzip.decompress((CORES / "gfx1100" / f"{name}.gz").read_bytes()))
    found = fleet.triage_core(halves)
    assert found == [json.loads(line) for line in printed("core", *halves, "--format", "jsonl").splitlines()]
    assert {record["file"] for record in found} == {f"{halves[0]}, {halves[1]}"} and "wave" in found[0]
    missing = [tmp_path / "a", tmp_path / "b"]
    assert [(record["format"], record["file"]) for record in fleet.triage_core(missing)] == [("hetdwarf-error/1", str(path)) for path in missing]
    # If the halves are given as URLs, the records name the URLs.
    pytest.importorskip("fsspec")
    urls = [half.as_uri() for half in halves]
    assert fleet.triage_core(urls) == [{**record, "file": ", ".join(urls)} for record in found]


def test_objects_take_the_place_of_lost_ones(core: Path, tmp_path: Path) -> None:
    whole = [record["fingerprint"] for record in fleet.triage_core(core)]
    uri = b"memory://"
    assert uri in core.read_bytes()
    lost = tmp_path / "lost.core"
    lost.write_bytes(core.read_bytes().replace(uri, b"file:///_"))
    (load,) = {address for address, _ in hetdwarf.open_core(core).objects}
    calls = FIXTURES / "waves" / "calls"

    def fingerprints(*objects: Any) -> list[str]:
        return [record["fingerprint"] for record in fleet.triage_core(lost, objects) if "wave" in record]

    assert whole and fingerprints() != whole
    for given in (calls, calls / "calls.rocm.hsaco", (calls / "calls.rocm.hsaco", load)):
        assert fingerprints(given) == whole, given
    (record,) = fleet.triage_core(core, [tmp_path / "missing"])
    assert "missing" in record["error"]


def test_functions_and_records_can_be_pickled(core: Path) -> None:
    for function in (fleet.verify_file, fleet.triage_core, partial(fleet.verify_file, rules=["cfi-*"], profile="release")):
        path = core if function is fleet.triage_core else OBJECT
        travelled = pickle.loads(pickle.dumps(function))
        found = function(path)
        assert pickle.loads(pickle.dumps(found)) == found == travelled(path)


def test_urls_are_read_by_fsspec(tmp_path: Path, core: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fsspec = pytest.importorskip("fsspec")
    with fsspec.open("memory://bucket/k.hsaco", "wb") as file:
        file.write(OBJECT.read_bytes())
    monkeypatch.chdir(OBJECT.parent)
    local = fleet.verify_file(OBJECT.name)
    remote = fleet.verify_file("memory://bucket/k.hsaco")
    assert {record["file"] for record in remote} == {"memory://bucket/k.hsaco"}
    whole = [record.get("sha256") for record in local]
    assert [record.get("sha256") for record in remote] == whole
    assert [record.get("message") for record in remote] == [record.get("message") for record in local]
    archive = tmp_path / "cores.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        packed.write(core, "merged.core")
    url = f"zip://merged.core::file://{archive}"
    waves = list(fleet.run([url], fleet.triage_core, workers=1))
    assert [wave["fingerprint"] for wave in waves] == [wave["fingerprint"] for wave in fleet.triage_core(core)]
    assert {wave["file"] for wave in waves} == {url}
    (missing,) = fleet.run(["memory://bucket/missing"], fleet.verify_file, workers=1)
    assert missing["format"] == "hetdwarf-error/1" and missing["error"].startswith("FileNotFoundError")
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(ImportError, match="pip install fsspec"):
        fleet.verify_file("memory://bucket/k.hsaco")


def leaves(value: Any, shape: Any, place: str) -> Iterator[str]:
    """Returns the names of fields without a column, or with a column of another type."""
    types = {_tables.TEXT: str, _tables.NUMBER: int, _tables.FLAG: bool}
    if value is None or shape == _tables.JSON:
        return
    if isinstance(shape, dict) and isinstance(value, dict):
        yield from (f"{place}.{name} has no column" for name in value.keys() - shape.keys())
        for name, inner in shape.items():
            yield from leaves(value.get(name), inner, f"{place}.{name}")
    elif isinstance(shape, list) and isinstance(value, list):
        for inner in value:
            yield from leaves(inner, shape[0], f"{place}[]")
    elif isinstance(shape, (dict, list)) or type(value) is not types[shape]:
        yield f"{place} is {type(value).__name__}"
    elif isinstance(value, int) and not -(2**53) < value < 2**53:
        yield f"{place} is too large for a JSON number"


def test_every_field_has_a_column(records: list[fleet.Record], tmp_path: Path) -> None:
    cores = []
    for path in sorted(CORES.glob("*/merged.core.gz")):
        core = tmp_path / path.parent.name
        core.write_bytes(gzip.decompress(path.read_bytes()))
        cores += fleet.triage_core(core)
    whole = [record for path in sorted(FIXTURES.glob("corpus/**/*.hsaco")) for record in fleet.verify_file(path)]
    wrong: set[str] = set()
    folder = json.loads(printed("verify", OBJECT.parent, "--format", "jsonl").splitlines()[-1])
    assert folder["format"] == "hetdwarf-folder/1"
    for record in [*records, *whole, *cores, folder]:
        kind = _tables.KINDS[record["format"]]
        wrong.update(leaves(record, _tables.COLUMNS[kind], kind))
    assert wrong == set()
    assert {record["format"] for record in [*records, *cores]} >= {"hetdwarf-finding/1", "hetdwarf-file/1", "hetdwarf-core-wave/1"}


def test_tables_have_what_the_records_have(records: list[fleet.Record], core: Path, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    folder = json.loads(printed("verify", OBJECT.parent, "--format", "jsonl").splitlines()[-1])
    given = [*records, folder, *fleet.triage_core(core), {"format": "hetdwarf-error/1", "file": "a", "error": "b"}]
    # More records than one batch can contain.
    given *= 1 + 2 * _tables.ROWS_AT_ONCE // len(given)
    fleet.to_parquet(iter(given), tmp_path / "tables")
    files = ["core-wave.parquet", "error.parquet", "file.parquet", "finding.parquet", "folder.parquet"]
    assert sorted(path.name for path in (tmp_path / "tables").iterdir()) == files
    for kind in _tables.COLUMNS:
        table = parquet.read_table(tmp_path / "tables" / f"{kind}.parquet")
        assert table.schema.remove_metadata() == fleet.schema(kind)
        own = [record for record in given if record["format"] == f"hetdwarf-{kind}/1"]
        rows = table.to_pylist()
        assert len(rows) == len(own) > 0
        for row, record in zip(rows, own):
            assert row == _tables.row(record)
    finding = next(record for record in given if "evidence" in record)
    assert json.loads(_tables.row(finding)["evidence"]) == finding["evidence"]


def test_what_is_no_record_is_refused_and_the_old_tables_stay(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    fleet.to_parquet([], tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    assert len(before) == len(_tables.COLUMNS)
    with pytest.raises(ValueError, match="hetdwarf-other/1: expected hetdwarf-finding/1"):
        fleet.to_parquet([{"format": "hetdwarf-other/1"}], tmp_path)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before
    with pytest.raises(ValueError, match="kind 'wave': expected finding, file, folder, core-wave, error"):
        fleet.schema("wave")  # type: ignore[arg-type]


def test_without_pyarrow_it_is_said_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    for ask in (lambda: fleet.schema("finding"), lambda: fleet.to_parquet([], tmp_path)):
        with pytest.raises(ImportError, match=r"pip install hetdwarf\[arrow\]"):
            ask()
    assert list(tmp_path.iterdir()) == []
