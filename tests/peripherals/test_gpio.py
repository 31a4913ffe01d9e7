import importlib.util
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from agent.errors import PinRefused
from agent.peripherals import gpio
from agent.peripherals.gpio import PiPins, after, trouble_with_pins
from agent.peripherals.settings import PiPinSettings
from tests.fakes.pi_pins import BrokenLine, FakePi, SlowToGoOff

FAN = PiPinSettings(gpio=17)
PUMP = PiPinSettings(gpio=22, max_on_s=5.0)
VENT = PiPinSettings(gpio=23, safe="on")
DOOR = PiPinSettings(gpio=27, kind="input", pull="up", active="low")
PINS = {"fan": FAN, "pump": PUMP, "vent": VENT, "door": DOOR}
HAS_LIBRARY = importlib.util.find_spec("gpiozero") is not None
needs_library = pytest.mark.skipif(not HAS_LIBRARY, reason="gpiozero is not installed (extra `pi`)")


@pytest.fixture
def factory() -> Iterator[Any]:
    import gpiozero  # noqa: PLC0415 - of the extra `pi`
    from gpiozero.pins.mock import MockFactory  # noqa: PLC0415 - as above

    before = gpiozero.Device.pin_factory
    factory = gpiozero.Device.pin_factory = MockFactory()
    yield factory
    factory.reset()
    gpiozero.Device.pin_factory = before


def test_a_level_stays_until_it_is_switched_again() -> None:
    pi = FakePi(PINS)
    pins = pi.owner()
    assert pins.write("fan", on=True)
    assert pins.read("fan")
    assert pins.read("fan")
    assert not pi.lines[17].is_closed
    assert not pins.write("fan", on=False)


def test_outputs_are_taken_at_the_start_and_are_safe() -> None:
    pi = FakePi(PINS)
    pi.owner().settle()
    assert {gpio: line.is_on for gpio, line in pi.lines.items()} == {17: False, 22: False, 23: True}


def test_a_pin_that_cannot_be_had_keeps_no_other(caplog: pytest.LogCaptureFixture) -> None:
    pi = FakePi(PINS, absent=frozenset({17}))
    pins = pi.owner()
    pins.settle()
    assert set(pi.lines) == {22, 23}
    assert "GPIO 17 cannot be used" in caplog.text
    with pytest.raises(PinRefused, match="GPIO 17"):
        pins.write("fan", on=True)


@pytest.mark.parametrize(
    ("name", "said"), [("door", "is an input"), ("heater", "no pin named heater")]
)
def test_only_configured_outputs_are_driven(name: str, said: str) -> None:
    pi = FakePi(PINS)
    with pytest.raises(PinRefused, match=said):
        pi.owner().write(name, on=True)
    assert pi.lines == {}


def test_what_is_on_for_too_long_is_ended() -> None:
    pi = FakePi(PINS)
    pins = pi.owner()
    pins.write("pump", on=True)
    assert [delay_s for delay_s, _ in pi.timers.waiting] == [5.0]
    pi.timers.run_out()
    assert not pins.read("pump")
    pins.write("pump", on=True)
    assert len(pi.timers.waiting) == 1


def test_saying_it_again_makes_it_no_longer() -> None:
    pi = FakePi(PINS)
    pins = pi.owner()
    pins.write("pump", on=True)
    pins.write("pump", on=True)
    assert len(pi.timers.waiting) == 1
    pins.write("pump", on=False)
    assert pi.timers.waiting == []


def test_a_timer_that_ran_out_while_it_was_called_off_ends_nothing() -> None:
    pi = FakePi(PINS)
    pins = pi.owner()
    pins.write("pump", on=True)
    _, ended = pi.timers.waiting[0]
    pins.write("pump", on=False)
    pi.lines[22].told.clear()
    ended()
    assert pi.lines[22].told == []


def test_an_ended_period_does_not_end_the_next() -> None:
    pi = FakePi(PINS)
    pins = pi.owner()
    pins.write("pump", on=True)
    _, ended = pi.timers.waiting[0]
    pins.write("pump", on=False)
    pins.write("pump", on=True)
    ended()
    assert pins.read("pump")


def test_what_is_wanted_for_a_time_is_ended_then() -> None:
    pi = FakePi({"pump": PUMP})
    pins = pi.owner()
    pins.write("pump", on=True, for_s=2.0)
    assert [delay_s for delay_s, _ in pi.timers.waiting] == [5.0, 2.0]
    pi.timers.run_out()
    assert not pins.read("pump")
    assert pi.timers.waiting == []


def test_a_later_word_takes_the_place_of_an_end_that_was_asked_for() -> None:
    pi = FakePi({"pump": PUMP})
    pins = pi.owner()
    pins.write("pump", on=True, for_s=2.0)
    pins.write("pump", on=True)
    assert [delay_s for delay_s, _ in pi.timers.waiting] == [5.0]
    pins.write("pump", on=True, for_s=3.0)
    pins.write("pump", on=False)
    assert pi.timers.waiting == []


def test_under_the_stop_everything_is_safe_and_stays_so() -> None:
    pi = FakePi(PINS)
    pins = pi.owner()
    pins.settle()
    pins.write("pump", on=True)
    pins.write("vent", on=False)
    pins.stop()
    assert (pins.read("pump"), pins.read("vent")) == (False, True)
    assert pi.timers.waiting == []
    for name, on in (("pump", True), ("vent", False)):
        with pytest.raises(PinRefused, match="emergency stop"):
            pins.write(name, on=on)
    assert pins.write("vent", on=True)
    pins.allow()
    assert (pins.read("pump"), pins.read("vent")) == (False, True)
    assert pins.write("pump", on=True)


