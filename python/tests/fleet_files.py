"""Makes the files of a fleet: the corpus under many names, with some files damaged."""

from __future__ import annotations

import os
import random
from pathlib import Path

from conftest import FIXTURES

# A release is tested with 2,000 files, of which 100 are damaged.
COUNT = int(os.environ.get("HETDWARF_FLEET_FILES", "200"))
SMALL = 40_000


def damaged(data: bytes, chance: random.Random) -> bytes:
    """Truncates a file, or overwrites some bytes."""
    if chance.random() < 0.5:
        return data[: chance.randrange(len(data))]
    changed = bytearray(data)
    for _ in range(32):
        changed[chance.randrange(len(data))] = chance.randrange(256)
    return bytes(changed)


def make(folder: Path, count: int = COUNT) -> list[str]:
    """Writes `count` files below folders of ROCm's versions, and returns their names. Every twentieth file is damaged."""
    sources = [path for path in sorted(FIXTURES.glob("corpus/**/*")) if path.suffix in (".hsaco", ".o", ".hipfb") and path.stat().st_size < SMALL]
    chance = random.Random(40)
    names = []
    for number in range(count):
        source = sources[number % len(sources)]
        path = folder / f"rocm-6.{number % 3}.0" / f"node{number % 7}" / f"{source.stem} {number}é{source.suffix}"
        path.parent.mkdir(parents=True, exist_ok=True)
        data = source.read_bytes()
        path.write_bytes(damaged(data, chance) if number % 20 == 19 else data)
        names.append(os.fspath(path))
    return names
