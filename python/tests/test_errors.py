"""Tests each class of error, and exceptions of user-defined waves."""

from __future__ import annotations

import gzip
import json
import threading
from pathlib import Path
from typing import Any

import hetdwarf
import pytest

from conftest import FIXTURES, JsonWave


def test_all_errors_are_errors() -> None:
    for name in ["Malformed", "Limit", "Unavailable", "OptimizedOut", "Inactive", "Unsupported", "Ambiguous", "Partial"]:
        assert issubclass(getattr(hetdwarf, name), hetdwarf.Error)


def test_what_is_no_code_object_is_malformed(tmp_path: Path) -> None:
    with pytest.raises(hetdwarf.Malformed):
        hetdwarf.open(b"\x7fELF" + bytes(60))
    with pytest.raises(FileNotFoundError):
        hetdwarf.open(tmp_path / "none")
    with pytest.raises(hetdwarf.Malformed):
        hetdwarf.evaluate("DW_OP_nonsense")


def test_several_objects_are_named() -> None:
    bundle = next((FIXTURES / "object").glob("*.hipfb"))
    assert len(hetdwarf.open_all(bundle)) > 1
    with pytest.raises(hetdwarf.Error, match="code objects"):
        hetdwarf.open(bundle)


def test_inactive_lanes_and_unknown_ones() -> None:
    folder = FIXTURES / "waves" / "manyargs"
    frame = hetdwarf.open(folder / "manyargs.rocm.hsaco").stop(folder / "w00.json").frames[0]
    variable = frame.variables[0]
    with pytest.raises(hetdwarf.Inactive):
        variable.value(31)
    with pytest.raises(hetdwarf.Error, match="no lane 99"):
        variable.value(99)
    with pytest.raises(KeyError, match="no variable here is called nobody; there are "):
        frame["nobody"]
    with pytest.raises(hetdwarf.Malformed, match="offset"):
        frame.eval("1 +")


def test_a_wave_that_cannot_run_the_code_is_refused() -> None:
    folder = FIXTURES / "waves" / "manyargs"
    wave = json.loads((folder / "w00.json").read_text())
    wave["wave_size"] = 96 - wave["wave_size"]
    wave["registers"] = {}
    program = hetdwarf.open(folder / "manyargs.rocm.hsaco")
    with pytest.raises(hetdwarf.Malformed, match="the wave has 64 lanes, but"):
        program.stop(wave)


class Blind(JsonWave):
    """A wave without memory."""

    def read_memory(self, space: str, address: int, size: int) -> bytes | None:
        return None


class Half(JsonWave):
    """A wave with every other byte of scratch."""

    def read_memory(self, space: str, address: int, size: int) -> bytes | None:
        if space == "private_wave" and (size != 1 and address % 8 == 4):
            return None
        return super().read_memory(space, address, size)


class Broken(JsonWave):
    def read_memory(self, space: str, address: int, size: int) -> bytes | None:
        raise ZeroDivisionError("of the debugger")


class Short(JsonWave):
    def read_memory(self, space: str, address: int, size: int) -> bytes | None:
        return b"\0"


def test_what_the_wave_does_not_know_is_unavailable(structs: Path) -> None:
    obj = hetdwarf.open(structs / "structs.rocm.hsaco")
    frame = obj.stop(Blind(structs / "w00.json")).frames[0]
    with pytest.raises(hetdwarf.Unavailable):
        frame["id"].value(0)
    assert frame["id"].lanes == []


def test_exceptions_of_a_wave_are_raised_again(structs: Path) -> None:
    obj = hetdwarf.open(structs / "structs.rocm.hsaco")
    with pytest.raises(ZeroDivisionError, match="of the debugger"):
        obj.stop(Broken(structs / "w00.json")).frames[0].variables
    with pytest.raises(hetdwarf.Malformed, match="returned 1 bytes"):
        obj.stop(Short(structs / "w00.json")).frames[0].variables


