"""Random and mutated frames against the real firmware, and the record as the judge.

In every session a lamp is switched on first: a fault of the firmware would make it safe. Whatever
else changes must be a pin and a value that a sound request of that session asked for.
"""

import json
import random
import struct
import time
from collections.abc import Callable, Iterator
from typing import Any

from agent.link import frame as codec
from firmware.host.wire import Silence, Wire
from scripts.lib.fuzz.findings import Findings
from scripts.lib.fuzz.frames import GPIO_WRITE, SPOILED, Forge
from scripts.lib.fuzz.tail import Tail
from tests.fakes.board_sim import BoardSim

LAMP, TARGETS = "led", ("pump", "relay")
# The one that rules may move, whenever they like
RULED = "d2"
_SESSION_FRAMES = 250
# Of ten sessions one is also stopped and greeted anew in its middle
_STOPPED_SHARE = 0.1
_WRITE_SHARE = 0.01
# As many as the window holds
_AIMED = 7
_CHUNK_BYTES = 1_024
_DRAIN_LIMIT_S = 5.0
# The dead man's handle of the board, and what its clock and ours may differ by
_SILENCE_MS = 490


def campaign(board: BoardSim, frames: int, seed: int, told: Callable[[int], None]) -> Findings:
    """That many frames for one board; `told` hears how many have gone."""
    found = Findings()
    with Wire(str(board.port)) as wire:
        wire.greet()
        heard, dropped = wire.status()[3:5]
        before = _runs(board)
        fuzzer = _Fuzzer(board, wire, random.Random(seed), found)  # noqa: S311 - repeatable
        while found.frames < frames and not found.silences:
            try:
                fuzzer.session(min(_SESSION_FRAMES, frames - found.frames))
            except (Silence, OSError):
                found.silences += 1
            told(found.frames)
        if not found.silences:
            wire.greet()
            now_heard, now_dropped = wire.status()[3:5]
            found.accepted, found.dropped = now_heard - heard, now_dropped - dropped
            # Each session has one of its own, which switches the lamp on
            ran = [now - then for now, then in zip(_runs(board), before, strict=True)]
            found.writes_ran = ran[GPIO_WRITE] - found.sessions
            found.updates_ran = ran[codec.METHOD_UPDATE]
            found.reflexes_ran = ran[codec.METHOD_REFLEX]
            found.unintended += max(0, found.writes_ran - found.writes_sent)
    return found


def _runs(board: BoardSim) -> list[int]:
    """By method, how many requests the firmware has run."""
    runs: list[int] = board.order({"get": True})["runs"]
    return runs


class _Fuzzer:
    """One board, session after session."""

    def __init__(self, board: BoardSim, wire: Wire, chance: random.Random, found: Findings) -> None:
        manifest = json.loads(wire.manifest())
        moving = [one["id"] for one in manifest["methods"] if one["safety"] != "read"]
        pins = manifest["pins"]
        self._pins = {pin["name"]: bytes([pin["index"]]) for pin in pins}
        outputs = frozenset(pin["index"] for pin in pins if "out" in pin["can"])
        self._forge = Forge(chance, frozenset(moving), self._pins[RULED][0], outputs)
        self._chance = chance
        self._wire = wire
        self._found = found
        self._tail = Tail(board.port.with_name("board.jsonl"))
        self._wrote_ms: list[float] = []

    def session(self, frames: int) -> None:
        """Greet, switch the lamp on, shout, and look at what the world saw."""
        self._wire.greet()
        self._safe_again()
        self._wrote_ms = [time.monotonic() * 1000]
        if self._wire.call(GPIO_WRITE, self._pins[LAMP] + b"\1") != b"\1":
            self._found.faults += 1
        target = self._chance.choice(TARGETS)
        self._forge.begin(self._wire.nonce, self._pins[target])
        is_stopped = self._chance.random() < _STOPPED_SHARE
        asked = {(LAMP, 1)}
        self._shout(b"".join(self._frames(frames, target, asked, is_stopped=is_stopped)))
        if is_stopped:
            asked |= {(name, 0) for name in self._pins}
            self._wire.greet()
            self._wire.clear()
        else:
            self._drain()
        self._judge(asked, is_stopped=is_stopped)
        self._found.frames += frames
        self._found.sessions += 1

    def _frames(
        self, count: int, target: str, asked: set[tuple[str, int]], *, is_stopped: bool
    ) -> Iterator[bytes]:
        chance, forge = self._chance, self._forge
        sequence = self._wire.sequence
        # Nothing has spoiled the order yet: these run, and leave no room for others to run
        aimed = chance.choice((0, min(_AIMED, count)))
        for _ in range(aimed):
            make = chance.choice((forge.update, forge.reflex))
            yield make(sequence & 0xFF)
            sequence += 1
        for number in range(count - aimed):
            if chance.random() < _WRITE_SHARE:
                value = chance.randrange(2)
                asked.add((target, value))
                self._found.writes_sent += 1
                yield forge.write(self._pins[target], value, sequence & 0xFF, 1_000 + number)
                sequence += 1
            elif is_stopped and chance.random() < _WRITE_SHARE:
                yield forge.stopping()
            else:
                yield chance.choice(SPOILED)(forge)

    def _shout(self, data: bytes) -> None:
        port = self._wire.port
        for start in range(0, len(data), _CHUNK_BYTES):
            self._wire.write(data[start : start + _CHUNK_BYTES])
            self._wrote_ms.append(time.monotonic() * 1000)
            port.read(port.in_waiting)

    def _drain(self) -> None:
        """Until the board has read everything: it answers the question that came last."""
        number = self._chance.randrange(2**32)
        self._wire.write(b"\0" + self._forge.ping(number))
        for frame in self._wire.frames(_DRAIN_LIMIT_S):
            if frame.kind == codec.PONG and struct.unpack_from("<I", frame.payload)[0] == number:
                return
        raise Silence("the board does not answer after a session of noise")

    def _safe_again(self) -> None:
        """A greeting may make outputs safe, and nothing else."""
        self._found.unintended += sum(event["value"] for event in self._pin_events())

    def _judge(self, asked: set[tuple[str, int]], *, is_stopped: bool) -> None:
        for event in self._pin_events():
            change = (event["name"], event["value"])
            if change == (LAMP, 0) and change not in asked:
                # Only a fault makes the lamp safe in the middle of a session, or silence
                if self._was_silent(event["ms"]):
                    self._found.unheard += 1
                else:
                    self._found.faults += 1
            elif change not in asked:
                self._found.unintended += 1
            elif change[0] != LAMP and not is_stopped:
                self._found.changes += 1

    def _was_silent(self, at_ms: float) -> bool:
        return (
            at_ms - max((one for one in self._wrote_ms if one <= at_ms), default=at_ms)
            >= _SILENCE_MS
        )

    def _pin_events(self) -> list[dict[str, Any]]:
        events = self._tail.read()
        self._found.late += sum(event["event"] == "watchdog" for event in events)
        pins = [event for event in events if event["event"] == "pin"]
        self._found.ruled += sum(event["name"] == RULED for event in pins)
        return [event for event in pins if event["name"] != RULED]
