"""Tests how the package behaves in a Python process: exceptions, threads, memory, and other processes."""

from __future__ import annotations

import errno
import gc
import os
import re
import subprocess
import sys
import threading
import time
import weakref
from pathlib import Path
from typing import Any, Callable

import hetdwarf
import pytest

from conftest import FIXTURES, JsonWave
from made import base, make, member, record

COMMAND = Path(sys.executable).parent / "hetdwarf"


class Counting(JsonWave):
    """A wave that records the requested registers and spaces."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.spaces: set[str] = set()

    def read_memory(self, space: str, address: int, size: int) -> bytes | None:
        self.spaces.add(space)
        return super().read_memory(space, address, size)


def test_a_stop_is_unwound_once(structs: Path) -> None:
    obj = hetdwarf.open(structs / "structs.rocm.hsaco")
    wave = JsonWave(structs / "w03.json")
    stop = obj.stop(wave)
    assert len(stop.frames) == 3
    for frame in stop.frames:
        assert frame.eval("1").value(5) == 1
    asked = wave.asked
    for frame in stop.frames:
        assert frame.eval("1 + 1").value(5) == 2
    assert wave.asked == asked, "all that this takes is known"


def test_a_failed_wave_is_asked_again(structs: Path) -> None:
    class Sometimes(JsonWave):
        fails = False

        def read_memory(self, space: str, address: int, size: int) -> bytes | None:
            if self.fails:
                raise ZeroDivisionError
            return super().read_memory(space, address, size)

    wave = Sometimes(structs / "w00.json")
    obj = hetdwarf.open(structs / "structs.rocm.hsaco")
    frame = obj.stop(wave).frames[0]
    wave.fails = True
    with pytest.raises(ZeroDivisionError):
        frame.variables
    wave.fails = False
    expected = obj.stop(structs / "w00.json").frames[0]
    assert repr([variable.values() for variable in frame.variables]) == repr([variable.values() for variable in expected.variables])


def test_a_wave_may_ask_its_own_stop(structs: Path) -> None:
    class Curious(JsonWave):
        stop: Any = None
        found: Any = None

        def read_memory(self, space: str, address: int, size: int) -> bytes | None:
            if self.stop is not None and self.found is None:
                self.found = 0
                self.found = self.stop.frames[0].eval("1 + 1").value(0)
            return super().read_memory(space, address, size)

    wave = Curious(structs / "w00.json")
    stop = hetdwarf.open(structs / "structs.rocm.hsaco").stop(wave)
    wave.stop = stop
    assert stop.frames[0].variables and wave.found == 2


def test_a_wave_that_keeps_its_stop_is_freed(structs: Path) -> None:
    obj = hetdwarf.open(structs / "structs.rocm.hsaco")
    wave: Any = JsonWave(structs / "w00.json")
    wave.stop = obj.stop(wave)
    wave.frame = wave.stop.frames[0]
    wave.variables = wave.frame.variables
    gone = weakref.ref(wave)
    gc.collect()
    assert gone() is wave
    del wave
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("given", [b"", b"\1\2\3", 3.5, "text", [1, 2]], ids=repr)
def test_a_wave_without_a_pc_or_with_short_registers_is_an_exception(structs: Path, given: Any) -> None:
    class Wave:
        wave_size = 32

        def read_register(self, dwarf: int, offset: int, size: int) -> Any:
            return given

        def read_memory(self, space: str, address: int, size: int) -> Any:
            return given

    with pytest.raises((hetdwarf.Error, TypeError)):
        hetdwarf.open(structs / "structs.rocm.hsaco").stop(Wave())


def test_a_wave_that_does_not_know_its_pc_is_unavailable(structs: Path) -> None:
    class Wave:
        wave_size = 32

        def read_register(self, dwarf: int, offset: int, size: int) -> None:
            return None

        def read_memory(self, space: str, address: int, size: int) -> None:
            return None

    with pytest.raises(hetdwarf.Unavailable, match="pc"):
        hetdwarf.open(structs / "structs.rocm.hsaco").stop(Wave())


def test_files_that_cannot_be_read_are_errors_of_the_system(tmp_path: Path) -> None:
    missing = tmp_path / "none.hsaco"
    for ask in [hetdwarf.open, hetdwarf.open_all, hetdwarf.open_core]:
        with pytest.raises(FileNotFoundError) as raised:
            ask(missing)  # type: ignore[operator]
        assert raised.value.errno == errno.ENOENT and raised.value.filename == str(missing)
        assert raised.value.strerror == os.strerror(errno.ENOENT)
        with pytest.raises(IsADirectoryError):
            ask(tmp_path)  # type: ignore[operator]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no FIFOs here")
def test_other_threads_run_while_a_file_is_read(structs: Path, tmp_path: Path) -> None:
    data, fifo = (structs / "structs.rocm.hsaco").read_bytes(), tmp_path / "fifo"
    os.mkfifo(fifo)
    program = f"""
