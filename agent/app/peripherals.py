"""Composition of the agent's hands: the machine's pins and buses, other programs, people.

Parts are made when they are first needed: most agents have nothing wired to their machine.
"""

import asyncio
import logging
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from agent.app.scheduler import Scheduler
from agent.hardware.watches import BoardWatcher
from agent.memory.base import Memory
from agent.messages import Inbound, Provenance
from agent.messaging.delivery import Delivery
from agent.security.access import Circle
from agent.security.estop import EmergencyStop
from agent.settings import Paths, Settings
from agent.system.clock import Clock

if TYPE_CHECKING:
    from collections.abc import Coroutine, Mapping, Sequence

    from agent.access.owner import Owner, Tell
    from agent.app.blank import BlankWatch
    from agent.app.devices import HouseDevices
    from agent.app.readings import ReadingRecord
    from agent.app.tools import ToolParts
    from agent.blank.notice import Confirm
    from agent.link.board import SerialBoard
    from agent.messaging.tool_messages import ToolMessages
    from agent.peripherals.gpio import PiPins
    from agent.peripherals.i2c import I2cBuses
    from agent.readings.series import Series
    from agent.readings.summary import Moment
    from agent.security.redact import Redactor
    from agent.tools.base import AnyTool
    from agent.tools.order_rehearsal import OrderRehearsal
    from agent.tools.reflex_rehearsal import ReflexRehearsal
    from agent.tools.send_message import Addressees

# ruff: noqa: PLC0415  # what is not configured or never used is never loaded
_log = logging.getLogger(__name__)

# A start has better things to do, and a link tells of a strange device only after some seconds
FIRST_LOOK_S = 12.0


class RecordedParts(Struct, frozen=True, dict=True):
    """Parts whose readings are recorded, and what was; it is opened when it is first needed."""

    settings: Settings
    paths: Paths
    clock: Clock
    boards: "Sequence[SerialBoard]"

    @cached_property
    def record(self) -> "ReadingRecord":
        from agent.app.readings import ReadingRecord

        return ReadingRecord(self.settings, self.paths, self.clock, self.boards)

    def order_rehearsal(self) -> "OrderRehearsal":
        """Return what tries the orders of jobs and watches on the readings."""
        return self.record.orders

    def watchers(self) -> tuple[BoardWatcher, ...]:
        """Return what looks after the watches of each board."""
        paths, clock, rehearsal = self.paths, self.clock, self.order_rehearsal
        return tuple(
            BoardWatcher(board, wanted.watch, paths.watches(wanted), clock, wanted.name, rehearsal)
            for board, wanted in zip(self.boards, self.settings.every_board(), strict=True)
        )


