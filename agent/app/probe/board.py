"""Simulated board of the probe: plain pins in memory, with the methods of our firmware."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct, field

from agent.errors import CallRefused, LinkLost
from agent.link.base import BoardIdentity, BoardState, BoardStatus, Unsubscribe, Value
from agent.link.counters import Counters
from agent.link.devices import device_table
from agent.link.devices.device_row import DeviceField
from agent.link.manifest import Manifest, read_manifest
from agent.link.value_codec import pack
from agent.passage import own

_METHODS = frozenset({"gpio_write", "gpio_read", "adc_read", "mcu_temperature"})
_OUTPUTS = ("led", "pump", "relay")
_PINS = (
    {"name": "led", "pin": "PC13", "aliases": ["lamp", "light"], "can": ["in", "out"]},
    {"name": "pump", "pin": "PB0", "aliases": ["water pump"], "can": ["in", "out"]},
    {"name": "relay", "pin": "PB1", "aliases": ["fan"], "can": ["in", "out"]},
    {"name": "button", "pin": "PA0", "aliases": ["key"], "can": ["in"]},
    {"name": "moisture", "pin": "PA1", "aliases": ["soil moisture"], "can": ["adc"]},
)
_UNPLUGGED = own("nothing is plugged in")
_LOOSE = own("the cable was loose for a moment; nothing was done, try again")


def _manifest() -> Manifest:
    methods = [
        {
            **{key: value for key, value in one._asdict().items() if value not in ((), "")},
            "arguments": [_told(part) for part in one.arguments],
            "result": [_told(part) for part in one.result],
        }
        for one in device_table.methods()
        if one.name in _METHODS
    ]
    pins = [{"index": index, **pin} for index, pin in enumerate(_PINS)]
    told = {"manifest": 1, "board": "probe", "methods": methods, "events": [], "pins": pins}
    return read_manifest(json.dumps(told).encode())


def _told(part: DeviceField) -> dict[str, Any]:
    """Return what differs from the reader's defaults."""
    defaults = part._field_defaults
    return {key: value for key, value in part._asdict().items() if defaults.get(key) != value}


class ProbeBoard(Struct):
    """Board in memory; it takes and refuses what a real one would.

    Args:
        is_plugged_in: without it every call fails.
        fails_first: the next call fails, the ones after it do not.
        moved: every change of an output, in order.
    """

    name: str = "board"
    is_plugged_in: bool = True
    fails_first: bool = False
    moved: list[tuple[str, str]] = field(default_factory=list)
    values: dict[str, float | str] = field(
        default_factory=lambda: {**dict.fromkeys((*_OUTPUTS, "button"), "off"), "moisture": 1.85}
    )
    manifest: Manifest = field(default_factory=_manifest)
    counters: Counters = field(default_factory=Counters)

    @property
    def status(self) -> BoardStatus:
        if not self.is_plugged_in:
            return BoardStatus(BoardState.ABSENT, "probe", trouble=_UNPLUGGED.text)
        identity = BoardIdentity("probe", "00", "probe", 1, 1, "power-on", 1, "none")
        return BoardStatus(BoardState.READY, "probe", identity)

    @property
    def pending(self) -> tuple[str, ...]:
        return ()

    async def call(self, method: str, arguments: Mapping[str, Value]) -> dict[str, Value]:
        if not self.is_plugged_in:
            raise LinkLost(_UNPLUGGED)
        if self.fails_first:
            self.fails_first = False
            raise LinkLost(_LOOSE)
        described = self.manifest.method(method)
        if described is None:
            raise CallRefused("not_supported", own("this board has no such method"))
        pack(self.manifest, described, arguments)
        if method == "mcu_temperature":
            return {"value": 41.5}
        pin = str(arguments["pin"])
        if method == "gpio_write":
            self.values[pin] = str(arguments["value"])
            self.moved.append((pin, str(arguments["value"])))
        return {"value": self.values[pin]}

    async def exchange(self, method: int, arguments: bytes) -> bytes:
        raise CallRefused("not_supported", own("this board has no such method"))

    @property
    def held(self) -> frozenset[str]:
        return frozenset(pin for pin in _OUTPUTS if self.values[pin] != "off")

    def let_go(self, pin: str) -> bool:
        return self.values.get(pin) not in {None, "off"}

    async def release(self) -> None:
        self.values.update(dict.fromkeys(_OUTPUTS, "off"))

    def stop(self) -> None:
        self.values.update(dict.fromkeys(_OUTPUTS, "off"))

    def allow(self) -> None:
        """Nothing was locked."""

    def agree(self) -> None:
        """Nothing is pending."""

    async def unlock(self) -> str:
        return "nothing was locked"

    def on_manifest(self, listener: Callable[[Manifest], None]) -> Unsubscribe:
        listener(self.manifest)
        return lambda: None
