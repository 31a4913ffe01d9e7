"""Choice of a board's configuration: the wanted one, or its own until the owner agrees.

Tighter or equal is done at once; looser waits for a yes. What is in force on the board is what
this side uses, so that both always mean the same pin by the same number.
"""

import asyncio
import logging
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from agent.errors import CallRefused, WrongDevice
from agent.link import frame as wire
from agent.link.configuration import (
    NO_HASH,
    PinEntry,
    hash_of_wire,
    overlaid,
    read_configurer,
    read_entries,
    wire_of,
)
from agent.link.connection import BoardConnection
from agent.link.devices.device_row import DeviceOption
from agent.link.devices.device_table import BY_KIND, LINES, OUTPUT_KINDS, SOURCES, limits
from agent.link.manifest import Manifest
from agent.link.manifest_cache import ManifestCache
from agent.link.pin_settings import PinSettings
from agent.link.transfer import fetch_configuration, upload
from agent.storage.lineage import NEVER_RESTORED, Lineage
from agent.text.printable import printable_line

# A name is shorter; one that a board made up may not be
_MAX_NAME_CHARS = 32


def loosened(old: Sequence[PinEntry], new: Sequence[PinEntry]) -> tuple[str, ...]:
    """One half sentence for each thing that would be looser; none: it may simply be done."""
    later = {entry.name: entry for entry in new}
    guards = {name for entry in (*old, *new) for name in _read_by(entry)}
    found: list[str] = []
    for before in old:
        after = later.get(before.name)
        name = printable_line(before.name, _MAX_NAME_CHARS)
        if after is None:
            found.append(f"{name} is no longer configured")
        else:
            is_guard = before.name in guards
            found += [f"{name} {words}" for words in _of_one(before, after, is_guard=is_guard)]
    return tuple(found)


def _read_by(entry: PinEntry) -> Iterator[str]:
    """Yield the names of the entries that this one goes by: interlocks, a thermometer."""
    yield from (name for name, _value in entry.needs)
    yield from (name for key in SOURCES if (name := getattr(entry, key)))


def _of_one(old: PinEntry, new: PinEntry, *, is_guard: bool) -> Iterator[str]:
    if old.kind != new.kind:
        yield f"changes from {printable_line(old.kind, _MAX_NAME_CHARS)} to {new.kind}"
    is_output = new.kind in OUTPUT_KINDS
    if is_output or is_guard:
        yield from _wired_anew(old, new)
    if is_output:
        yield from _held_less(old, new)


def _wired_anew(old: PinEntry, new: PinEntry) -> Iterator[str]:
    if old.pin != new.pin:
        yield f"moves from {printable_line(old.pin, _MAX_NAME_CHARS)} to {new.pin}"
    if old.active_low != new.active_low:
        yield f"is on at {'low' if new.active_low else 'high'} level"
    if old.kind == new.kind:
        yield from _otherwise_wired(old, new)


def _held_less(old: PinEntry, new: PinEntry) -> Iterator[str]:
    if old.safe != new.safe:
        yield f"has another safe value ({new.safe} instead of {old.safe})"
    if old.safety == "hazard" and new.safety != "hazard":
        yield "is no longer a hazard"
    if old.kind == new.kind:
        yield from _rests_less(old, new)
    yield from _longer(old, new)
    yield from _otherwise_regulated(old, new)
    for pin, value in old.needs:
        if (pin, value) not in new.needs:
            needed = printable_line(pin, _MAX_NAME_CHARS)
            yield f"no longer requires {needed} to be {'on' if value else 'off'}"


def _otherwise_wired(old: PinEntry, new: PinEntry) -> Iterator[str]:
    for line in LINES:
        # One more, such as an end stop, is tighter
        if (before := getattr(old, line)) and before != (after := getattr(new, line)):
            pin = printable_line(before, _MAX_NAME_CHARS)
            yield f"has {line} at {after or 'no pin'} instead of {pin}"
    for option in BY_KIND[new.kind].options:
        if option.is_wiring:
            was, becomes = (_value_of(option, entry) for entry in (old, new))
            if was != becomes:
                yield f"has {option.settings_key} = {becomes} instead of {was}"


def _rests_less(old: PinEntry, new: PinEntry) -> Iterator[str]:
    for option in BY_KIND[new.kind].options:
        if option.is_rest:
            was, becomes = (_value_of(option, entry) for entry in (old, new))
            if becomes < was:
                yield f"has {option.settings_key} = {becomes} instead of {was}"


def _value_of(option: DeviceOption, entry: PinEntry) -> int:
    given: int | None = getattr(entry, option.name)
    return option.default if given is None else given


def _longer(old: PinEntry, new: PinEntry) -> Iterator[str]:
    if new.lease_ms > old.lease_ms:
        yield (
            f"stays on for {new.lease_ms} ms without a sign of life instead of {old.lease_ms} ms"
        )
    if old.max_on_ms and not 0 < new.max_on_ms <= old.max_on_ms:
        yield f"may be on {_at_most(new.max_on_ms)} instead of at most {old.max_on_ms} ms"
    if new.min_off_ms < old.min_off_ms:
        yield f"rests {new.min_off_ms} ms instead of {old.min_off_ms} ms"
    if old.per_minute and not 0 < new.per_minute <= old.per_minute:
        rate = f"{new.per_minute}" if new.per_minute else "any number of"
        yield f"may be switched {rate} times a minute instead of {old.per_minute}"


