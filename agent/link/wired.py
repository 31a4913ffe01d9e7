"""Choice of a board's configuration: the wanted one, or its own until the owner agrees.

Tighter or equal is done at once; looser waits for a yes. What is in force on the board is what
this side uses, so that both always mean the same pin by the same number.
"""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from agent.errors import CallRefused, WrongDevice
from agent.link import frame as wire
from agent.link.configuration import (
    NO_HASH,
    Entry,
    hash_of_wire,
    overlaid,
    read_entries,
    wire_of,
)
from agent.link.connection import Connection
from agent.link.loosening import loosened
from agent.link.manifest import Manifest
from agent.link.manifest_cache import ManifestCache
from agent.link.provisioning import fetch_configuration, upload
from agent.link.wiring import PinSettings

_log = logging.getLogger(__name__)

HOW_TO_AGREE = "type `/configure yes` in a chat, or run `barnacle board configure --yes`"
# Nothing is configured, as bytes that can be kept
_NOTHING = b'{"pins":[],"v":1}'


@dataclass(frozen=True, slots=True)
class InForce:
    """Configuration that the board runs with, and its notice for a person."""

    entries: tuple[Entry, ...] = ()
    trouble: str = ""
    # What the wanted one would loosen, while that waits for the owner
    pending: tuple[str, ...] = ()


class Wiring:
    """The wanted configuration of one board, and those that were seen on it."""

    def __init__(self, pins: Mapping[str, PinSettings], folder: Path) -> None:
        self._pins = pins
        self._wanted = wire_of(pins)
        # A configuration is kept as a manifest is: by the same hash, in a file of its own
        self._seen = ManifestCache(folder / "configurations")
        # The owner has agreed to what is looser
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

    async def settle(self, connection: Connection, has_hash: bytes) -> InForce:
        """Bring the board to the wanted configuration, where that needs nobody's word.

        Raises:
            WrongDevice: what the board has makes no sense.
            LinkLost, OutcomeUnknown: the session ended; it begins again at the next one.
        """
        in_force, raw = await self._settled(connection, has_hash)
        await asyncio.to_thread(self._seen.put, raw or _NOTHING)
        return in_force

    async def _settled(self, connection: Connection, has_hash: bytes) -> tuple[InForce, bytes]:
        if has_hash == hash_of_wire(self._wanted):
            return InForce(read_entries(self._wanted)), self._wanted
        wanted = self._wanted or _NOTHING
        if not self.is_agreed:
            stored = await self._stored(connection, has_hash)
            old = read_entries(stored)
            if stored != wanted and (pending := loosened(old, read_entries(wanted))):
                return InForce(old, _waiting(pending), pending), stored
        if has_hash == hash_of_wire(wanted):
            return InForce(read_entries(wanted)), wanted
        return await self._replaced(connection, has_hash, wanted)

    async def _replaced(
        self, connection: Connection, has_hash: bytes, wanted: bytes
    ) -> tuple[InForce, bytes]:
        try:
            await upload(connection, wanted)
        except CallRefused as err:
            stored = await self._stored(connection, has_hash)
            trouble = f"the board refuses its configuration: {_reason(err)}"
            return InForce(read_entries(stored), trouble), stored
        _log.info("the board has a new configuration")
        return InForce(read_entries(wanted)), wanted

    async def _stored(self, connection: Connection, has_hash: bytes) -> bytes:
        if has_hash == NO_HASH:
            return b""
        kept = await asyncio.to_thread(self._seen.get, has_hash)
        return kept or await fetch_configuration(connection, has_hash)


def _waiting(pending: tuple[str, ...]) -> str:
    return f"its configuration waits for your word, because {'; '.join(pending)}: {HOW_TO_AGREE}"


def _reason(err: CallRefused) -> str:
    if err.code == wire.CODES[wire.NOT_SUPPORTED]:
        return "its firmware keeps none, flash the one that came with this agent"
    return err.detail or err.code.replace("_", " ")