def test_one_that_fails_does_not_keep_the_others_from_being_safe() -> None:
    pi = FakePi({"broken": PiPinSettings(gpio=4), **PINS})
    pins = pi.owner()
    pi.kind = BrokenLine
    pins.read("broken")
    pi.kind = FakePi.kind
    pins.write("fan", on=True)
    pins.make_safe()
    assert not pins.read("fan")


@pytest.mark.parametrize("for_s", [0.0, 2.0])
def test_what_could_not_be_ended_is_tried_again_until_it_is(
    for_s: float, caplog: pytest.LogCaptureFixture
) -> None:
    pi = FakePi({"pump": PUMP}, SlowToGoOff)
    pins = pi.owner()
    pins.write("pump", on=True, for_s=for_s)
    for _ in range(2):
        pi.timers.run_out()
        assert pins.read("pump")
        assert [delay_s for delay_s, _ in pi.timers.waiting] == [gpio.RETRY_S]
    pi.timers.run_out()
    assert not pins.read("pump")
    assert pi.timers.waiting == []
    assert caplog.text.count("cannot reach the safe value") == 1


def test_an_emergency_stop_that_a_pin_refused_is_tried_again() -> None:
    pi = FakePi({"pump": PUMP}, SlowToGoOff)
    pins = pi.owner()
    pins.write("pump", on=True)
    pins.stop()
    for _ in range(2):
        assert pins.read("pump")
        pi.timers.run_out()
    assert not pins.read("pump")


def test_a_new_order_takes_the_place_of_what_is_tried_again() -> None:
    pi = FakePi({"fan": FAN}, SlowToGoOff)
    pins = pi.owner()
    pins.write("fan", on=True)
    pins.make_safe()
    pins.write("fan", on=True)
    assert pi.timers.waiting == []
    assert pins.read("fan")


def test_nothing_is_tried_again_after_the_end() -> None:
    pi = FakePi({"pump": PUMP}, BrokenLine)
    pins = pi.owner()
    pins.read("pump")
    pins.close()
    assert pi.timers.waiting == []


def test_at_the_end_it_is_safe_before_it_is_let_go() -> None:
    pi = FakePi(PINS)
    pins = pi.owner()
    pins.write("fan", on=True)
    pins.close()
    pins.close()
    assert (pi.lines[17].told, pi.lines[17].is_closed) == ([True, False], True)
    with pytest.raises(PinRefused, match="closed"):
        pins.read("fan")


def test_a_timer_runs_out_also_where_no_loop_runs() -> None:
    ended = threading.Event()
    after(0.01, ended.set)
    assert ended.wait(5)
    call_off = after(0.05, ended.clear)
    call_off()
    assert not threading.Event().wait(0.1)
    assert ended.is_set()


@needs_library
def test_behind_gpiozero_levels_are_what_is_meant(factory: Any) -> None:
    pins = PiPins({**PINS, "low": PiPinSettings(gpio=5, active="low")})
    pins.settle()
    states = {number: factory.pin(number).state for number in (17, 22, 23, 5)}
    assert states == {17: 0, 22: 0, 23: 1, 5: 1}
    assert pins.write("low", on=True)
    assert pins.write("fan", on=True)
    assert (factory.pin(5).state, factory.pin(17).state) == (0, 1)
    assert not pins.read("door")
    factory.pin(27).drive_low()
    assert pins.read("door")
    pins.close()


@needs_library
def test_an_output_never_has_another_level_than_its_safe_one_before_it_is_switched(
    factory: Any,
) -> None:
    pins = PiPins({"vent": VENT, "low": PiPinSettings(gpio=5, active="low")})
    pins.settle()
    for number in (VENT.gpio, 5):
        assert {one.state for one in factory.pin(number).states[1:]} == {True}
    pins.close()


@needs_library
@pytest.mark.usefixtures("factory")
def test_a_pin_that_somebody_has_is_a_sentence() -> None:
    held = gpio.gpio_line(FAN)
    with pytest.raises(PinRefused, match="cannot use GPIO 17"):
        gpio.gpio_line(FAN)
    held.close()


class TornDevice:
    """Whose chip is gone."""

    @property
    def pin(self) -> Any:
        raise LgpioError("bad handle")

    value = property(lambda self: self.pin, lambda self, _value: self.pin)

    def close(self) -> None:
        raise LgpioError("bad handle")


class LgpioError(Exception):
    """As lgpio has one of its own."""


@needs_library
def test_what_lies_beneath_the_library_refuses_in_a_sentence_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "lgpio", SimpleNamespace(error=LgpioError))
    line = gpio.GpioLine(TornDevice(), FAN)
    for act in (line.read, line.close, lambda: line.switch(on=True)):
        with pytest.raises(PinRefused, match="cannot use GPIO 17: bad handle"):
            act()
    pins = PiPins({"fan": FAN}, lambda _pin: line)
    pins.settle()
    pins.make_safe()
    pins.close()


def test_without_the_library_it_is_said_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    with pytest.raises(PinRefused, match=r"pip install '\.\[pi\]'"):
        gpio.gpio_line(FAN)


@pytest.mark.parametrize(
    ("device", "spec", "said"),
    [("null", "found", "gpiochip*"), ("gpiochip0", None, "gpiozero"), ("gpiochip0", "found", "")],
)
def test_what_is_missing_is_seen_without_trying(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, device: str, spec: str | None, said: str
) -> None:
    (tmp_path / device).touch()
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: spec)
    trouble = trouble_with_pins(tmp_path)
    assert said in trouble
    assert bool(trouble) == bool(said)
