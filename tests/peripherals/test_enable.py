import importlib.util
import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from agent.errors import ConfigRefused, PinRefused
from agent.peripherals import enable

GPIO = 17
HAS_LIBRARY = importlib.util.find_spec("gpiozero") is not None
needs_library = pytest.mark.skipif(not HAS_LIBRARY, reason="gpiozero is not installed (extra `pi`)")


@pytest.fixture
def pins() -> Iterator[Any]:
    import gpiozero  # noqa: PLC0415 - of the extra `pi`
    from gpiozero.pins.mock import MockFactory  # noqa: PLC0415 - as above

    before = gpiozero.Device.pin_factory
    factory = gpiozero.Device.pin_factory = MockFactory()
    yield factory
    factory.reset()
    gpiozero.Device.pin_factory = before


@needs_library
def test_a_line_is_off_until_it_is_switched_on_and_off_when_it_is_closed(pins: Any) -> None:
    line = enable.open_line(GPIO)
    pin = pins.pin(GPIO)
    assert pin.state == 0
    line.switch(on=True)
    assert pin.state == 1
    line.switch(on=False)
    assert pin.state == 0
    line.switch(on=True)
    line.close()
    assert pin.state == 0
    enable.open_line(GPIO).close()


@needs_library
@pytest.mark.usefixtures("pins")
def test_a_pin_that_is_not_there_is_a_sentence() -> None:
    with pytest.raises(ConfigRefused, match="enable_gpio: cannot use GPIO 99"):
        enable.open_line(99)
    held = enable.open_line(GPIO)
    with pytest.raises(ConfigRefused, match="enable_gpio: cannot use GPIO 17"):
        enable.open_line(GPIO)
    held.close()


class TornDevice:
    """Whose chip is gone."""

    def _fail(self, *_: object) -> None:
        raise LgpioError("bad handle")

    value = property(_fail, _fail)
    off = close = _fail


class LgpioError(Exception):
    """As lgpio has one of its own."""


@needs_library
def test_what_lies_beneath_the_library_refuses_in_a_sentence_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import gpiozero  # noqa: PLC0415 - of the extra `pi`

    monkeypatch.setitem(sys.modules, "lgpio", SimpleNamespace(error=LgpioError))
    line = enable.EnableGpioLine(TornDevice(), GPIO)  # type: ignore[arg-type]  # as far as a line needs one
    for act in (line.close, lambda: line.switch(on=True)):
        with pytest.raises(PinRefused, match="cannot use GPIO 17: bad handle"):
            act()

    def torn(*_: object, **__: object) -> None:
        raise LgpioError("can not open gpiochip")

    monkeypatch.setattr(gpiozero, "DigitalOutputDevice", torn)
    with pytest.raises(ConfigRefused, match="enable_gpio: cannot use GPIO 17: can not open"):
        enable.open_line(GPIO)


def test_without_the_library_it_is_said_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    assert "pip install '.[pi]'" in enable.missing_library()
    with pytest.raises(ConfigRefused, match="needs gpiozero"):
        enable.open_line(GPIO)