import hetdwarf, threading
def feed():
    with open({str(fifo)!r}, "wb") as file:
        file.write(open({str(structs / "structs.rocm.hsaco")!r}, "rb").read())
threading.Thread(target=feed, daemon=True).start()
print(len(hetdwarf.open({str(fifo)!r}).data))
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert ran.stdout.strip() == str(len(data)), ran.stderr


def test_exceptions_cannot_give_orders_to_a_terminal() -> None:
    hostile = "x\x1b[2J\x07"
    made = make([(record(hostile, 4, member("\x1b[31m", base("int\x1b[2J", "signed", 4), 0)), [b"\xee" * 4])], sparse=True)
    frame = hetdwarf.open(made.data).stop(made.wave).frames[0]
    questions: list[Callable[[], Any]] = [
        lambda: frame.variables[0].value(0),
        lambda: frame.eval(hostile),
        lambda: frame.eval("v0 + " + hostile),
    ]
    for ask in questions:
        with pytest.raises(hetdwarf.Error) as raised:
            ask()
        assert "\x1b" not in str(raised.value) and "\x07" not in str(raised.value)


def test_the_spaces_of_memory_are_those_of_the_readme() -> None:
    readme = (Path(__file__).parents[1] / "README.md").read_text()
    (line,) = [line for line in readme.splitlines() if "def read_memory" in line]
    named = re.findall(r'"(\w+)"', line)
    assert named == ["none", "region", "local", "private_wave"]
    # The names are those of snapshots. Other names are rejected.
    wave = {"format": "hetdwarf-wave/1", "target": "gfx900", "wave_size": 64, "pc": 0, "registers": {}}
    for name in named:
        hetdwarf.evaluate("DW_OP_lit0", wave={**wave, "memory": [{"space": name, "address": 0, "bytes": "00"}]})
    asked = set()
    for folder in ("structs", "manyargs"):
        for path in sorted((FIXTURES / "waves" / folder).glob("w*.json"))[:2]:
            counting = Counting(path)
            for frame in hetdwarf.open(FIXTURES / "waves" / folder / f"{folder}.rocm.hsaco").stop(counting).frames:
                assert frame.variables is not None
            asked |= counting.spaces
    assert asked and asked <= set(named)
    # Every memory, by the number of its address space (USAGE "Address Space Identifier").
    for number, name in zip((0, 2, 3, 6), named):
        counting = Counting(FIXTURES / "waves" / "structs" / "w00.json")
        hetdwarf.evaluate(f"DW_OP_lit16, DW_OP_lit{number}, DW_OP_LLVM_form_aspace_address", counting, read=32)
        assert counting.spaces == {name}


def ran(*arguments: Any, **more: Any) -> Any:
    return subprocess.run([COMMAND, *arguments], capture_output=True, **more)


