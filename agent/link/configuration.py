"""Wiring of a board: from the settings to the wire, and over the board's own pins.

The bytes and their hash decide whether anything has to be sent, so the same settings always give
the same bytes. What comes back from a board is hostile until `read_entries` has passed it.
"""

import contextlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from agent.errors import WrongDevice
from agent.link.manifest import Manifest, Pin, clean_pin
from agent.link.manifest_cache import HASH_BYTES, hash_of
from agent.link.wiring import PinSettings

VERSION = 1
NO_HASH = bytes(HASH_BYTES)
# What a board does where the settings say nothing
LEASE_DEFAULT_MS = 2_000
_CAN = {
    "output": ("out", "in"),
    "input": ("in",),
    "analog": ("adc",),
    "counter": ("count",),
    "ds18b20": ("celsius",),
    "dht22": ("climate",),
    "bme280": ("climate",),
    "neopixel": ("pixels",),
}


class Entry(msgspec.Struct, frozen=True):
    """A configured pin as the board keeps it; what a device alone needs is not looked at."""

    name: str
    kind: str
    pin: str
    active_low: bool = False
    safe: int = 0
    lease_ms: int = LEASE_DEFAULT_MS
    # 0: no limit
    max_on_ms: int = 0
    min_off_ms: int = 0
    per_minute: int = 0
    needs: tuple[tuple[str, int], ...] = ()
    safety: str = "actuate"
    # Further lines of a bus
    pin_b: str = ""
    sda: str = ""
    sck: str = ""
    mosi: str = ""
    miso: str = ""

    @property
    def mcu_pins(self) -> frozenset[str]:
        lines = (self.pin, self.pin_b, self.sda, self.sck, self.mosi, self.miso)
        return frozenset(line for line in lines if line)


class _Document(msgspec.Struct, frozen=True):
    v: int
    pins: tuple[Entry, ...]


def wire_of(pins: Mapping[str, PinSettings]) -> bytes:
    """The configuration as the board stores it; empty where nothing is configured."""
    if not pins:
        return b""
    entries = [_entry_of(name, pins[name]) for name in sorted(pins)]
    document = {"v": VERSION, "pins": entries}
    return json.dumps(document, sort_keys=True, separators=(",", ":")).encode()


def hash_of_wire(wire: bytes) -> bytes:
    """Return the hash that a board with this configuration sends in its greeting."""
    return hash_of(wire) if wire else NO_HASH


def read_entries(wire: bytes) -> tuple[Entry, ...]:
    """The configured pins, in their order.

    Raises:
        WrongDevice: it is not a configuration that this version understands.
    """
    if not wire:
        return ()
    try:
        document = msgspec.json.decode(wire, type=_Document)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as err:
        raise WrongDevice("the configuration on the board cannot be read") from err
    if document.v != VERSION:
        raise WrongDevice(f"the configuration on the board is of version {document.v}")
    return document.pins


def overlaid(
    manifest: Manifest, entries: Iterable[Entry], pins: Mapping[str, PinSettings]
) -> Manifest:
    """The board's own pins, but for those that are configured, and the configured ones."""
    entries = tuple(entries)
    names = {entry.name for entry in entries}
    taken = frozenset[str]().union(*(entry.mcu_pins for entry in entries))
    first = max((pin.index for pin in manifest.pins), default=-1) + 1
    own = [pin for pin in manifest.pins if pin.name not in names and pin.pin not in taken]
    known = {pin.name: pin.aliases for pin in manifest.pins}
    added: list[Pin] = []
    for index, entry in enumerate(entries, first):
        wired = pins.get(entry.name)
        words = () if wired is None else (*wired.aliases, *wired.also)
        # What a board calls by no proper name, or has too many of, cannot be asked for
        with contextlib.suppress(ValueError):
            pin = _pin_of(index, entry, _merged(words, known.get(entry.name, ())))
            added.append(pin if wired is None else _placed(pin, wired))
    return msgspec.structs.replace(manifest, pins=(*own, *added))


def _merged(words: tuple[str, ...], more: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*words, *more)))


def _placed(pin: Pin, wired: PinSettings) -> Pin:
    """What only this machine knows of a pin; it never reaches the board."""
    return msgspec.structs.replace(pin, place=wired.place, groups=wired.group, opens=wired.opens)


def _pin_of(index: int, entry: Entry, aliases: tuple[str, ...]) -> Pin:
    return clean_pin(
        Pin(
            index=index,
            name=entry.name,
            pin=entry.pin,
            aliases=aliases,
            can=_CAN.get(entry.kind, (entry.kind,)),
            active_low=entry.active_low,
            safe=entry.safe,
            lease_ms=entry.lease_ms,
            max_on_ms=entry.max_on_ms,
            min_off_ms=entry.min_off_ms,
            per_minute=entry.per_minute,
            needs=entry.needs,
            safety=entry.safety,
        )
    )


def _entry_of(name: str, settings: PinSettings) -> dict[str, Any]:
    """Only what differs from what the board does by itself."""
    entry: dict[str, Any] = {"name": name, "kind": settings.kind, "pin": settings.pin}
    for key, value in settings.given().items():
        entry |= _option(settings.kind, key, value)
    return entry


def _option(kind: str, key: str, value: Any) -> dict[str, Any]:
    """One key of the settings as the wire format has it."""
    match key:
        case "pin" | "kind" | "aliases" | "also" | "place" | "group" | "opens":
            return {}
        case "active":
            key, value = "active_low", True
        case "safe":
            # Of a PWM in per cent
            value = 100 if kind == "pwm" else 1
        case "danger":
            key = "safety"
        case "only_while":
            key, value = "needs", [[name, int(value[name] == "on")] for name in sorted(value)]
        case "debounce_ms" if kind == "counter":
            key, value = "debounce_us", value * 1000
        case "max_on_s" | "min_off_s":
            key, value = f"{key.removesuffix('_s')}_ms", round(value * 1000)
        case "max_per_minute":
            key = "per_minute"
    return {key: value}
