"""The command `hetdwarf`, which the package carries."""

import signal
import sys

from ._native import run_command


def main() -> int:
    """Runs the command with the arguments of this process, and gives its exit status."""
    # As the command does by itself: Ctrl-C ends it at once.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return run_command(["hetdwarf", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