def test_optimized_out_and_partial() -> None:
    folder = FIXTURES / "waves" / "calls-O2"
    obj = hetdwarf.open(folder / "calls-O2.rocm.hsaco")
    seen = set()
    for path in sorted(folder.glob("w*.json")):
        for frame in obj.stop(path).frames:
            for variable in frame.variables:
                for lane in range(variable.wave_size):
                    if variable.state(lane) == "optimized-out":
                        with pytest.raises(hetdwarf.OptimizedOut):
                            variable.value(lane)
                        seen.add("optimized-out")
    assert "optimized-out" in seen
    answer = hetdwarf.evaluate("DW_OP_lit1, DW_OP_stack_value, DW_OP_piece 2, DW_OP_piece 2", read=32)
    assert answer["lanes"][0]["read"]["undefined"] == [[16, 32]]


def test_one_stop_from_many_threads(structs: Path) -> None:
    obj = hetdwarf.open(structs / "structs.rocm.hsaco")
    stop = obj.stop(structs / "w00.json")
    # Texts are compared, since a NaN is not equal to itself.
    expected = [stop.frames[1]["recs"].text(lane) for lane in range(32)]
    wrong: list[Any] = []

    def ask() -> None:
        for _ in range(20):
            frame = obj.stop(structs / "w00.json").frames[1]
            for found in [frame["recs"], stop.frames[1].eval("recs")]:
                if [found.text(lane) for lane in range(32)] != expected:
                    wrong.append(frame)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_core() -> None:
    folder = FIXTURES / "cores" / "gfx1100"
    with gzip.open(folder / "merged.core.gz") as packed:
        core = hetdwarf.open_core(packed.read())
    assert core.waves and core.waves[0].index == 1
    stopped = [wave for wave in core.waves if wave.reasons]
    frames = (stopped or core.waves)[0].stop().frames
    assert frames and frames[0].pc
    with pytest.raises(hetdwarf.Error):
        hetdwarf.open_core(b"nothing")


def test_verify_and_lookup(structs: Path) -> None:
    obj = hetdwarf.open(structs / "structs.hsaco")
    findings = obj.verify()
    assert {finding.severity for finding in findings} <= {"error", "warning", "note"}
    chosen = obj.verify(rules=["cfi-*"])
    assert chosen and all(finding.rule.startswith("cfi-") for finding in chosen)
    assert all(finding.severity != "error" for finding in obj.verify(profile="application"))
    with pytest.raises(hetdwarf.Error):
        obj.verify(rules=["nothing-of-that-name"])
    kernel = obj.kernels[0]
    assert kernel.entry is not None
    function = obj.function_at(kernel.entry)
    assert function is not None and function.low_pc is not None and function.low_pc <= kernel.entry
    line = obj.line_at(kernel.entry)
    assert line is not None and line[0] == "structs.cl"
    assert obj.function_at(0xFFFF_FFFF) is None
    # Together, these queries cost far more than the limit of one query.
    for _ in range(20_000):
        obj.line_at(kernel.entry)


def test_triton_and_the_fixture(structs: Path, hetdwarf_verify: Any) -> None:
    from hetdwarf import triton

    class Compiled:
        asm = {"hsaco": (structs / "structs.hsaco").read_bytes()}

    class Cuda:
        asm = {"cubin": b""}

    assert triton.open(Compiled()).target.startswith("gfx1100")
    rows = triton.lines(Compiled())
    assert rows and rows == sorted(rows, key=lambda row: row[0]) and rows[0][1] == "structs.cl"
    assert len(list(triton.cached(structs))) == 2
    with pytest.raises(hetdwarf.Error, match="no hsaco"):
        triton.verify(Cuda())
    assert isinstance(hetdwarf_verify(Compiled(), profile="application"), list)
    wrong = [finding.rule for finding in triton.verify(Compiled()) if finding.severity == "error"]
    if wrong:
        with pytest.raises(pytest.fail.Exception):
            hetdwarf_verify(Compiled())
    hetdwarf_verify(Compiled(), allow=wrong)
