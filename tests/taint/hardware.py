"""The hardware of a world: a board, buses and pins, with a canary in one of them."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from msgspec.structs import replace

from agent.errors import CallRefused, LinkLost, OutcomeUnknown, PinRefused
from agent.link.base import BoardState, BoardStatus, Value
from agent.link.events import BoardSubscription, Watch
from agent.link.manifest import Manifest, read_manifest
from tests.fakes.board import MANIFEST_JSON, FakeBoard
from tests.fakes.events import TalkingBoard
from tests.fakes.pi_pins import FakeBus, RecordedLine
from tests.taint.planting import CANARY, World


def manifest_of(made: World) -> Manifest:
    """The fake board's, and one more method with a field of every kind."""
    told: dict[str, Any] = json.loads(MANIFEST_JSON)
    told["board"] = made.at("board name", "simulated")
    pin = told["pins"][3]
    pin["aliases"] = [made.at("board pin alias", "key")]
    pin["needs"] = [[made.at("board interlock", "pump"), 1]]
    pin["can"] = ["in", made.at("board pin capability", "out")]
    told["pins"].append(
        {"index": 9, "name": made.at("board pin name", "d2"), "pin": "PB10", "can": ["in"]}
    )
    told["methods"].append(
        {
            "id": 40,
            "name": made.at("board method name", "uart_read"),
            "about": made.at("board method text", "What a device on a UART has said. "),
            "arguments": [
                {
                    "name": made.at("board field name", "count"),
                    "format": "B",
                    "unit": made.at("board unit", "s")[-8:],
                }
            ],
            "result": [
                {"name": "data", "format": "s", "text": True},
                {"name": made.at("board result name", "bytes"), "format": "s"},
                {"name": "value", "format": "B", "choices": ["off", made.at("board choice", "on")]},
            ],
            "safety": "read",
            "idempotent": True,
        }
    )
    return read_manifest(json.dumps(told).encode())


class PlantedBoard(FakeBoard):
    """Answers every call, or fails as it is told to."""

    def __init__(self, made: World) -> None:
        super().__init__()
        self._made = made
        self.manifest = manifest_of(made)

    @property
    def status(self) -> BoardStatus:
        made, status = self._made, super().status
        if made.is_at("board absence"):
            return BoardStatus(
                BoardState.CONNECTING, "/dev/ttyACM0", trouble=f"it said {made.text}"
            )
        assert status.identity is not None
        said = replace(
            status.identity,
            board=made.at("board name", "simulated"),
            firmware=made.at("board firmware", "0.1.0"),
        )
        trouble = f"it restarted: {made.text}" if made.is_at("board trouble") else ""
        return replace(status, identity=said, trouble=trouble)

    async def call(self, method: str, arguments: Mapping[str, Value]) -> dict[str, Value]:
        made = self._made
        if made.is_at("board absence"):
            raise LinkLost(f"it said {made.text}")
        if made.is_at("board refusal"):
            raise CallRefused("io", f"the tank said {made.text}")
        if made.is_at("board unknown outcome"):
            raise OutcomeUnknown(f"its answer was {made.text}")
        if "count" in arguments or any(made.text in name for name in arguments):
            hidden = made.text if made.is_at("board bytes") else ""
            return {
                "data": made.at("board text", "+CMGR: hello "),
                made.at("board result name", "bytes"): f"2b {hidden}",
                "value": made.at("board choice", "on"),
            }
        return await super().call(method, arguments)

    async def exchange(self, method: int, arguments: bytes) -> bytes:
        if self._made.is_at("board link refusal"):
            raise CallRefused("io", f"the flash said {self._made.text}")
        return await super().exchange(method, arguments)


class PlantedEvents(TalkingBoard):
    """Takes every watch, and may say why it cannot be watched."""

    def __init__(self, made: World) -> None:
        super().__init__()
        self._made = made

    def subscribe(self, watch: Watch) -> BoardSubscription:
        subscription = super().subscribe(watch)
        subscription.trouble = self._made.text if self._made.is_at("watch trouble") else ""
        return subscription


def buses(made: World) -> Callable[[int], Any]:
    """One bus with one device, whose registers say something."""
    bus = _FailingBus(0x76) if made.is_at("i2c failure") else FakeBus(0x76)
    if made.is_at("i2c bytes"):
        said = made.text.encode()[:200]
        bus.memories[0x76][: len(said)] = said
    return {1: bus}.__getitem__


class _FailingBus(FakeBus):
    def _memory(self, address: int) -> bytearray:
        raise PinRefused(f"the bus said {CANARY}")


class _FailingLine(RecordedLine):
    def read(self) -> bool:
        raise PinRefused(f"the kernel said {CANARY}")

    def switch(self, *, on: bool) -> None:
        raise PinRefused(f"the kernel said {CANARY}")


def line(made: World) -> type[RecordedLine]:
    return _FailingLine if made.is_at("gpio failure") else RecordedLine
