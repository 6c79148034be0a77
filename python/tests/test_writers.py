"""Compares the writers' sections with LLVM's assembler, and reads them back."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import hetdwarf
import pytest

MC, COPY = shutil.which("llvm-mc-22"), shutil.which("llvm-objcopy-22")
needs_llvm = pytest.mark.skipif(MC is None or COPY is None, reason="llvm-mc-22 or llvm-objcopy-22 is not installed")


def writer() -> hetdwarf.CfiWriter:
    made = hetdwarf.CfiWriter("gfx1100", 32)
    made.function("f", 64)
    made.cfa_from_register(0, "s32")
    made.stack_pointer_from_cfa(0, "s32")
    made.return_address_in_pair(0, "s30")
    made.saved_in_lane(8, "s33", "v40", 0)
    made.saved_to_scratch(12, "v41", 16)
    made.saved_to_scratch(16, "v42", 20, mask="s4", inactive=True)
    made.saved_in_register(16, "exec", "s6")
    made.remember(20)
    made.clobbered(24, "s7")
    made.restore(28)
    made.restored(32, "v41")
    made.escape(36, b"\x00")
    made.function("k", 16)
    made.kernel_entry(0)
    made.return_address_undefined(0)
    return made


def assembled(text: str, folder: Path) -> Path:
    assert MC is not None
    out = folder / "made.o"
    command: list[Any] = [MC, "-triple=amdgcn-amd-amdhsa", "-mcpu=gfx1100", "-filetype=obj", "-o", out]
    subprocess.run(command, input=text, text=True, check=True)
    return out


@needs_llvm
def test_the_section_is_that_of_the_assembler(tmp_path: Path) -> None:
    made = writer()
    contents, relocations = made.section()
    path = assembled(made.directives(), tmp_path)
    assert COPY is not None
    subprocess.run([COPY, f"--dump-section=.debug_frame={tmp_path / 'frame'}", path, tmp_path / "copy.o"], check=True)
    # The linker sets fields with a relocation.
    expected, found = bytearray((tmp_path / "frame").read_bytes()), bytearray(contents)
    for point in relocations:
        for data in (expected, found):
            data[point.offset : point.offset + point.size] = bytes(point.size)
    # The assembler pads entries to whole words with DW_CFA_nop.
    assert found == expected
    assert [point.symbol for point in relocations] == [None, "f", None, "k"]


def test_what_does_not_fit_is_refused() -> None:
    made = hetdwarf.CfiWriter("gfx90a", 64)
    with pytest.raises(ValueError, match="no function"):
        made.kernel_entry(0)
    made.function("f", 64)
    wrong: list[tuple[type[Exception], Any]] = [
        (ValueError, lambda: made.function("f", 8)),
        (hetdwarf.Malformed, lambda: made.function("", 8)),
        (ValueError, lambda: made.saved_in_register(0, "s4", "x4")),
        (ValueError, lambda: made.saved_in_lane(0, "s4", "v4", 64)),
        (TypeError, lambda: made.saved_to_scratch(0, "v4", 0, mask=("v4",))),  # type: ignore[arg-type]
        (hetdwarf.Error, lambda: made.saved_in_lane(0, "v4", "v5", 1)),
        (ValueError, lambda: hetdwarf.CfiWriter("gfx90a", 48)),
        (hetdwarf.Error, lambda: hetdwarf.CfiWriter("gfx1", 32)),
    ]
    for kind, call in wrong:
        with pytest.raises(kind):
            call()


CHOICE = {
    "masks": [(0x08, 0x1C, "s4")],
    "phases": [{"name": "then", "code": (0x0C, 0x14), "wait": 0x14}, {"name": "else", "code": (0x14, 0x1C), "wait": 0x1C}],
}


@needs_llvm
def test_lane_pcs_are_assembled_and_read(tmp_path: Path) -> None:
    made = hetdwarf.LanePcWriter()
    made.function("choose", "choose", ".Lend", 0x24, 32, [CHOICE])
    made.function("other", "other", ".Lother", 8, 32, [], whole_wave=[(0, 4, ("without", ("v40", 3), 5))])
    code = ".text\n" + "".join(f"{name}:\n.space {size}\n{end}:\n" for name, size, end in [("choose", 0x24, ".Lend"), ("other", 8, ".Lother")])
    path = assembled(code + made.text("choose.c"), tmp_path)
    obj = hetdwarf.open(path)
    assert [function.name for function in obj.functions] == ["choose", "other"]
    assert [finding for finding in obj.verify(rules=["lane-*", "expr-*"]) if finding.severity == "error"] == []
    assert "choose" in made.text("choose.c") and "other" in made.text("choose.c")


def test_lane_pcs_that_do_not_fit_are_refused() -> None:
    made = hetdwarf.LanePcWriter()
    made.function("f", "f", ".Lend", 0x24, 32, [CHOICE])
    nested: dict[str, Any] = {"phases": []}
    for _ in range(200):
        nested = {"phases": [{"code": (0, 4), "regions": [nested]}]}
    wrong: list[tuple[type[Exception], Any]] = [
        (ValueError, ["f", "f", ".L2", 8, 32, []]),
        (ValueError, ["g", "", ".L2", 8, 32, []]),
        (ValueError, ["g", "g", "g", 8, 32, []]),
        (ValueError, ["g", "g", ".L2", 8, 48, []]),
        (TypeError, ["g", "g", ".L2", 8, 32, [1]]),
        (TypeError, ["g", "g", ".L2", 8, 32, [{"masks": [(0, 4, "x4")]}]]),
        (TypeError, ["g", "g", ".L2", 8, 32, [{"masks": 5}]]),
        (TypeError, ["g", "g", ".L2", 8, 32, 5]),
        (TypeError, ["g", "g", ".L2", 8, 32, [{"phases": [{}]}]]),
        (TypeError, ["g", "g", ".L2", 8, 32, [{"phase": [{"code": (0, 4)}]}]]),
        (TypeError, ["g", "g", ".L2", 8, 32, [{"phases": [{"code": (0, 4), "waits": 0}]}]]),
        (ValueError, ["g", "g", ".L2", 8, 32, [{"phases": [{"code": (0, 4), "name": "nonsense"}]}]]),
        (ValueError, ["g", "g", ".L2", 8, 32, [nested]]),
    ]
    for kind, arguments in wrong:
        with pytest.raises(kind):
            made.function(*arguments)


EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "python" / "emit_object.py"
DUMP = shutil.which("llvm-dwarfdump-22")


def example() -> Any:
    spec = importlib.util.spec_from_file_location("emit_object", EXAMPLE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_example_writes_an_object_without_findings(tmp_path: Path) -> None:
    out = tmp_path / "choose.o"
    ran = subprocess.run([sys.executable, EXAMPLE, out], capture_output=True, text=True, check=True)
    assert ran.stdout.endswith("1 unit, 0 findings\n")
    if DUMP is not None:
        dumped = subprocess.run([DUMP, "--verify", out], capture_output=True, text=True)
        assert "No errors." in dumped.stdout, dumped.stdout
        # The relocations of both sections refer to the function, which fills `.text`.
        text = subprocess.run([DUMP, "--debug-info", "--debug-frame", out], capture_output=True, text=True, check=True).stdout
        assert "DW_AT_high_pc\t(0x0000000000000024)" in text and "pc=00000000...00000024" in text


def test_lanes_of_a_graph_wait_where_the_code_says() -> None:
    made = example()
    data = made.relocatable("choose", made.CODE, 0x36, {".debug_frame": made.call_frames()} | made.lanes())
    obj = hetdwarf.open(data)
    for pc, exec_, waiting in ((0x0C, 0x0F, {4: 0x08}), (0x14, 0xF0, {0: 0x1C})):
        # Lanes 0 to 3 take `then`, 4 to 7 take `else`, and no other was active on entry.
        wave = {"format": "hetdwarf-wave/1", "target": "gfx1030", "wave_size": 32, "pc": hex(pc), "memory": []}
        stop = obj.stop({**wave, "registers": {"exec": hex(exec_), "s4": "0xff", "s32": "0x0", "s30": "0x0", "s31": "0x0"}})
        found = {lane.lane: lane for lane in stop[0].lane_pcs(recover=False)}
        for lane, place in found.items():
            if exec_ >> lane & 1:
                assert (place.state, place.pc) == ("active", pc)
            elif lane < 8:
                assert (place.state, place.origin, place.pc) == ("waiting", "dwarf", waiting[lane & 4])
            else:
                assert place.state == "elsewhere"


def test_sections_and_text_say_the_same(tmp_path: Path) -> None:
    made = hetdwarf.LanePcWriter()
    assert made.sections("empty.c").keys() == {".debug_info", ".debug_abbrev"}
    assert made.graph("f", "f", ".Lf", 64, [{"code": (0, 4)}]) == []
    made.function("g", "g", ".Lg", 0x24, 32, [CHOICE])
    sections = made.sections("unit.c")
    names = {point.symbol for _, relocations in sections.values() for point in relocations}
    assert names == {"f", "g", ".debug_abbrev", ".debug_loclists"}
    contents, relocations = sections[".debug_info"]
    for point in relocations:
        # The field also contains the addend.
        assert int.from_bytes(contents[point.offset : point.offset + point.size], "little") == point.addend
        assert point.size == (8 if point.symbol in ("f", "g") else 4)
    assert b"unit.c\0" in contents and b"f\0" in contents and b"g\0" in contents


def test_graphs_that_are_not_structured_have_reasons() -> None:
    made = hetdwarf.LanePcWriter()
    narrowed = [{"name": "entry", "code": (0, 8), "events": [(0, 4, "and")], "successors": []}]
    (reason,) = made.graph("f", "f", ".Lend", 32, narrowed)
    assert "EXEC is narrowed" in reason and "entry" in reason


def test_graphs_that_do_not_fit_are_refused() -> None:
    made = hetdwarf.LanePcWriter()
    wrong: list[tuple[type[Exception], Any]] = [
        (hetdwarf.Malformed, []),
        (TypeError, 5),
        (TypeError, [5]),
        (TypeError, [{}]),
        (ValueError, [{"code": (0, 4), "successors": [1]}]),
        (OverflowError, [{"code": (0, 4), "successors": [-1]}]),
        (TypeError, [{"code": (0, 4), "events": [5]}]),
        (TypeError, [{"code": (0, 4), "event": []}]),
        (TypeError, [{"code": (0, 4), "events": [(0, 4)]}]),
        (TypeError, [{"code": (0, 4), "events": [(0, 4, "save")]}]),
        (TypeError, [{"code": (0, 4), "events": [(0, 4, "and", "s4")]}]),
        (TypeError, [{"code": (0, 4), "events": [(0, 4, "save", "x4")]}]),
        (ValueError, [{"code": (0, 4), "events": [(0, 4, "nonsense", "s4")]}]),
        (hetdwarf.Malformed, [{"code": (0, 4)}, {"code": (0, 4)}]),
    ]
    for kind, blocks in wrong:
        with pytest.raises(kind):
            made.graph("f", "f", ".Lend", 32, blocks)
    with pytest.raises(ValueError):
        made.graph("f", "f", "f", 32, [{"code": (0, 4)}])
    with pytest.raises(ValueError):
        made.graph("f", "f", ".Lend", 48, [{"code": (0, 4)}])
    assert made.sections("empty.c").keys() == {".debug_info", ".debug_abbrev"}
