"""Measures the processor time of each engine of `hetdwarf.fleet` and of the command alone: the table of BENCHMARKS.md, "Fleets".

    mkdir /sys/fs/cgroup/cpuacct/fleet && echo $$ >/sys/fs/cgroup/cpuacct/fleet/cgroup.procs
    python benches/fleet.py /sys/fs/cgroup/cpuacct/fleet/cpuacct.usage

The control group counts the time of all processes of an engine. Each measurement runs in its own process.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

TESTS = Path(__file__).resolve().parents[1] / "python" / "tests"
sys.path.insert(0, str(TESTS))
FILES = 2000
# The engine, and the number of files per task.
CASES = [("local", 16), ("local", 1), ("dask", 16), ("dask", 1), ("ray", 16), ("ray", 1), ("spark", 16), ("spark", 1)]


def run(engine: Any, files_per_task: int, count: int) -> None:
    """Verifies some files on an engine. The measurement includes the start of the engine."""
    from hetdwarf import fleet

    from fleet_engines import started

    names = sorted(str(path) for path in Path("objects").rglob("*.*") if path.is_file())
    for options in started(engine):
        # Workers have their own current folders.
        whole = [str(Path.cwd() / name) for name in names[:count]]
        fleet.to_jsonl(fleet.run(whole, fleet.verify_file, engine=engine, files_per_task=files_per_task, **options), "records.jsonl")


def measured(usage: Path, folder: str, *command: str) -> tuple[float, float]:
    """Returns the processor time and the wall time of a command, in seconds."""
    before, start = int(usage.read_text()), time.monotonic()
    ran = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert ran.returncode in (0, 1, 2) and b"Traceback" not in ran.stderr, ran.stderr.decode()[-2000:]
    return (int(usage.read_text()) - before) / 1e9, time.monotonic() - start


def main() -> None:
    import fleet_files

    usage = Path(sys.argv[1])
    engines = sys.argv[2:] or ["local", "dask", "ray", "spark"]
    with tempfile.TemporaryDirectory() as folder:
        names = fleet_files.make(Path(folder) / "objects", FILES)
        size = sum(os.stat(name).st_size for name in names)
        command = str(Path(sys.executable).parent / "hetdwarf")
        bare = [measured(usage, folder, command, "verify", *names, "--jobs", jobs, "--format", "jsonl") for jobs in ("1", "2")]
        alone = min(measured(usage, folder, command, "verify", names[0], "--format", "jsonl") for _ in range(3))
        print(f"{FILES} files, {size / FILES / 1024:.1f} KiB each")
        for jobs, (processors, clock) in zip("12", bare):
            print(f"command, --jobs {jobs}: {processors:.2f} s of processors, {clock:.2f} s")
        print(f"command, a process for one file: {alone[0] * 1e3:.0f} ms of a processor", flush=True)
        for engine, files_per_task in CASES:
            if engine not in engines:
                continue
            this = [sys.executable, __file__, "--run", engine, str(files_per_task)]
            first, all_of_them = measured(usage, folder, *this, "1"), measured(usage, folder, *this, str(FILES))
            more = (all_of_them[0] - first[0] - bare[0][0]) / FILES * 1e3
            print(f"{engine}, {files_per_task} files a task: start {first[0]:.2f} s of processors, {first[1]:.2f} s;", end=" ")
            print(f"all {all_of_them[0]:.2f} s, {all_of_them[1]:.2f} s; {more:+.2f} ms a file", flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "--run":
        run(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
    else:
        main()
