"""Watches at work: the board's events become words to the owner, or turns.

Watches from the configuration and from chats; what a chat has added and when each was told outlive
a restart. Quiet while the board is away: what it could not tell is not made up.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from agent.access.owner import Owner
from agent.errors import BadArguments, BarnacleError
from agent.link.events import BoardEvent, BoardSubscription, EventSource
from agent.link.manifest import Manifest
from agent.link.readings import UnknownName, find_reading
from agent.link.settings import BoardSettings, WatchSettings
from agent.passage import Fact, Provenance, outside
from agent.storage.documents import open_documents
from agent.system.clock import Clock

if TYPE_CHECKING:
    from tinydb import TinyDB

    from agent.hardware.alarm import Alarm
    from agent.tools.base import Forecast
    from agent.tools.order_rehearsal import OrderRehearsal

_log = logging.getLogger(__name__)

# A board takes 16 subscriptions; the approval button and others need theirs
MAX_WATCHES = 12
# The board that is meant when nobody names one
PLAIN_BOARD = BoardSettings().name


class BoardWatcher:
    """Every watch of one board.

    Args:
        own: the watches of the configuration, by name.
        name: of the board.
        rehearsal: gives what tries watches on the readings; None where nothing is recorded.
    """

    def __init__(
        self,
        board: EventSource,
        own: Mapping[str, WatchSettings],
        path: Path,
        clock: Clock,
        name: str = PLAIN_BOARD,
        rehearsal: "Callable[[], OrderRehearsal | None]" = lambda: None,
    ) -> None:
        self.prefix = "" if name == PLAIN_BOARD else f"{name}_"
        self._board_name = name
        self._board = board
        self._rehearsal = rehearsal
        self._path = path
        self._clock = clock
        self._own = own
        self._alarms: dict[str, tuple[Alarm, BoardSubscription]] = {}
        self._opened: TinyDB | None = None
        # One thread at a time rewrites the file
        self._storing = asyncio.Lock()
        # What an earlier run has left comes first
        self._loaded = asyncio.Event()
        self._added = asyncio.Event()
        self._fresh: list[tuple[Alarm, BoardSubscription]] = []
        self._listeners: list[Callable[[], None]] = []

    @property
    def manifest(self) -> Manifest | None:
        """Return what is wired to the board; None before it was first connected."""
        return self._board.manifest

    async def run(self, owner: Owner) -> None:
        """Until cancelled."""
        for alarm in await asyncio.to_thread(self._remembered):
            self._begin(alarm)
        self._loaded.set()
        async with asyncio.TaskGroup() as group:
            while True:
                self._added.clear()
                for alarm, events in self._fresh:
                    group.create_task(self._follow(alarm, events, owner))
                self._fresh.clear()
                await self._added.wait()

    async def add(self, name: str, wanted: WatchSettings, trust: Provenance) -> None:
        """See `agent.tools.watch.Watches`."""
        await self._loaded.wait()
        if name in self._own:
            raise BadArguments(f"{name} is in the configuration: choose another name")
        if name not in self._alarms and len(self._alarms) >= MAX_WATCHES:
            raise BadArguments(f"there are {MAX_WATCHES} watches already: remove one first")
        if self._board.manifest is None:
            raise BadArguments("no board has been connected yet, so no watch can be added")
        try:
            reading = find_reading(self._board.manifest, wanted.pin)
        except UnknownName as err:
            raise BadArguments(str(err)) from err
        if wanted.becomes and wanted.becomes not in reading.field.choices:
            known = " or ".join(reading.field.choices) or "a number: use above or below"
            raise BadArguments(f"{reading.name} becomes {known}")
        from agent.hardware.alarm import Alarm  # noqa: PLC0415 - only where something is watched

        alarm = Alarm(name, msgspec.structs.replace(wanted, pin=reading.name), trust=trust)
        async with self._storing:
            # First: where there is no room the one that it replaces stays at work
            await asyncio.to_thread(self._keep, alarm)
            self._end(name)
            self._begin(alarm)

    async def foresee(self, name: str, wanted: WatchSettings, language: str) -> "Forecast | None":
        """See `agent.tools.watch.Watches`."""
        rehearsal = self._rehearsal()
        if rehearsal is None or self._board.manifest is None:
            return None
        from agent.hardware.watch_rehearsal import DescribedWatch, foreseen  # noqa: PLC0415 - for those who add one

        described = DescribedWatch(self._board_name, self._board.manifest, name, wanted)
        return await foreseen(described, rehearsal, language)

    async def remove(self, name: str) -> bool:
        """See `agent.tools.watch.Watches`."""
        await self._loaded.wait()
        if name in self._own:
            place = f"{'boards.' if self.prefix else ''}{self._board_name}.watch.{name}"
            raise BadArguments(f"{name} stands in the configuration, as [{place}]")
        if name not in self._alarms:
            return False
        async with self._storing:
            await asyncio.to_thread(self._forget, name)
            self._end(name)
        return True

    def listed(self) -> Sequence[Mapping[str, Fact]]:
        """See `agent.tools.watch.Watches`."""
        return [_described(alarm, events) for alarm, events in self._alarms.values()]

    def listen(self, listener: Callable[[], None]) -> None:
        """Call it after every event, from now on."""
        self._listeners.append(listener)

    async def until_known(self) -> None:
        """Wait until what an earlier run has left is at work."""
        await self._loaded.wait()

    def raised(self) -> Mapping[str, bool | None]:
        """Return the watches with a condition: true where it holds, None where nobody knows."""
        return {
            f"{self.prefix}{alarm.name}": None if events.trouble else alarm.is_raised
            for alarm, events in self._alarms.values()
            if alarm.has_condition
        }

    def _begin(self, alarm: "Alarm") -> None:
        pair = (alarm, self._board.subscribe(alarm.watch))
        self._alarms[alarm.name] = pair
        self._fresh.append(pair)
        self._added.set()

    def _end(self, name: str) -> None:
        if name in self._alarms:
            _, events = self._alarms.pop(name)
            events.close()

    async def _follow(self, alarm: "Alarm", events: BoardSubscription, owner: Owner) -> None:
        async for event in events:
            try:
                await self._on_event(alarm, event, owner)
            except BarnacleError as err:
                # A full disk must not end the watching
                _log.error("watch: not subscribed (name=%s, error=%s)", alarm.name, err)

    async def _on_event(self, alarm: "Alarm", event: BoardEvent, owner: Owner) -> None:
        was_beyond = alarm.is_beyond
        is_told = alarm.takes(event, self._clock.wall_s())
        for listener in self._listeners:
            listener()
        if is_told and alarm.wanted.ask:
            words = alarm.instruction(event)
            await owner.begin(f"{self.prefix}{alarm.name}", words)
        elif is_told:
            await owner.tell(alarm.sentence(event))
        if is_told or alarm.is_beyond != was_beyond:
            async with self._storing:
                # One that was removed or replaced while it was told must not come back
                if self._is_at_work(alarm):
                    await asyncio.to_thread(self._keep, alarm)

    def _is_at_work(self, alarm: "Alarm") -> bool:
        return any(alarm is one for one, _ in self._alarms.values())

    def _remembered(self) -> "list[Alarm]":
        from agent.hardware.alarm import Alarm  # noqa: PLC0415 - as above

        kept = {str(document.get("name")): document for document in self._documents().all()}
        owner = Provenance.OWNER
        alarms = [Alarm(name, wanted, own=True, trust=owner) for name, wanted in self._own.items()]
        for name, document in kept.items():
            if name not in self._own and "wanted" in document:
                try:
                    alarms.append(_added(name, document))
                except ValueError as err:
                    # Of another version, or changed by hand: the others are at work all the same
                    _log.error("watch: left out (name=%s, error=%s)", name, err)
        for alarm in alarms:
            document = kept.get(alarm.name, {})
            # The configuration may name another reading or limit by now: of that nothing was told
            if document.get("condition", alarm.condition) == alarm.condition:
                alarm.is_beyond = bool(document.get("is_beyond"))
                alarm.told_s = _times(document.get("told_s"))
        return alarms[:MAX_WATCHES]

    def _keep(self, alarm: "Alarm") -> None:
        from tinydb import where  # noqa: PLC0415 - only where something is kept

        document = {
            "name": alarm.name,
            "condition": alarm.condition,
            "is_beyond": alarm.is_beyond,
            "told_s": alarm.told_s,
        }
        if not alarm.own:
            document |= {"wanted": msgspec.to_builtins(alarm.wanted), "trust": int(alarm.trust)}
        self._documents().upsert(document, where("name") == alarm.name)

    def _forget(self, name: str) -> None:
        from tinydb import where  # noqa: PLC0415 - as above

        self._documents().remove(where("name") == name)

    def _documents(self) -> "TinyDB":
        if self._opened is None:
            self._opened = open_documents(self._path)
        return self._opened


def _added(name: str, document: Mapping[str, object]) -> "Alarm":
    """Return what a chat has added; raise ValueError where it makes no sense."""
    from agent.hardware.alarm import Alarm  # noqa: PLC0415 - as above

    wanted = msgspec.convert(document["wanted"], WatchSettings)
    # Of an older one nobody knows any more what its turn had read
    trust = msgspec.convert(document.get("trust", Provenance.WEB), Provenance)
    return Alarm(name, wanted, trust=trust)


def _times(kept: object) -> list[float]:
    try:
        return msgspec.convert(kept or [], list[float])
    except msgspec.ValidationError:
        return []


def _described(alarm: "Alarm", events: BoardSubscription) -> dict[str, Fact]:
    said = outside("", alarm.trust, f"watch:{alarm.name}")
    described: dict[str, Fact] = {"name": said.saying(alarm.name)}
    for key, value in msgspec.to_builtins(alarm.wanted).items():
        if value:
            described[key] = said.saying(value) if isinstance(value, str) else value
    if events.trouble:
        # It may be the board that says why
        described["trouble"] = outside(events.trouble, Provenance.SENSOR)
    return described
