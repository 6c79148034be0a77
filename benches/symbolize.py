#!/usr/bin/env python3
"""Compares `hetdwarf symbolize --format llvm` with llvm-symbolizer: processor time and largest resident size.

Both read random code addresses of one large object from standard input. The outputs must be equal.

  benches/symbolize.py [--megabytes 64] [--addresses 100000] [--runs 3] [--memory 0.5]

Builds the command and the object in the profile `release`. Exit status: 1 if the outputs differ, or if the memory exceeds the
share of llvm-symbolizer's that --memory gives.
"""

import argparse
import hashlib
import os
import pathlib
import random
import struct
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent


def built(*arguments: str) -> pathlib.Path:
    """Builds a program in the profile `release`, and returns the folder of the profile."""
    subprocess.run(["cargo", "build", "--quiet", "--release", *arguments], cwd=ROOT, check=True)
    return pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release"


def code_of(path: pathlib.Path) -> range:
    """Returns the addresses of the executable segment of an ELF file of 64 bits."""
    with path.open("rb") as file:
        header = file.read(64)
        start, size, count = *struct.unpack_from("<Q", header, 32), *struct.unpack_from("<HH", header, 54)
        file.seek(start)
        for _ in range(count):
            kind, flags, _, address, _, _, length, _ = struct.unpack_from("<IIQQQQQQ", file.read(size))
            if kind == 1 and flags & 1:
                return range(address, address + length)
    raise ValueError(f"{path} has no code")


def measured(command: list[str | pathlib.Path], addresses: pathlib.Path) -> tuple[float, int, bytes]:
    """Returns the seconds of processor time, the largest resident size in KiB, and a hash of the output.

    A child begins with the largest size of this process, which therefore must stay small: it does not keep outputs.
    """
    with addresses.open("rb") as lines, tempfile.TemporaryFile() as output:
        child = subprocess.Popen(command, stdin=lines, stdout=output)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode != 0:
            raise subprocess.CalledProcessError(child.returncode, command)
        output.seek(0)
        return usage.ru_utime + usage.ru_stime, usage.ru_maxrss, hashlib.file_digest(output, "sha256").digest()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=64)
    parser.add_argument("--addresses", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--memory", type=float, default=0.5)
    arguments = parser.parse_args()
    built("-p", "hetdwarf-cli")
    release = built("-p", "dwarf-tests", "--example", "large")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        made = folder / "object"
        large = [release / "examples" / "large", "--megabytes", str(arguments.megabytes), made]
        subprocess.run(large, check=True, stdout=subprocess.DEVNULL)
        choose, code = random.Random(5), code_of(made)
        addresses = folder / "addresses"
        addresses.write_text("".join(f"{choose.choice(code):#x}\n" for _ in range(arguments.addresses)))
        commands = {
            "llvm-symbolizer": ["llvm-symbolizer-22", f"--obj={made}"],
            "hetdwarf": [release / "hetdwarf", "symbolize", made, "--format", "llvm"],
        }
        runs = {name: [] for name in commands}
        # In turn, so that other processes disturb both.
        for _ in range(arguments.runs):
            for name, command in commands.items():
                runs[name].append(measured(command, addresses))
    if len({output for results in runs.values() for _, _, output in results}) > 1:
        print("the outputs differ", file=sys.stderr)
        return 1
    sizes = []
    for name, results in runs.items():
        seconds, size = min(result[0] for result in results), max(result[1] for result in results)
        sizes.append(size)
        print(f"{name}: {seconds:.2f} s of processor time (the least of {arguments.runs} runs), {size / 1024:.1f} MiB (the most)")
    share = sizes[1] / sizes[0]
    print(f"hetdwarf takes {share:.2f} of llvm-symbolizer's memory")
    return int(share > arguments.memory)


if __name__ == "__main__":
    sys.exit(main())