class Peripherals:
    """The hands of one agent; outputs are at rest until `run` is at work, and after it.

    Args:
        addressees: those who may be written to.
        agenda: what is done at times; None where nothing runs it.
        recorded: what is remembered; None where nothing is.
        devices: other devices of the owner; None where none is configured.
    """

    def __init__(
        self,
        settings: Settings,
        memory: Memory,
        addressees: "Addressees",
        agenda: Scheduler | None = None,
        recorded: RecordedParts | None = None,
        devices: "HouseDevices | None" = None,
    ) -> None:
        self.devices = devices
        self._settings = settings
        self._addressees = addressees
        self._memory = memory
        self._agenda = agenda
        self._recorded = recorded

    @cached_property
    def pins(self) -> "PiPins":
        from agent.peripherals.gpio import PiPins

        return PiPins(self._settings.pins)

    @cached_property
    def buses(self) -> "I2cBuses":
        from agent.peripherals.i2c import I2cBuses

        return I2cBuses(self._settings.i2c)

    @cached_property
    def posting(self) -> "ToolMessages":
        from agent.messaging.tool_messages import ToolMessages

        return ToolMessages()

    @property
    def record(self) -> "ReadingRecord | None":
        """Return the readings that are remembered; None where none are."""
        return self._recorded.record if self._recorded else None

    def newest_readings(self) -> "Mapping[Series, Moment]":
        """Return the newest value of each recorded reading."""
        return self.record.store.newest() if self.record else {}

    def rehearsal(self) -> "ReflexRehearsal | None":
        """Return what tries reflexes on the readings; None where none are remembered."""
        return self.record.rehearsal if self.record else None

    async def plot(self, message: Inbound, *, takes_files: bool) -> str:
        """Return the answer to `/plot`, to those for whom readings are."""
        if self.record is None:
            return "Nothing is recorded here."
        if not _may_see(self._settings.workspace.shares.readings, message):
            return "Readings are not for everybody who reads this chat."
        return await self.record.plot(message.text, takes_files=takes_files)

    def device_tools(self) -> "tuple[AnyTool, ...]":
        """Return the tools of other devices."""
        return self.devices.tools() if self.devices else ()

    def reached(self, around: "ToolParts") -> "ToolParts":
        """Return the parts that tools are made of, with these hands."""
        return replace(
            around,
            pins=self.pins,
            buses=self.buses,
            agents=self._settings.agents,
            home=self._settings.home_assistant,
            browser=self._settings.browser,
            memory=self._memory,
            addressees=self._addressees,
            post=self.posting,
            jobs=self._agenda.book if self._agenda else None,
            timers=self._agenda.timers if self._agenda else None,
            reminders=self._agenda.reminders if self._agenda else None,
            readings=self.record.tools() if self.record else (),
        )

    async def run(self, stop: EmergencyStop, delivery: Delivery, tasks: asyncio.TaskGroup) -> None:
        """Have messages sent and hold the pins, safe under the emergency stop; until cancelled."""
        self.posting.open(delivery, tasks)
        try:
            if self._settings.pins:
                stop.listen(self.pins.stop, self.pins.allow)
                await asyncio.to_thread(self._settle)
            if self.record is not None:
                await self.record.run(self.pins if self._settings.pins else None)
            await asyncio.Event().wait()
        finally:
            self._let_go()

    def make_safe(self) -> None:
        """Switch every output of the machine's own to its safe value."""
        if self._settings.pins:
            self.pins.make_safe()

    async def aclose(self) -> None:
        """Let go of what stays open between two runs."""
        if self.devices is not None:
            await self.devices.aclose()

    def watches(
        self, owner: "Owner", confirm: "Confirm"
    ) -> "tuple[Coroutine[None, None, None], ...]":
        """Return what looks at the sensors and for blank boards, each until cancelled."""
        return self._notice(owner), self._install(confirm, owner.tell)

    async def _notice(self, owner: "Owner") -> None:
        """Tell the owner of unusual readings."""
        if self.record is not None:
            await self.record.notice(owner)

    async def _install(self, confirm: "Confirm", tell: "Tell") -> None:
        """Ask the owner about boards without our firmware, and install it."""
        if (around := self._recorded) is None:
            return
        await around.clock.sleep(FIRST_LOOK_S)
        watch = await asyncio.to_thread(_blank_watch, around)
        await watch.run(confirm, tell)

    def _settle(self) -> None:
        from agent.peripherals.gpio import trouble_with_pins

        # Without any pin the library would only complain, at length
        if trouble := trouble_with_pins():
            _log.warning("pins: not driven (reason=%s)", trouble)
        else:
            self.pins.settle()

    def _let_go(self) -> None:
        """Safe, and free for others."""
        if self._settings.pins:
            self.pins.close()
        if self._settings.i2c:
            self.buses.close()


def _blank_watch(around: RecordedParts) -> "BlankWatch":
    from agent.app.blank import BlankWatch

    record = around.paths.board_install
    return BlankWatch(around.boards, around.settings, record, around.clock)


def open_devices(
    around: RecordedParts, environ: "Mapping[str, str]", redactor: "Redactor"
) -> "HouseDevices | None":
    """Return the other devices of the owner; their keys are removed from every text.

    Raises:
        ConfigRefused: a key is missing, or there is no way to one of them.
    """
    if around.settings.devices is None:
        return None
    from agent.app.devices import HouseDevices

    made = HouseDevices(around.settings, around.paths, environ, around.clock)
    for key in made.keys.values():
        redactor.add(key)
    return made


def _may_see(circle: Circle, message: Inbound) -> bool:
    """Return true if everybody in the chat may see readings."""
    if circle is Circle.EVERYBODY:
        return True
    is_owner = message.provenance is Provenance.OWNER
    return not message.is_group and (circle is Circle.HOUSEHOLD or is_owner)
