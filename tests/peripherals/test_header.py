import importlib.util
from pathlib import Path
from typing import Any

import pytest

from agent.peripherals import header
from agent.peripherals.header import chip_labels, header_chip, use_header

HAS_LIBRARY = importlib.util.find_spec("gpiozero") is not None
needs_library = pytest.mark.skipif(not HAS_LIBRARY, reason="gpiozero is not installed (extra `pi`)")


@pytest.mark.parametrize(
    ("labels", "number"),
    [
        # A Pi 5, whose processor has pins of its own
        (
            {
                "gpiochip0": "7d508500.gpio",
                "gpiochip1": "7d517c00.gpio",
                "gpiochip2": "pinctrl-rp1",
            },
            2,
        ),
        ({"gpiochip0": "raspberrypi-exp-gpio", "gpiochip1": "pinctrl-bcm2711"}, 1),
        ({"gpiochip0": "pinctrl-bcm2835", "gpiochip1": "raspberrypi-exp-gpio"}, 0),
        # Ten chips: names are no numbers
        ({"gpiochip10": "pinctrl-rp1", "gpiochip2": "i2c-expander"}, 10),
        ({"gpiochip0": "9030000.pl061"}, None),
        ({}, None),
    ],
)
def test_the_headers_chip_is_found_by_its_label(labels: dict[str, str], number: int | None) -> None:
    assert header_chip(labels) == number


def test_what_is_no_chip_has_no_label(tmp_path: Path) -> None:
    (tmp_path / "gpiochip0").write_bytes(b"a file")
    (tmp_path / "gpiochip1").symlink_to("/dev/null")
    assert chip_labels(tmp_path) == {}


class ChipNumberFactory:
    """A factory that only remembers which chip it was given."""

    def __init__(self, chip: int) -> None:
        self.chip = chip

    def close(self) -> None: ...

    def reset(self) -> None: ...


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Any:
    import gpiozero  # noqa: PLC0415 - of the extra `pi`

    monkeypatch.delenv("GPIOZERO_PIN_FACTORY", raising=False)
    monkeypatch.setattr(gpiozero.Device, "pin_factory", None)
    monkeypatch.setattr(header.importlib.util, "find_spec", lambda _: object())
    module = type("lgpio_pins", (), {"LGPIOFactory": ChipNumberFactory})
    monkeypatch.setitem(__import__("sys").modules, "gpiozero.pins.lgpio", module)
    return gpiozero.Device


@needs_library
def test_gpiozero_is_given_the_headers_chip(
    library: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(header, "chip_labels", lambda _: {"gpiochip7": "pinctrl-rp1"})
    use_header(tmp_path)
    assert library.pin_factory.chip == 7
    library.pin_factory = None


@needs_library
def test_a_chip_that_nobody_knows_is_left_to_gpiozero(
    library: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(header, "chip_labels", lambda _: {"gpiochip0": "9030000.pl061"})
    use_header(tmp_path)
    assert library.pin_factory is None


@needs_library
def test_what_was_chosen_before_stays(
    library: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(header, "chip_labels", lambda _: {"gpiochip7": "pinctrl-rp1"})
    monkeypatch.setenv("GPIOZERO_PIN_FACTORY", "mock")
    use_header(tmp_path)
    assert library.pin_factory is None
