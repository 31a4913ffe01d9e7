"""Wiring of a board: from the settings to the wire, and over the board's own pins.

The bytes and their hash decide whether anything has to be sent, so the same settings always give
the same bytes. What comes back from a board is hostile until `read_entries` has passed it.
"""

import contextlib
import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from agent.errors import WrongDevice
from agent.link.devices import device_table
from agent.link.devices.device_table import BY_KIND, LINES
from agent.link.manifest import BoardPin, Manifest, clean_pin
from agent.link.manifest_cache import HASH_BYTES, hash_of
from agent.link.pin_settings import PinSettings
from agent.storage.lineage import NEVER_RESTORED, Lineage

VERSION = 1
NO_HASH = bytes(HASH_BYTES)
# What a board does where the settings say nothing
LEASE_DEFAULT_MS = 2_000


class EntryKeys(msgspec.Struct, frozen=True):
    """Keys of a configured pin as the board keeps it; few options of a device are looked at."""

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

    @property
    def mcu_pins(self) -> frozenset[str]:
        lines = (self.pin, *(getattr(self, line) for line in LINES))
        return frozenset(line for line in lines if line)


if TYPE_CHECKING:

    class PinEntry(EntryKeys, frozen=True):
        """A configured pin as the board keeps it, with its further lines, sources and limits."""

        def __getattr__(self, key: str) -> Any: ...
else:
    PinEntry = msgspec.defstruct(
        "Entry",
        [
            *((name, str, "") for name in (*LINES, *device_table.SOURCES)),
            *((one.name, int, one.default) for one in device_table.limits()),
            # Left out where it is the default, which is each kind's own
            *((name, int | None, None) for name in device_table.of_each_kind()),
        ],
        bases=(EntryKeys,),
        module=__name__,
        namespace={"__doc__": "A configured pin as the board keeps it, with its further lines."},
        frozen=True,
    )


class _Document(msgspec.Struct, frozen=True):
    v: int
    pins: tuple[PinEntry, ...]


class _Configurer(msgspec.Struct, frozen=True):
    # The board keeps it and does not look at it
    by: Lineage = NEVER_RESTORED


def wire_of(pins: Mapping[str, PinSettings], by: Lineage = NEVER_RESTORED) -> bytes:
    """The configuration as the board stores it; empty where nothing is configured.

    Args:
        by: who configures it; a device that was never restored says nothing of itself.
    """
    if not pins and not by.epoch:
        return b""
    entries = [_entry_of(name, pins[name]) for name in sorted(pins)]
    document: dict[str, object] = {"v": VERSION, "pins": entries}
    if by.epoch:
        document["by"] = {"device": by.device, "epoch": by.epoch}
    return json.dumps(document, sort_keys=True, separators=(",", ":")).encode()


def hash_of_wire(wire: bytes) -> bytes:
    """Return the hash that a board with this configuration sends in its greeting."""
    return hash_of(wire) if wire else NO_HASH


def read_configurer(wire: bytes) -> Lineage:
    """Return who configured the board, as far as its configuration says it."""
    try:
        return msgspec.json.decode(wire, type=_Configurer).by
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return Lineage()


def read_entries(wire: bytes) -> tuple[PinEntry, ...]:
    """The configured pins, in their order.

    Raises:
        WrongDevice: it is not a configuration that this version understands.
    """
    if not wire:
        return ()
    try:
        document = msgspec.json.decode(wire, type=_Document)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as err:
        raise WrongDevice("cannot read the configuration on the board") from err
    if document.v != VERSION:
        raise WrongDevice(
            f"the configuration on the board has version {document.v}, which this agent "
            "does not know"
        )
    return document.pins


def overlaid(
    manifest: Manifest, entries: Iterable[PinEntry], pins: Mapping[str, PinSettings]
) -> Manifest:
    """The board's own pins, but for those that are configured, and the configured ones."""
    entries = tuple(entries)
    names = {entry.name for entry in entries}
    taken = frozenset[str]().union(*(entry.mcu_pins for entry in entries))
    first = max((pin.index for pin in manifest.pins), default=-1) + 1
    own = [pin for pin in manifest.pins if pin.name not in names and pin.pin not in taken]
    known = {pin.name: pin.aliases for pin in manifest.pins}
    added: list[BoardPin] = []
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


def _placed(pin: BoardPin, wired: PinSettings) -> BoardPin:
    """Parts of a pin's settings that only this machine uses; they are never sent to the board."""
    return msgspec.structs.replace(pin, place=wired.place, groups=wired.group, opens=wired.opens)


def _pin_of(index: int, entry: PinEntry, aliases: tuple[str, ...]) -> BoardPin:
    return clean_pin(
        BoardPin(
            index=index,
            name=entry.name,
            pin=entry.pin,
            aliases=aliases,
            can=_abilities(entry.kind),
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


def _abilities(kind: str) -> tuple[str, ...]:
    """Return what a pin of that kind can do; a newer firmware may have kinds of its own."""
    row = BY_KIND.get(kind)
    return (kind,) if row is None else row.can


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
            value = BY_KIND[kind].safe_on
        case "danger":
            key = "safety"
        case "only_while":
            key, value = "needs", [[name, int(value[name] == "on")] for name in sorted(value)]
        case "max_on_s" | "min_off_s":
            key, value = f"{key.removesuffix('_s')}_ms", round(value * 1000)
        case "max_per_minute":
            key = "per_minute"
        case _:
            for option in BY_KIND[kind].options:
                if option.settings_key == key:
                    key, value = option.name, value * option.scale
                    break
    return {key: value}
