"""firmware/node/configuration.py under CPython: pins and hash belong together, whatever fails."""

import hashlib
import json
import struct
import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from agent.link import frame as codec
from tests.firmware.node_on_cpython import node_module

LAMP = {"name": "lamp", "kind": "output", "pin": "PB0"}
PUMP = {"name": "pump", "kind": "output", "pin": "PB1"}
BOARD = SimpleNamespace(PINS=())
NONE = bytes(8)


def packed(*entries: Any) -> bytes:
    return json.dumps({"v": 1, "pins": entries}, sort_keys=True, separators=(",", ":")).encode()


def hash_of(text: bytes) -> bytes:
    return hashlib.sha256(text).digest()[:8]


OLD, NEW = packed(LAMP), packed(LAMP, PUMP)


class Store:
    """Keeps a text; `fault` is raised when another one is to be kept."""

    def __init__(self) -> None:
        self.text = OLD
        self.fault: Exception | None = None

    def load(self) -> bytes:
        return self.text

    def save(self, text: bytes) -> None:
        if self.fault is not None:
            raise self.fault
        self.text = bytes(text)


class Pins:
    """Knows the names that are there; each of `faults` ends one try, which leaves none."""

    def __init__(self) -> None:
        self.names = ["lamp"]
        self.faults: list[Exception] = []

    def apply(self, entries: Any) -> None:
        self.names = []
        if self.faults:
            raise self.faults.pop(0)
        self.names = [entry["name"] for entry in entries]


class Bench:
    """A board with the old configuration in force."""

    def __init__(self, module: Any) -> None:
        self.module = module
        self.store, self.pins = Store(), Pins()
        self.configuration = module.Configuration(BOARD, self.store)
        ignored = SimpleNamespace(begin_session=lambda _: None, announce_busy=lambda _: None)
        self.configuration.attach(self.pins, ignored, ignored)
        assert len(self.configuration.stored_entries()) == 1

    def commit(self, text: bytes) -> int:
        """Return the code of the answer, as firmware/node/calls.py makes it."""
        methods = self.configuration.handlers()
        head = struct.pack(codec.CONFIG_BEGIN_FORMAT, len(text), hash_of(text))
        methods[codec.METHOD_CONFIG_BEGIN](head, None)
        methods[codec.METHOD_CONFIG_WRITE](struct.pack("<I", 0) + text, None)
        try:
            methods[codec.METHOD_CONFIG_COMMIT](hash_of(text), None)
        except self.module.Refusal as refusal:
            return int(refusal.code)
        except (self.module.Unfit, MemoryError):
            return codec.IO
        return codec.OK


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    with node_module("configuration") as module:
        # What judges is dropped afterwards, and loaded again: here it stays
        monkeypatch.setitem(vars(sys.modules["kinds"]), "USABLE", {"gpio": " PB0 PB1 "})
        monkeypatch.setattr(module, "_unload", lambda: None)
        module.gc = SimpleNamespace(threshold=lambda _: None, collect=lambda: None)
        yield Bench(module)


@pytest.mark.parametrize("fault", [OSError(28), MemoryError()])
def test_what_the_flash_does_not_take_is_not_in_force(bench: Bench, fault: Exception) -> None:
    bench.store.fault = fault
    assert bench.commit(NEW) == codec.IO
    assert (bench.configuration.hash, bench.pins.names) == (hash_of(OLD), ["lamp"])


def test_without_memory_for_the_old_one_either_none_is_in_force(bench: Bench) -> None:
    unfit = bench.module.Unfit("too little memory")
    for faults in ([unfit, unfit], [unfit, MemoryError()]):
        bench.pins.faults = faults
        assert bench.commit(NEW) != codec.OK
        # Or the Pi would call pins that are not there
        assert (bench.configuration.hash, bench.pins.names) == (NONE, [])
        # And would not give the board its pins back
        assert bench.commit(OLD) == codec.OK
        assert (bench.configuration.hash, bench.pins.names) == (hash_of(OLD), ["lamp"])
