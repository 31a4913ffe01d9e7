"""Monitor of the machine: tells the owner once when a trouble begins.

What was told outlives a restart in a small file, which is written only when something begins or is
over. Nothing here starts a program or asks the network.
"""

import asyncio
import logging
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

import msgspec
from msgspec import Struct

from agent.access.owner import Tell
from agent.errors import BarnacleError, StorageFull
from agent.machine.computer import HOT_C
from agent.machine.power import SLOWED, UNDER_VOLTAGE
from agent.machine.readings import Readings
from agent.machine.wireless import FAINT_DBM
from agent.storage.files import write_atomic
from agent.system.clock import SHARED_S, Clock, rest

# Most of it changes slowly, and files of the kernel cost next to nothing
USUAL_EVERY_S = 30.0


class SenseJudge(Protocol):
    """Looks at the readings."""

    def __call__(self, readings: Readings, *, is_on: bool) -> str | None:
        """Return a sentence while there is a trouble, "" if there is none, None if unknown.

        Args:
            is_on: whether it mattered at the last look: the limit back may be another one.
        """


class Sense(Struct, frozen=True):
    """One thing that is watched.

    Args:
        looks: so many in a row have to be bad before it is believed.
        every_s: between two looks, where somebody tells.
    """

    name: str
    judge: SenseJudge
    looks: int = 1
    every_s: float = USUAL_EVERY_S


_HEARD_DBM = -74
# Somebody who walks through the room makes it faint for a while
_WIFI_LOOKS = 6


def judge_wifi(readings: Readings, *, is_on: bool) -> str:
    limit = _HEARD_DBM if is_on else FAINT_DBM
    for one in readings.wireless():
        if one.signal_dbm is not None and one.signal_dbm <= limit:
            return (
                f"weak Wi-Fi signal ({one.interface} at {one.signal_dbm} dBm): move this "
                "device or the access point"
            )
    return ""


WIFI = Sense("wifi", judge_wifi, _WIFI_LOOKS)


# Less than what a database may need to tidy itself; over when there is as much again
_LOW_MB = 50
_ENOUGH_MB = 100
_FEW_INODES_PERCENT = 2


def judge_room(readings: Readings, *, is_on: bool) -> str | None:
    room = readings.room()
    if room is None:
        return None
    if room.free_mb < (_ENOUGH_MB if is_on else _LOW_MB):
        return f"only {room.free_mb} MB of storage free: free some space"
    inodes = room.free_inodes_percent
    if inodes is not None and inodes < _FEW_INODES_PERCENT:
        return f"the storage can hold only {inodes} % more files: remove some"
    return ""


ROOM = Sense("room", judge_room)


def judge_writable(readings: Readings, *, is_on: bool) -> str | None:  # noqa: ARG001 - of every judge
    room = readings.room()
    if room is None:
        return None
    if not room.is_read_only:
        return ""
    return (
        "the storage is read-only, a sign of a failing card: restart the device, and "
        "replace the card if it happens again"
    )


WRITABLE = Sense("writable", judge_writable)


_REPLACE = "back up your data and replace it"


def judge_card(readings: Readings, *, is_on: bool) -> str:  # noqa: ARG001 - of every judge
    card = readings.card()
    if card.errors:
        devices = ", ".join(device for device, _ in card.errors)
        return f"the card reports errors ({card.error_count} on {devices}): {_REPLACE}"
    return f"the card is worn out ({card.reserve}): {_REPLACE}" if card.reserve else ""


CARD = Sense("card", judge_card)


# A peak of work does it for seconds
_THROTTLING_LOOKS = 2


def judge_throttling(readings: Readings, *, is_on: bool) -> str | None:  # noqa: ARG001 - of every judge
    told = readings.throttled()
    if told is None:
        return None
    slowed = [word.removesuffix(" now") for word in told if word in SLOWED]
    if not slowed:
        return ""
    return f"the processor is throttled ({', '.join(slowed)}): it lacks cooling or power"


THROTTLING = Sense("throttling", judge_throttling, _THROTTLING_LOOKS)


# The kernel's alarm lasts for 2 s after a dip: none is missed
EVERY_S = 2.0
_TEXT = (
    "the supply voltage is too low: use the power supply made for this Pi with a "
    "short cable, and power hungry devices separately"
)


def judge_voltage(readings: Readings, *, is_on: bool) -> str | None:  # noqa: ARG001 - of every judge
    told = readings.throttled()
    if told is None:
        return None
    return _TEXT if UNDER_VOLTAGE in told else ""


