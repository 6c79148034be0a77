"""Runs the example notebooks, and checks their output."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def outputs(path: Path) -> list[Any]:
    """Runs a notebook, and returns the output of its cells."""
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    notebook: Any = nbformat.read(path, as_version=4)
    client = nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(path.parent)}})
    client.execute()
    return [output for cell in notebook.cells for output in cell.get("outputs", [])]


def texts(shown: list[Any]) -> list[str]:
    return [output["data"]["text/plain"] for output in shown if "text/plain" in output.get("data", {})]


def test_the_lanes_of_a_wave() -> None:
    shown = outputs(EXAMPLES / "python" / "lanes.ipynb")
    kinds = [kind for output in shown for kind in output.get("data", {})]
    assert "image/png" in kinds
    html = [output["data"]["text/html"] for output in shown if "text/html" in output.get("data", {})]
    assert any("<svg" in page for page in html) and any("<table" in page for page in html)
    # The emulator that made the wave has 16 lanes on each side of the branch.
    counters = [" ".join(text.split()) for text in texts(shown) if text.startswith("Counter")]
    assert counters == ["Counter({('waiting', './structs.cl:29'): 16, ('active', './structs.cl:28'): 16})"]


def test_a_fleet() -> None:
    nbformat = pytest.importorskip("nbformat")
    for module in ("duckdb", "pandas", "pyarrow"):
        pytest.importorskip(module)
    path = EXAMPLES / "fleet" / "fleet.ipynb"
    shown = outputs(path)
    cores = sorted((EXAMPLES.parent / "dwarf-tests" / "fixtures" / "cores").glob("bad-*"))
    assert all(f"{core.name}.core" in texts(shown)[-1] for core in cores)
    kept = [output for cell in nbformat.read(path, as_version=4).cells for output in cell.get("outputs", [])]
    assert len(texts(kept)) == len(texts(shown)) > 4
