"""Slots and updates of the firmware under CPython, on any flash, with a power switch."""

import contextlib
import hashlib
import json
import struct
import zlib
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

from agent.link import frame
from firmware.host.bundle import FIRMWARE, BundledFile
from firmware.host.image import joined
from tests.fakes.flash import NativeFlash
from tests.firmware.node_on_cpython import node_module

BOARD = "garden"
STATE, BEGIN, WRITE, FINISH, CONFIRM, REVERT = range(6)
AT = 3


class Reset(BaseException):
    """The board has reset itself."""


class Refusal(Exception):
    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code
        self.text = text


def need(arguments: bytes, count: int) -> None:
    if len(arguments) < count:
        raise Refusal(frame.BAD_REQUEST, "arguments missing")


def image(version: int, length: int = 3_000, board: str = BOARD) -> bytes:
    """An image whose content cannot be compressed away."""
    filler = b"".join(hashlib.sha256(bytes([version, n])).digest() for n in range(length // 32))
    about = json.dumps({"board": board, "build": version}).encode()
    return joined([BundledFile("about.json", about), BundledFile("filler", filler)])


class Board:
    """A board with two slots, running the update code of the firmware itself."""

    def __init__(self, store: NativeFlash, slots: Any, update: Any, outputs: Any) -> None:
        self.store = store
        self.slots = slots
        self.outputs = outputs
        self.busy_ms: list[int] = []
        self._update_module = update
        self._update: Any = None
        self.now_ms = 0

    def install(self, content: bytes) -> None:
        """As scripts/flash does: slot a, confirmed."""
        self.store.erase(0, 0)
        head = struct.pack(self.slots.HEADER, hashlib.sha256(content).digest(), len(content), 1)
        self.store.write(0, 0, head)
        self.store.write(0, self.slots.IMAGE_AT, content)
        for at in (self.slots.READY, self.slots.CONFIRMED):
            self.slots.mark(self.store, 0, at)

    def replace_flash(self, store: NativeFlash) -> None:
        """Another chip, with the first version installed."""
        self.store = store
        self.install(image(1))
        self.power_on()

    def power_on(self) -> int | None:
        """Boot; the slot that is started."""
        self.store.power_on()
        return self.boot()

    def boot(self) -> int | None:
        self.slots.running, self.slots.trial = self.slots.choose(self.store)
        system = SimpleNamespace(announce_busy=self.busy_ms.append)
        board = SimpleNamespace(NAME=BOARD, CLASS=self.store.CLASS)
        self.now_ms = 0
        self._update = self._update_module.Update(board, self.outputs, system, self.store)
        running: int | None = self.slots.running
        return running

    def build(self) -> int:
        """The build of the image that runs."""
        index = self.slots.Image(self.store, self.slots.running)
        return int(json.loads(index.open("about.json", "rb").read())["build"])

    def run(self, action: int, arguments: bytes = b"") -> bytes:
        answer = bytearray(64)
        length = self._update.handlers()[frame.METHOD_UPDATE](bytes([action]) + arguments, answer)
        return bytes(answer[AT : AT + length])

    def tick(self, passed_ms: int = 10) -> None:
        self.now_ms += passed_ms
        self._update.tick(self.now_ms)

    def greet(self) -> None:
        self._update.begin_session(is_open=True)

    def begin(self, content: bytes) -> int:
        """The offset to send from, after all erasing."""
        arguments = struct.pack("<I", len(content)) + hashlib.sha256(content).digest()
        while True:
            try:
                (offset,) = struct.unpack("<I", self.run(BEGIN, arguments))
                return int(offset)
            except Refusal as refusal:
                if refusal.code != frame.BUSY_CODE:
                    raise
            self.tick()

    def send(self, content: bytes, until: int | None = None) -> int:
        """Send from where the board wants it; the offset it wants next."""
        offset = self.begin(content)
        while offset < (len(content) if until is None else until):
            piece = content[offset : offset + 200]
            (offset,) = struct.unpack("<I", self.run(WRITE, struct.pack("<I", offset) + piece))
        return offset

    def finish(self) -> None:
        """Verify, and reset into the trial."""
        self.run(FINISH)
        with contextlib.suppress(Reset):
            self.tick(1_000)
            raise AssertionError("no reset")
        self.boot()

    def update(self, content: bytes) -> None:
        """The whole of it."""
        self.send(content)
        self.finish()
        self.greet()
        self.run(CONFIRM)


@contextlib.contextmanager
def board_with(store: NativeFlash, installed: int = 1) -> Iterator[Board]:
    """A board on that flash with an image of that version installed."""
    slots: Any = _module("slots")
    exec(compile((FIRMWARE / "slots.py").read_text(), "slots.py", "exec"), vars(slots))
    stand_ins = {
        "slots": slots,
        "deflate": _module("deflate", ZLIB=1, DeflateIO=_unpacked),
        "machine": _module("machine", reset=_reset),
        "node.calls": _module("node.calls", AT=AT, Refusal=Refusal, need=need),
    }
    with node_module("update", **stand_ins) as update:
        # Collecting for real would take longer than everything else together
        memory = SimpleNamespace(collect=lambda: None, mem_free=lambda: 50_000)
        slots.gc = update.gc = memory
        board = Board(store, slots, update, SimpleNamespace(held=0))
        board.install(image(installed))
        board.power_on()
        yield board


def _module(name: str, **content: Any) -> ModuleType:
    module = ModuleType(name)
    vars(module).update(content)
    return module


def _unpacked(stream: Any, _format: int) -> Any:
    return SimpleNamespace(read=lambda: zlib.decompress(stream.read()))


def _reset() -> None:
    raise Reset
