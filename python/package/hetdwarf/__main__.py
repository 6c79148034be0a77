"""Runs the command: `python -m hetdwarf`."""

import sys

from ._command import main

sys.exit(main())
