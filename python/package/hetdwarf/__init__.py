"""Reads the DWARF of GPU code: variables in every lane, call stacks, core files, verification.

>>> import hetdwarf
>>> obj = hetdwarf.open("kernel.hsaco")             # doctest: +SKIP
>>> frame = obj.stop("wave.json").frames[0]         # doctest: +SKIP
>>> frame["x"].values()                             # doctest: +SKIP
{0: 21, 1: 42}
"""

from ._native import (
    Ambiguous,
    Core,
    CoreWave,
    Error,
    Finding,
    Frame,
    Function,
    Inactive,
    NotInFrame,
    Kernel,
    LaneCaller,
    LanePc,
    Limit,
    Malformed,
    Object,
    OptimizedOut,
    Partial,
    Stop,
    Type,
    Unavailable,
    Unsupported,
    Variable,
    __version__,
    evaluate,
    open,
    open_all,
    open_core,
)

__all__ = [
    "Ambiguous",
    "Core",
    "CoreWave",
    "Error",
    "Finding",
    "Frame",
    "Function",
    "Inactive",
    "NotInFrame",
    "Kernel",
    "LaneCaller",
    "LanePc",
    "Limit",
    "Malformed",
    "Object",
    "OptimizedOut",
    "Partial",
    "Stop",
    "Type",
    "Unavailable",
    "Unsupported",
    "Variable",
    "__version__",
    "evaluate",
    "open",
    "open_all",
    "open_core",
]
