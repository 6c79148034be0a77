"""Provides the repository's test data: code objects, waves with their expected values, cores."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any, Iterator

import pytest
from hetdwarf import fleet

from fleet_engines import ENGINES, started

FIXTURES = Path(__file__).resolve().parents[2] / "dwarf-tests" / "fixtures"
WAVES = sorted(path.parent for path in FIXTURES.glob("waves/*/truth.json"))


class JsonWave:
    """A wave that reads a snapshot, as a debugger would read its process."""

    def __init__(self, path: Path) -> None:
        self.wave = json.loads(path.read_text())
        self.wave_size = int(self.wave["wave_size"])
        self.pc = int(self.wave["pc"], 16)
        self.load_address = int(self.wave.get("load_address", "0x0"), 16)
        self.apertures = self.wave.get("apertures")
        self.dispatch = self.wave.get("dispatch")
        self.asked = 0

    def name(self, dwarf: int) -> str | None:
        """Returns the register's name (USAGE "Register Identifier"), for both wave sizes."""
        blocks = [(32, 96, "s", 0), (1088, 1130, "s", 64), (1536, 1792, "v", 0), (2048, 2304, "a", 0)]
        blocks += [(2560, 2816, "v", 0), (3072, 3328, "a", 0)]
        for start, end, letter, first in blocks:
            if start <= dwarf < end:
                return f"{letter}{dwarf - start + first}"
        return {1: "exec", 16: "pc", 17: "exec", 62: "status", 512: "vcc", 768: "vcc"}.get(dwarf)

    def read_register(self, dwarf: int, offset: int, size: int) -> bytes | None:
        self.asked += 1
        name = self.name(dwarf)
        if name == "pc":
            return self.pc.to_bytes(8, "little")[offset : offset + size]
        value = self.wave["registers"].get(name)
        if value is None:
            return None
        if isinstance(value, list):
            if any(lane is None for lane in value[offset // 4 : (offset + size + 3) // 4]):
                return None
            whole = b"".join(int(lane or "0x0", 16).to_bytes(4, "little") for lane in value)
        else:
            whole = int(value, 16).to_bytes(16, "little")
        return whole[offset : offset + size]

    def read_memory(self, space: str, address: int, size: int) -> bytes | None:
        self.asked += 1
        found: dict[int, int] = {}
        for region in self.wave["memory"]:
            start, data = int(region["address"], 16), bytes.fromhex(region["bytes"])
            if region["space"] == space and start < address + size and address < start + len(data):
                low, high = max(start, address), min(start + len(data), address + size)
                found.update((at, data[at - start]) for at in range(low, high))
        return bytes(found[at] for at in range(address, address + size)) if len(found) == size else None


@pytest.fixture(params=WAVES, ids=lambda path: path.name)
def case(request: Any) -> Path:
    """Returns a folder with objects, waves and `truth.json`."""
    folder: Path = request.param
    return folder


@pytest.fixture
def structs() -> Path:
    return FIXTURES / "waves" / "structs"


@pytest.fixture(params=ENGINES, scope="module")
def engine(request: Any) -> Iterator[Any]:
    """Returns `fleet.run` on an engine with two workers."""
    for options in started(request.param):
        yield functools.partial(fleet.run, engine=request.param, **options)