VOLTAGE = Sense("voltage", judge_voltage, every_s=EVERY_S)


# As much cooler that it does not come and go with every minute of work
_COOL_C = 70.0
# Longer than a peak of work
_LOOKS = 3


def judge_temperature(readings: Readings, *, is_on: bool) -> str | None:
    heat = readings.temperature_c()
    if heat is None:
        return None
    if heat < (_COOL_C if is_on else HOT_C):
        return ""
    return (
        f"the processor is at {heat:g} °C and slows down: improve the air flow or add a heat sink"
    )


TEMPERATURE = Sense("temperature", judge_temperature, _LOOKS)


# What comes back sooner is the same trouble
QUIET_S = 600.0


class Episode:
    """Episode of one sense's trouble.

    Args:
        said: of an episode that an earlier run has told of already.
    """

    def __init__(self, sense: Sense, said: str = "") -> None:
        self.name = sense.name
        # How it began, which is what is said while it lasts: a number that moves would be written
        # to the card with each look. Nothing while all is well
        self.said = said
        # When it is to be looked at next
        self.due_s = 0.0
        self._sense = sense
        self._bad_looks = 0
        self._well_since_s: float | None = None

    def look(self, readings: Readings, now_s: float) -> bool:
        """Return true if an episode begins or ends; `said` tells which."""
        found = self._sense.judge(readings, is_on=bool(self.said))
        self.due_s = now_s + (USUAL_EVERY_S if found is None else self._sense.every_s)
        if found is None:
            return False
        return self._hurts(found) if found else self._is_well(now_s)

    def _hurts(self, sentence: str) -> bool:
        self._well_since_s = None
        self._bad_looks += 1
        if self.said or self._bad_looks < self._sense.looks:
            return False
        self.said = sentence
        return True

    def _is_well(self, now_s: float) -> bool:
        self._bad_looks = 0
        if not self.said:
            return False
        if self._well_since_s is None:
            self._well_since_s = now_s
        if now_s - self._well_since_s < QUIET_S:
            return False
        self.said = ""
        self._well_since_s = None
        return True


_log = logging.getLogger(__name__)

SENSES: tuple[Sense, ...] = (VOLTAGE, THROTTLING, TEMPERATURE, CARD, WRITABLE, ROOM, WIFI)
# So that a sense whose time has come is not looked at too early by a rounding
_LEAST_PAUSE_S = 0.5
# Names and sentences of a handful of senses
_MAX_FILE_BYTES = 16 * 1024


class MachineMonitor:
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
        """Watch until cancelled."""
        while True:
            for sentence in await asyncio.to_thread(self.look):
                await self._tell(tell, f"About me: {sentence}.")
            await rest(self._clock, self._pause_s())

    def look(self) -> list[str]:
        """Return the new troubles, from the senses whose time has come."""
        changed = list(self._changed())
        begun = [episode.said for episode in changed if episode.said]
        for episode in changed:
            if episode.said:
                _log.warning("%s", episode.said)
            else:
                _log.info("health: sense is normal again (sense=%s)", episode.name)
        if changed:
            self._keep()
        return begun

    def _changed(self) -> Iterator[Episode]:
        for episode in self._episodes:
            now_s = self._clock.monotonic_s()
            # What comes due before the next moment of all looks would wake the processor by itself
            if now_s + SHARED_S > episode.due_s and episode.look(self._readings, now_s):
                yield episode

    def _pause_s(self) -> float:
        next_s = min(episode.due_s for episode in self._episodes)
        return max(_LEAST_PAUSE_S, next_s - self._clock.monotonic_s())

    async def _tell(self, tell: Tell, text: str) -> None:
        try:
            await tell(text)
        except BarnacleError as err:
            # What cannot be kept for the owner is in the log, and in every prompt
            _log.error("health: cannot tell the owner (error=%s)", err)

    def _keep(self) -> None:
        told = {episode.name: episode.said for episode in self._episodes if episode.said}
        try:
            write_atomic(self._path, msgspec.json.encode(told))
        except (StorageFull, OSError) as err:
            _log.debug("health: cannot store the told warnings (error=%s)", err)


def _told_before(path: Path) -> dict[str, str]:
    try:
        with path.open("rb") as file:
            return msgspec.json.decode(file.read(_MAX_FILE_BYTES), type=dict[str, str])
    except (OSError, msgspec.DecodeError, UnicodeError):
        return {}
