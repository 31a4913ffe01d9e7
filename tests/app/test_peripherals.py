import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from agent.app.peripherals import Peripherals, RecordedParts
from agent.app.tools import ToolParts, all_tools
from agent.errors import PinRefused
from agent.messages import Provenance
from agent.messaging.delivery import Delivery
from agent.messaging.journal import open_agent_db
from agent.net.http import HttpClient
from agent.peripherals import gpio
from agent.peripherals.settings import I2cSettings, PiPinSettings
from agent.security.estop import EmergencyStop
from agent.settings import Paths, Settings
from agent.tools.send_message import Addressee, NobodyPaired
from agent.tools.settings import DelegateSettings, WebSettings, WorkspaceSettings
from tests.fakes.channel import FakeChannel, message
from tests.fakes.clock import SteppedClock
from tests.fakes.memory import PreparedMemory
from tests.fakes.pi_pins import FakePi
from tests.waits import wait_until

PINS = {"fan": PiPinSettings(gpio=17), "vent": PiPinSettings(gpio=23, safe="on")}


TERMINAL = FakeChannel()


@pytest.fixture
def pi(monkeypatch: pytest.MonkeyPatch) -> FakePi:
    """What stands in for the pins of a machine that has none."""
    fake = FakePi(PINS)
    monkeypatch.setattr(gpio, "gpio_line", fake.opened)
    monkeypatch.setattr(gpio, "trouble_with_pins", lambda: "")
    return fake


def outputs(pi: FakePi) -> dict[int, bool]:
    return {number: line.is_on for number, line in pi.lines.items()}


@asynccontextmanager
async def at_work(
    hands: Peripherals, stop: EmergencyStop, delivery: Delivery
) -> AsyncIterator[None]:
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(hands.run(stop, delivery, tasks))
        # It begins
        await asyncio.sleep(0)
        yield
        running.cancel()


@pytest.fixture
async def delivery(tmp_path: Path) -> AsyncIterator[Delivery]:
    journal = open_agent_db(tmp_path / "agent.db")
    yield Delivery(journal, {"terminal": TERMINAL}, SteppedClock())
    await journal.aclose()


async def test_pins_are_safe_from_the_start_under_the_stop_and_at_the_end(
    tmp_path: Path, pi: FakePi, delivery: Delivery
) -> None:
    stop, hands = (
        EmergencyStop(tmp_path),
        Peripherals(Settings(pins=PINS), PreparedMemory(), NobodyPaired()),
    )
    async with at_work(hands, stop, delivery):
        await wait_until(lambda: outputs(pi) == {17: False, 23: True})
        hands.pins.write("fan", on=True)
        await stop.engage("by a test")
        assert not pi.lines[17].is_on
        await stop.clear()
        assert not pi.lines[17].is_on
        hands.pins.write("fan", on=True)
    assert not pi.lines[17].is_on
    assert pi.lines[17].is_closed


async def test_a_stop_that_was_set_before_holds_the_pins_from_the_start(
    tmp_path: Path, pi: FakePi, delivery: Delivery
) -> None:
    stop, hands = (
        EmergencyStop(tmp_path),
        Peripherals(Settings(pins=PINS), PreparedMemory(), NobodyPaired()),
    )
    await stop.engage("before")
    async with at_work(hands, stop, delivery):
        await wait_until(lambda: outputs(pi) == {17: False, 23: True})
        with pytest.raises(PinRefused, match="emergency stop"):
            hands.pins.write("fan", on=True)


async def test_on_a_machine_without_pins_the_library_is_not_even_asked(
    tmp_path: Path,
    pi: FakePi,
    delivery: Delivery,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(gpio, "trouble_with_pins", lambda: "this machine has none")
    async with at_work(
        Peripherals(Settings(pins=PINS), PreparedMemory(), NobodyPaired()),
        EmergencyStop(tmp_path),
        delivery,
    ):
        await wait_until(lambda: "this machine has none" in caplog.text)
        assert pi.lines == {}


async def test_the_owner_can_be_written_to(tmp_path: Path, delivery: Delivery) -> None:
    hands = Peripherals(Settings(), PreparedMemory(), NobodyPaired())
    async with at_work(hands, EmergencyStop(tmp_path), delivery):
        owner = Addressee("owner", "terminal", "local")
        assert await hands.posting(owner, "the tea is ready")
        assert await TERMINAL.wait_for(1) == ["the tea is ready"]


def test_the_tools_are_made_of_what_is_configured_and_there(tmp_path: Path) -> None:
    settings = Settings(
        pins=PINS, i2c={"sensor": I2cSettings(address=0x76)}, agents={"poet": DelegateSettings()}
    )
    bare = ToolParts(WebSettings(), Paths(None, tmp_path), SteppedClock(), HttpClient(), ())
    around = Peripherals(settings, PreparedMemory(), NobodyPaired()).reached(bare)
    assert around.pins is not None
    assert set(around.pins.pins) == set(PINS)
    assert around.buses is not None
    assert set(around.buses.devices) == {"sensor"}
    names = {tool.name for tool in all_tools(around)}
    assert names >= {"ask_user", "delegate", "memory_export", "send_message"}


@pytest.mark.parametrize(
    ("readings", "is_group", "provenance", "is_shown"),
    [
        ("everybody", True, Provenance.USER, True),
        ("household", True, Provenance.OWNER, False),
        ("household", False, Provenance.USER, True),
        ("owner", False, Provenance.USER, False),
        ("owner", False, Provenance.OWNER, True),
    ],
)
async def test_a_plot_shows_readings_to_those_for_whom_they_are(
    tmp_path: Path, readings: str, provenance: Provenance, *, is_group: bool, is_shown: bool
) -> None:
    shared = msgspec.convert({"readings": readings}, WorkspaceSettings)
    settings = Settings(workspace=shared)
    recorded = RecordedParts(settings, Paths(None, tmp_path), SteppedClock(), ())
    hands = Peripherals(settings, PreparedMemory(), NobodyPaired(), None, recorded)
    asked = replace(message("/plot garage 24h"), is_group=is_group, provenance=provenance)
    told = await hands.plot(asked, takes_files=False)
    assert ("nothing is recorded as" in told) is is_shown
    assert ("not for everybody" in told) is not is_shown
    assert hands.record is not None
    await hands.record.store.aclose()
