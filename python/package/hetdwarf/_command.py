"""Runs the command `hetdwarf`, which the package contains."""

import sys

from ._native import run_command


def main() -> int:
    """Runs the command with the arguments of this process, and returns its exit status."""
    return run_command(["hetdwarf", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