def test_the_command_writes_no_colours_into_pipes(structs: Path) -> None:
    obj = structs / "structs.rocm.hsaco"
    questions: list[list[Any]] = [["--help"], ["verify", obj], ["vars", obj, "--wave", structs / "w00.json"], ["nonsense"]]
    for asked in questions:
        for environment in [{}, {"NO_COLOR": "1"}]:
            done = ran(*asked, env={**os.environ, **environment})
            assert b"\x1b" not in done.stdout + done.stderr, asked
    shown = ran("--help", env={**os.environ, "CLICOLOR_FORCE": "1"})
    assert b"\x1b" in shown.stdout


def test_the_command_writes_no_colours_into_files(structs: Path, tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "CLICOLOR_FORCE")}
    questions: list[list[Any]] = [["--help"], ["verify", structs / "structs.rocm.hsaco"], ["nonsense"]]
    for asked in questions:
        with open(tmp_path / "out", "wb") as out, open(tmp_path / "err", "wb") as err:
            subprocess.run([COMMAND, *asked], stdout=out, stderr=err, env={**environment, "TERM": "xterm-256color"})
        written = (tmp_path / "out").read_bytes() + (tmp_path / "err").read_bytes()
        assert written and b"\x1b" not in written, asked


def on_a_terminal(*arguments: Any, **environment: str) -> bytes:
    """Returns what the command writes to a terminal."""
    ours, theirs = os.openpty()
    names = ("NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "CI")
    kept = {name: value for name, value in os.environ.items() if name not in names}
    settings = {**kept, "TERM": "xterm-256color", **environment}
    process = subprocess.Popen([COMMAND, *arguments], stdin=theirs, stdout=theirs, stderr=theirs, env=settings)
    os.close(theirs)
    written = b""
    while True:
        try:
            read = os.read(ours, 65536)
        except OSError:  # Linux, once no process has the terminal open
            read = b""
        if not read:
            break
        written += read
    os.close(ours)
    process.wait(timeout=60)
    return written


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="there are no pseudo-terminals here")
def test_colours_on_a_terminal_can_be_switched_off(structs: Path) -> None:
    questions: list[list[Any]] = [["--help"], ["verify", structs / "structs.rocm.hsaco"], ["nonsense"]]
    for asked in questions:
        assert b"\x1b[" in on_a_terminal(*asked), asked
        plain = on_a_terminal(*asked, NO_COLOR="1")
        assert plain and b"\x1b" not in plain, asked


def test_the_command_is_the_native_one() -> None:
    """The programs of all packages call one function, and nothing else of the command."""
    root = Path(__file__).parents[2]
    for path in ("cli/src/main.rs", "python/src/lib.rs"):
        assert re.findall(r"hetdwarf_cli::(\w+)", (root / path).read_text()) == ["run_process"], path


def test_arguments_of_the_command_are_bytes(tmp_path: Path) -> None:
    name = os.fsencode(tmp_path) + b"/\xff\xfe.hsaco"
    done = ran(b"info", name)
    assert done.returncode == 2 and b"Traceback" not in done.stderr
    Path(os.fsdecode(name)).write_bytes(make([]).data)
    assert ran(b"info", name).returncode == 0


def test_a_closed_pipe_ends_the_command(structs: Path) -> None:
    command: list[Any] = [COMMAND, "dump", structs / "structs.rocm.hsaco"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    assert process.wait(timeout=60) in (0, 1, 2) and b"Traceback" not in process.stderr.read()


def test_one_stop_answers_threads_in_turn(structs: Path) -> None:
    stop = hetdwarf.open(structs / "structs.rocm.hsaco").stop(JsonWave(structs / "w00.json"))
    found: list[Any] = []
    threads = [threading.Thread(target=lambda: found.append(stop.frames[1].eval("recs[0].x").values())) for _ in range(8)]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + 60
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    assert len(found) == 8 and all(values == found[0] for values in found)
