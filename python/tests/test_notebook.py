"""The example notebook runs, and shows what it says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

NOTEBOOK = Path(__file__).resolve().parents[2] / "examples" / "python" / "lanes.ipynb"


def test_the_notebook_runs() -> None:
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    notebook: Any = nbformat.read(NOTEBOOK, as_version=4)
    client = nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(NOTEBOOK.parent)}})
    client.execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    kinds = [kind for output in outputs for kind in output.get("data", {})]
    assert "image/png" in kinds
    html = [output["data"]["text/html"] for output in outputs if "text/html" in output.get("data", {})]
    assert any("<svg" in page for page in html) and any("<table" in page for page in html)
    # 16 lanes on each side of the branch, by the emulator that made the wave.
    texts = [output["data"]["text/plain"] for output in outputs if "text/plain" in output.get("data", {})]
    counters = [" ".join(text.split()) for text in texts if text.startswith("Counter")]
    assert counters == ["Counter({('waiting', './structs.cl:29'): 16, ('active', './structs.cl:28'): 16})"]
