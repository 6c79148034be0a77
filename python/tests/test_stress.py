"""Tests stress and misuse: threads, fork, signals, callbacks that fail or query the stop, mutated objects. `HETDWARF_STRESS` is the duration of each
test in seconds; .ci/full uses a minute."""

from __future__ import annotations

import gc
import multiprocessing
import os
import random
import signal
import threading
import time
from pathlib import Path
from typing import Any, Callable

import hetdwarf
import pytest

from conftest import FIXTURES, JsonWave

SECONDS = float(os.environ.get("HETDWARF_STRESS", "1"))
SEED = int(os.environ.get("HETDWARF_SEED", "35"))
STRUCTS = FIXTURES / "waves" / "structs"


def everything(obj: hetdwarf.Object, wave: Any) -> int:
    """Runs every query on an object and a stop. A rejected query raises an exception of the package."""
    asked = 0
    questions: list[Callable[[], Any]] = [
        lambda: [repr(one) for one in obj.functions],
        lambda: [(one.type.name, one.locations) for one in obj.globals],
        lambda: [repr(row) for row in obj.line_rows()],
        lambda: obj.addresses_of("structs.cl", 28),
        lambda: [part.type.size for ty in obj.types("Rec") for part in ty.members],
        lambda: [repr(one) for one in obj.verify(jobs=2)],
        lambda: list(map(frame_of, obj.stop(wave))),
    ]
    for question in questions:
        try:
            question()
        except (hetdwarf.Error, UnicodeError):
            pass
        asked += 1
    return asked


def frame_of(frame: hetdwarf.Frame) -> None:
    for variable in frame.variables:
        for lane in (0, 5, 31):
            variable.state(lane), variable.message(lane)
            if variable.state(lane) in ("ok", "partial"):
                variable.children(lane, depth=3), variable.text(lane), variable.place(lane)
        variable.array(), variable.locations
    frame.eval("1 + 1").value(5)


def until(seconds: float) -> Callable[[], bool]:
    end = time.monotonic() + seconds
    return lambda: time.monotonic() < end


def test_mutated_objects_are_refused_or_read() -> None:
    data = (STRUCTS / "structs.rocm.hsaco").read_bytes()
    rng, goes_on, count = random.Random(SEED), until(SECONDS), 0
    while goes_on() or count < 5:
        changed = bytearray(data)
        for _ in range(rng.choice([1, 4, 64])):
            at = rng.randrange(len(changed))
            changed[at] = rng.choice([0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)])
        if rng.random() < 0.2:
            del changed[rng.randrange(64, len(changed)) :]
        try:
            everything(hetdwarf.open(bytes(changed)), str(STRUCTS / "w03.json"))
        except hetdwarf.Error:
            pass
        count += 1


def test_threads_share_objects_and_stops() -> None:
    obj = hetdwarf.open(STRUCTS / "structs.rocm.hsaco")
    stop = obj.stop(JsonWave(STRUCTS / "w03.json"))
    expected = [variable.text(5) for variable in stop[0].variables]
    failed: list[BaseException] = []
    goes_on = until(SECONDS)

    def ask() -> None:
        try:
            while goes_on():
                everything(obj, str(STRUCTS / "w03.json"))
                assert [variable.text(5) for variable in stop[0].variables] == expected
                assert stop[0].eval("id")[5] == 5
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []


def _child(obj: hetdwarf.Object, queue: Any) -> None:
    queue.put((len(obj.functions), obj.verify(rules=["cfi-*"])))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_objects_live_on_in_a_fork() -> None:
    obj = hetdwarf.open(STRUCTS / "structs.rocm.hsaco")
    found = obj.verify(rules=["cfi-*"])
    context = multiprocessing.get_context("fork")
    for _ in range(max(2, int(SECONDS))):
        queue = context.Queue()
        child = context.Process(target=_child, args=(obj, queue))
        child.start()
        functions, findings = queue.get(timeout=60)
        child.join(60)
        assert child.exitcode == 0 and functions == len(obj.functions) and findings == found


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no timers")
def test_signals_interrupt_callbacks_and_nothing_else() -> None:
    class Interrupted(Exception):
        pass

    def raise_it(*_: Any) -> None:
        raise Interrupted

    obj = hetdwarf.open(STRUCTS / "structs.rocm.hsaco")
    old = signal.signal(signal.SIGALRM, raise_it)
    interrupted, goes_on, count = 0, until(SECONDS), 0
    try:
        while goes_on() or count < 20:
            count += 1
            signal.setitimer(signal.ITIMER_REAL, 0.0005 * (1 + count % 20))
            try:
                for frame in obj.stop(JsonWave(STRUCTS / "w03.json")):
                    frame.variables
            except Interrupted:
                interrupted += 1
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
    except Interrupted:
        pass
    finally:
        signal.signal(signal.SIGALRM, old)
    assert [variable.name for variable in obj.stop(JsonWave(STRUCTS / "w03.json"))[0].variables] == ["r", "id", "g"]


class Misused(JsonWave):
    """A wave with misbehaving callbacks."""

    def __init__(self, path: Path, seed: int) -> None:
        super().__init__(path)
        self.rng = random.Random(seed)
        self.stop: Any = None

    def wrong(self, right: Any, size: int) -> Any:
        choice = self.rng.randrange(40)
        if choice == 0:
            raise KeyError("a callback that fails")
        if choice == 1 and self.stop is not None:
            self.stop[0].variables
        if choice == 2:
            return b"x" * (size + 1)
        if choice == 3:
            return None
        if choice == 4:
            gc.collect()
        if choice == 5:
            return "text"
        return right

    def read_register(self, dwarf: int, offset: int, size: int) -> Any:
        return self.wrong(super().read_register(dwarf, offset, size), size)

    def read_memory(self, space: str, address: int, size: int) -> Any:
        return self.wrong(super().read_memory(space, address, size), size)


def test_callbacks_that_do_what_they_should_not() -> None:
    obj = hetdwarf.open(STRUCTS / "structs.rocm.hsaco")
    goes_on, count = until(SECONDS), 0
    while goes_on() or count < 10:
        wave: Any = Misused(STRUCTS / "w03.json", SEED + count)
        count += 1
        try:
            wave.stop = obj.stop(wave)
            for frame in wave.stop:
                frame_of(frame)
        except (hetdwarf.Error, KeyError, TypeError, ValueError, RecursionError):
            pass
    right = obj.stop(JsonWave(STRUCTS / "w03.json"))[0]
    assert right["id"][5] == 5