def _otherwise_regulated(old: PinEntry, new: PinEntry) -> Iterator[str]:
    for key in SOURCES:
        if (before := getattr(old, key)) != (after := getattr(new, key)):
            name = printable_line(before, _MAX_NAME_CHARS)
            yield f"goes by {after or 'nothing'} instead of {name or 'nothing'}"
    for option in limits():
        if (most := getattr(new, option.name)) > getattr(old, option.name):
            yield f"has {option.settings_key} = {most} instead of {getattr(old, option.name)}"


def _at_most(limit_ms: int) -> str:
    return f"at most {limit_ms} ms" if limit_ms else "without limit"


_log = logging.getLogger(__name__)

HOW_TO_AGREE = "send `/configure yes` in a chat, or run `barnacle board configure --yes`"
# Nothing is configured, as bytes that can be kept
_NOTHING = b'{"pins":[],"v":1}'
_RETURNING = ("this card drives it again",)
_SUPERSEDED = (
    "a device that was restored from a backup of this one drives the board: this is the old card, "
    f"take it out. If it is the right one after all, {HOW_TO_AGREE}"
)


class InForce(Struct, frozen=True):
    """Configuration that the board runs with, and its notice for a person."""

    entries: tuple[PinEntry, ...] = ()
    trouble: str = ""


class PinConfiguration:
    """The wanted configuration of one board, and those that were seen on it."""

    def __init__(
        self, pins: Mapping[str, PinSettings], folder: Path, lineage: Lineage = NEVER_RESTORED
    ) -> None:
        self._pins = pins
        self._lineage = lineage
        self._wanted = wire_of(pins, lineage)
        # A configuration is kept as a manifest is: by the same hash, in a file of its own
        self._seen = ManifestCache(folder / "configurations")
        # What waits for the owner, such as each limit that would be looser
        self.pending: tuple[str, ...] = ()
        # The owner has agreed to it
        self.is_agreed = False

    def over(self, manifest: Manifest, in_force: InForce) -> Manifest:
        """The board's table with the configured pins in it."""
        return overlaid(manifest, in_force.entries, self._pins)

    def remembered(self) -> InForce:
        """Return the last known configuration in force."""
        try:
            return InForce(read_entries(self._seen.last() or b""))
        except WrongDevice:
            return InForce()

    async def settle(self, connection: BoardConnection, has_hash: bytes, board: str) -> InForce:
        """Bring the board to the wanted configuration, where that needs nobody's word.

        Args:
            board: its kind, by which it is known what is behind its pins.

        Raises:
            WrongDevice: what the board has makes no sense, or a device that was restored from a
                backup of this one configured it.
            LinkLost, OutcomeUnknown: the session ended; it begins again at the next one.
        """
        from agent.link.clashes import clash  # noqa: PLC0415 - a board needs it, no start

        in_force, raw = await self._settled(connection, has_hash, clash(self._pins, board))
        await asyncio.to_thread(self._seen.put, raw or _NOTHING)
        return in_force

    async def _settled(
        self, connection: BoardConnection, has_hash: bytes, clashing: str
    ) -> tuple[InForce, bytes]:
        if has_hash == hash_of_wire(self._wanted):
            self.pending = ()
            trouble = f"its configuration is unsafe: {clashing}" if clashing else ""
            return InForce(read_entries(self._wanted), trouble), self._wanted
        wanted = self._wanted or _NOTHING
        if not self.is_agreed:
            stored = await self._stored(connection, has_hash)
            old = read_entries(stored)
            self.pending = self._waiting_for(stored, wanted, old)
            if self.pending == _RETURNING:
                raise WrongDevice(_SUPERSEDED)
            if self.pending and not clashing:
                return InForce(old, _waiting(self.pending)), stored
        self.pending = ()
        if clashing:
            stored = await self._stored(connection, has_hash)
            trouble = f"its configuration is not activated: {clashing}"
            return InForce(read_entries(stored), trouble), stored
        if has_hash == hash_of_wire(wanted):
            return InForce(read_entries(wanted)), wanted
        return await self._replaced(connection, has_hash, wanted)

    def _waiting_for(
        self, stored: bytes, wanted: bytes, old: tuple[PinEntry, ...]
    ) -> tuple[str, ...]:
        if self._lineage.is_before(read_configurer(stored)):
            return _RETURNING
        return loosened(old, read_entries(wanted)) if stored != wanted else ()

    async def _replaced(
        self, connection: BoardConnection, has_hash: bytes, wanted: bytes
    ) -> tuple[InForce, bytes]:
        try:
            await upload(connection, wanted)
        except CallRefused as err:
            stored = await self._stored(connection, has_hash)
            trouble = f"the board rejects its configuration: {_reason(err)}"
            if not self._pins and err.code == wire.CODES[wire.NOT_SUPPORTED]:
                # Only the lineage has no place on it, and nobody wired anything
                trouble = ""
            return InForce(read_entries(stored), trouble), stored
        _log.info("link: the board has a new configuration")
        return InForce(read_entries(wanted)), wanted

    async def _stored(self, connection: BoardConnection, has_hash: bytes) -> bytes:
        if has_hash == NO_HASH:
            return b""
        kept = await asyncio.to_thread(self._seen.get, has_hash)
        return kept or await fetch_configuration(connection, has_hash)


def _waiting(pending: tuple[str, ...]) -> str:
    return (
        f"its configuration waits for your approval, because {'; '.join(pending)}: {HOW_TO_AGREE}"
    )


def _reason(err: CallRefused) -> str:
    if err.code == wire.CODES[wire.NOT_SUPPORTED]:
        return "its firmware stores no configuration; flash the firmware of this agent"
    return err.detail or err.code.replace("_", " ")
