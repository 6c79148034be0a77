"""The command `hetdwarf`, which the package carries."""

import sys

from ._native import run_command


def main() -> int:
    """Runs the command with the arguments of this process, and gives its exit status."""
    return run_command(["hetdwarf", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
