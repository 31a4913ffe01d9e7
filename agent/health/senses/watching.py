"""Watches the machine while the agent runs: what begins to hurt is told to the owner, once.

What was told outlives a restart in a small file, which is written only when something begins or is
over. Nothing here starts a program or asks the network.
"""

import asyncio
import logging
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from agent.clock import Clock
from agent.dispatch.owner import Tell
from agent.errors import BarnacleError, StorageFull
from agent.health.senses import (
    card,
    room,
    temperature,
    throttling,
    voltage,
    wifi,
    writable,
)
from agent.health.senses.base import Sense
from agent.health.senses.episode import Episode
from agent.machine.readings import Readings
from agent.storage.files import write_atomic

_log = logging.getLogger(__name__)

SENSES: tuple[Sense, ...] = tuple(
    module.SENSE for module in (voltage, throttling, temperature, card, writable, room, wifi)
)
# So that a sense whose time has come is not looked at too early by a rounding
_LEAST_PAUSE_S = 0.5
# Names and sentences of a handful of senses
_MAX_FILE_BYTES = 16 * 1024


class Watching:
    """All senses of one machine.

    Args:
        path: what was told already.
    """

    def __init__(
        self, readings: Readings, path: Path, clock: Clock, senses: Sequence[Sense] = SENSES
    ) -> None:
        self._readings = readings
        self._path = path
        self._clock = clock
        told = _told_before(path)
        self._episodes = [Episode(sense, told.get(sense.name, "")) for sense in senses]

    def sentences(self) -> tuple[str, ...]:
        """Return the present troubles; usually none."""
        return tuple(episode.said for episode in self._episodes if episode.said)

    async def run(self, tell: Tell) -> None:
        """Until cancelled."""
        while True:
            for sentence in await asyncio.to_thread(self.look):
                await self._tell(tell, f"About me: {sentence}.")
            await self._clock.sleep(self._pause_s())

    def look(self) -> list[str]:
        """Return the new troubles, from the senses whose time has come."""
        changed = list(self._changed())
        begun = [episode.said for episode in changed if episode.said]
        for episode in changed:
            if episode.said:
                _log.warning("%s", episode.said)
            else:
                _log.info("%s is well again", episode.name)
        if changed:
            self._keep()
        return begun

    def _changed(self) -> Iterator[Episode]:
        for episode in self._episodes:
            now_s = self._clock.monotonic_s()
            if now_s >= episode.due_s and episode.look(self._readings, now_s):
                yield episode

    def _pause_s(self) -> float:
        next_s = min(episode.due_s for episode in self._episodes)
        return max(_LEAST_PAUSE_S, next_s - self._clock.monotonic_s())

    async def _tell(self, tell: Tell, text: str) -> None:
        try:
            await tell(text)
        except BarnacleError as err:
            # What cannot be kept for the owner is in the log, and in every prompt
            _log.error("the owner is not told: %s", err)

    def _keep(self) -> None:
        told = {episode.name: episode.said for episode in self._episodes if episode.said}
        try:
            write_atomic(self._path, msgspec.json.encode(told))
        except (StorageFull, OSError) as err:
            _log.debug("what was told is not kept: %s", err)


def _told_before(path: Path) -> dict[str, str]:
    try:
        with path.open("rb") as file:
            return msgspec.json.decode(file.read(_MAX_FILE_BYTES), type=dict[str, str])
    except (OSError, msgspec.DecodeError, UnicodeError):
        return {}
