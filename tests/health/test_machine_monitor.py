import asyncio
import json
from pathlib import Path

import pytest

from agent.errors import StorageFull
from agent.health import machine_monitor as temperature
from agent.health.machine_monitor import QUIET_S, SENSES, USUAL_EVERY_S, MachineMonitor
from agent.machine.readings import Readings
from tests.fakes.clock import SteppedClock
from tests.fakes.kernel import write

FIRMWARE = "sys/devices/platform/soc/soc:firmware/get_throttled"
ERRORS = "sys/fs/ext4/mmcblk0p4/errors_count"


class Machine:
    """Readings of a folder, watched."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "root"
        self.path = folder / "senses.json"
        self.clock = SteppedClock()
        self.folder = folder
        self.watching = self.started()

    def started(self) -> MachineMonitor:
        return MachineMonitor(Readings(self.folder, self.root), self.path, self.clock)

    def set(self, name: str, text: str) -> None:
        write(self.root, name, text)

    def look_after(self, duration_s: float) -> list[str]:
        self.clock.advance(duration_s)
        return self.watching.look()


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_a_machine_that_is_well_says_and_writes_nothing(machine: Machine) -> None:
    assert machine.look_after(0) == []
    assert machine.watching.sentences() == ()
    assert not machine.path.exists()


def test_what_begins_is_told_once(machine: Machine) -> None:
    machine.set(FIRMWARE, "1")
    (told,) = machine.look_after(0)
    assert "voltage" in told
    assert machine.watching.sentences() == (told,)
    assert machine.look_after(USUAL_EVERY_S) == []


def test_a_restart_does_not_tell_it_again(machine: Machine) -> None:
    machine.set(ERRORS, "3")
    (told,) = machine.look_after(0)
    machine.watching = machine.started()
    assert machine.look_after(0) == []
    assert machine.watching.sentences() == (told,)


def test_what_is_over_can_begin_again(machine: Machine) -> None:
    machine.set(FIRMWARE, "1")
    machine.look_after(0)
    machine.set(FIRMWARE, "0")
    machine.look_after(temperature.EVERY_S)
    assert machine.look_after(QUIET_S) == []
    assert machine.watching.sentences() == ()
    assert json.loads(machine.path.read_text()) == {}
    machine.set(FIRMWARE, "1")
    assert len(machine.look_after(temperature.EVERY_S)) == 1


@pytest.mark.parametrize("content", ["", "[]", '{"card": 3}', "\0"])
def test_a_damaged_file_is_forgotten(machine: Machine, content: str) -> None:
    machine.path.write_text(content)
    machine.watching = machine.started()
    assert machine.look_after(0) == []


def test_a_file_that_cannot_be_written_ends_nothing(machine: Machine) -> None:
    machine.path.mkdir()
    machine.set(ERRORS, "1")
    assert len(machine.look_after(0)) == 1


def test_each_sense_has_a_name_of_its_own() -> None:
    assert len({sense.name for sense in SENSES}) == len(SENSES)


async def watched(machine: Machine, looks: int) -> list[str]:
    """What the owner is told within so many looks."""
    told: list[str] = []

    async def tell(text: str) -> None:
        told.append(text)

    running = asyncio.ensure_future(machine.watching.run(tell))
    while len(machine.clock.slept_s) < looks:  # noqa: ASYNC110 - the clock says nothing
        await asyncio.sleep(0)
    running.cancel()
    await asyncio.wait([running])
    return told


async def test_the_owner_is_told_by_the_way_that_is_there(machine: Machine) -> None:
    machine.set(ERRORS, "3")
    (told,) = await watched(machine, 4)
    assert told.startswith("About me: the card reports errors (3 on mmcblk0p4)")


async def test_a_machine_that_tells_no_voltage_is_looked_at_seldom(machine: Machine) -> None:
    await watched(machine, 3)
    assert machine.clock.slept_s[:3] == [USUAL_EVERY_S] * 3
    machine.set(FIRMWARE, "0")
    await watched(machine, 8)
    assert machine.clock.slept_s[5:8] == [temperature.EVERY_S] * 3


async def test_an_owner_who_cannot_be_told_does_not_end_the_watching(machine: Machine) -> None:
    machine.set(ERRORS, "3")

    async def fail(_: str) -> None:
        raise StorageFull("no room")

    running = asyncio.ensure_future(machine.watching.run(fail))
    while len(machine.clock.slept_s) < 2:  # noqa: ASYNC110 - the clock says nothing
        await asyncio.sleep(0)
    assert not running.done()
    running.cancel()
    await asyncio.wait([running])
