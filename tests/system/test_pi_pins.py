"""A pin of the Pi in a whole agent: asked for in words, under the stop, and at the end."""

import io
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.app.build import assemble, at_work
from agent.channels.base import Answer
from agent.peripherals import gpio
from agent.peripherals.settings import PiPinSettings
from agent.settings import Paths, Settings
from tests.fakes.channel import LocalChannel, message
from tests.fakes.pi_pins import FakePi

FAN = 17


@pytest.fixture
def pi(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> FakePi:
    """What stands in for the pins of a machine that has none."""
    fake = FakePi({"fan": PiPinSettings(gpio=FAN)})
    (tmp_path / "gpiochip0").touch()
    monkeypatch.setattr(gpio, "gpio_line", fake.opened)
    monkeypatch.setattr(gpio, "trouble_with_pins", lambda *_: "")
    monkeypatch.setattr("agent.app.tools.trouble_with_pins", lambda *_: "")
    return fake


@pytest.fixture(autouse=True)
def logs() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.mark.parametrize("answer", [Answer.YES, Answer.NO])
async def test_it_moves_with_the_owners_yes_and_is_safe_in_the_end(
    tmp_path: Path, pi: FakePi, answer: Answer
) -> None:
    agent = assemble(Settings(pins=pi.pins), Paths(None, tmp_path), {}, io.StringIO())
    channel = LocalChannel(answer)
    async with at_work(agent, [channel]) as (dispatcher, _, tasks):
        await dispatcher.deliver(message("turn the fan on"), tasks)
        await channel.wait_for(1)
        assert [question.tool for question in channel.questions] == ["gpio_write"]
        assert channel.questions[0].words == "switch fan (GPIO 17 of the Pi) on"
        assert pi.lines[FAN].is_on == (answer is Answer.YES)
        await dispatcher.deliver(message("/estop", "2"), tasks)
        assert not pi.lines[FAN].is_on
        await channel.wait_for(2)
        await dispatcher.deliver(message("turn the fan on", "3"), tasks)
        assert "emergency stop" in (await channel.wait_for(3))[2]
        await dispatcher.deliver(message("/estop clear", "4"), tasks)
        await channel.wait_for(4)
        agent.peripherals.pins.write("fan", on=True)
    assert not pi.lines[FAN].is_on
    assert pi.lines[FAN].is_closed
