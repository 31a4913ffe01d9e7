"""A played board that writes its flash, and whose power is cut meanwhile."""

import contextlib
import hashlib
import json
import struct
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from agent.link import frame as codec
from firmware.host import image
from firmware.host.bundle import board_file
from firmware.host.parts import PARTS
from firmware.host.power_cuts import NotTried
from firmware.host.wire import Refused, Silence, Wire
from tests.fakes.board_sim import BoardSim
from tests.firmware.bench import configure, send_update
from tests.firmware.methods import GPIO_WRITE

# Whole restarts of a board on a busy machine
_LIMIT_S = 120.0
_TRIES = 20
_ON, _OFF = b"\x01", b"\x00"


class AfterCut(Struct, frozen=True):
    """State of a board after its power was cut.

    Args:
        is_configured: it has the configuration before or the one after.
        is_stopped: nothing can be switched because of an emergency stop.
        was_on: an output was on while its flash was erased, or after the cut.
        resets: times that its watchdog has reset it.
    """

    is_configured: bool
    is_stopped: bool
    was_on: bool
    resets: int


def was_on(events: Sequence[Mapping[str, Any]], light: str) -> bool:
    """Return true if a pin but the light was high in an erase, or at any time after a start."""
    high: set[str] = set()
    is_started = False
    for event in events:
        if event["event"] == "boot":
            # Nothing drives a pin of a board without power
            high, is_started = set(), True
        elif event["event"] == "pin" and event["pin"] != light:
            (high.add if event["level"] else high.discard)(event["pin"])
        if high and (is_started or event["event"] == "erase"):
            return True
    return False


class PlayedBoard:
    """The firmware as it is installed, with an output that is wired to one of two pins."""

    def __init__(self, played: BoardSim, name: str) -> None:
        self._played = played
        self._name = name
        uses = board_file(name).USABLE.items()
        pins = [pin for pin, usable in uses if "gpio" in usable.split()]
        # The first of the configured ones
        self._index = bytes([len(board_file(name).PINS)])
        self._entries = [
            [{"name": "pump", "kind": "output", "safe": 0, "pin": pin}] for pin in pins[:2]
        ]
        self._hashes = [_hash(entries) for entries in self._entries]
        self._updates = 0
        self._acts: Mapping[str, Callable[[Wire], None]] = {
            "commit": self._commit,
            "stop": lambda wire: wire.send(codec.ESTOP),
            "update": self._update,
        }

    def configure(self) -> None:
        """Wire its output for the first time."""
        with self._greeted() as wire:
            self._act("commit", wire)

    def write(self, action: str) -> int:
        """Commit, stop or update; return the operations of the flash that it took."""
        with self._greeted() as wire:
            # A cut before this may have left a stop, and a second one writes nothing
            self._settle(wire)
        before = self._operations()
        for _ in range(_TRIES):
            with self._greeted() as wire:
                self._act(action, wire)
            with self._greeted() as wire:
                # The first greeting may be heard in the pass in which a stop is
                wire.greet()
            if taken := self._operations() - before:
                return taken
        raise NotTried(f"{action} on {self._name} has written nothing")

    def cut(self, action: str, at: int) -> AfterCut:
        """Write, and cut the power in that operation."""
        with self._greeted() as wire:
            self._settle(wire)
            if action != "update":
                wire.call(GPIO_WRITE, self._index + _ON)
            hashes = self._hashes if action == "commit" else [wire.configuration_hash]
            seen = len(self._played.record())
            self._played.order({"cut_power_after": at})
            self._act(action, wire)
        self._await_start(action, seen)
        with self._greeted() as wire:
            is_stopped = self._reason(wire) == codec.REASON_ESTOP
            events = self._played.record()[seen:]
            return AfterCut(
                is_configured=wire.configuration_hash in hashes,
                is_stopped=is_stopped,
                was_on=was_on(events, PARTS[self._name].light),
                resets=[event["event"] for event in events].count("watchdog"),
            )

    def _act(self, action: str, wire: Wire) -> None:
        # One whose power is cut does not answer, and a busy one answers late: what counts is looked
        # at after it
        with contextlib.suppress(Silence):
            self._acts[action](wire)

    def _commit(self, wire: Wire) -> None:
        other = self._hashes[0] == wire.configuration_hash
        configure(wire, self._entries[other])

    def _update(self, wire: Wire) -> None:
        # Another one each time: of the same one only the rest would be sent
        self._updates += 1
        send_update(wire, image.image(self._name) + struct.pack("<I", self._updates))

    def _reason(self, wire: Wire) -> int:
        """Return why nothing can be switched."""
        try:
            wire.call(GPIO_WRITE, self._index + _OFF)
        except Refused as refused:
            is_stop = "emergency stop" in refused.text
            return codec.REASON_ESTOP if is_stop else codec.REASON_WATCHDOG
        return codec.REASON_NONE

    def _settle(self, wire: Wire) -> None:
        """Leave nothing stopped; a busy machine answers late, and is asked again."""
        for _ in range(_TRIES):
            with contextlib.suppress(Silence, Refused):
                if (reason := self._reason(wire)) == codec.REASON_NONE:
                    return
                wire.call(codec.METHOD_CLEAR, bytes([reason]))
            wire.greet()
        raise NotTried(f"{self._name} stays stopped")

    def _operations(self) -> int:
        return int(self._played.order({"get": True})["flash_operations"])

    def _await_start(self, action: str, seen: int) -> None:
        """Return when it has started again; what a busy machine lost on the way is sent again."""
        until_s = time.monotonic() + _LIMIT_S
        while not any(event["event"] == "boot" for event in self._played.record()[seen:]):
            if time.monotonic() > until_s:
                raise NotTried(f"{self._name} was not cut")
            with self._greeted() as wire:
                self._act(action, wire)

    @contextlib.contextmanager
    def _greeted(self) -> Iterator[Wire]:
        until_s = time.monotonic() + _LIMIT_S
        with Wire(str(self._played.port)) as wire:
            while True:
                try:
                    wire.greet()
                    break
                except Silence as err:
                    if time.monotonic() > until_s:
                        raise NotTried(f"{self._name} does not greet any more") from err
            yield wire


def _hash(entries: object) -> bytes:
    text = json.dumps({"v": 1, "pins": entries}, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).digest()[:8]
