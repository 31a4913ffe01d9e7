"""An encoder of which one contact has no interrupt, under CPython."""

from types import SimpleNamespace
from typing import Any

import pytest

from tests.firmware.node_on_cpython import node_module


class Pin:
    """Pins of the same number share one interrupt: who has it, by that number."""

    IN, PULL_UP, PULL_DOWN, PULL_NONE, IRQ_RISING, IRQ_FALLING = range(6)
    taken: dict[str, str] = {}  # noqa: RUF012  - the hardware's own

    def __init__(self, name: str, *_: Any) -> None:
        self._name = name

    def value(self) -> int:
        return 0

    def irq(self, handler: Any, *_: Any, **__: Any) -> None:
        line = self._name[2:]
        if self.taken.get(line, self._name) != self._name:
            raise OSError("IRQ resource already taken")
        if handler is None:
            self.taken.pop(line, None)
        else:
            self.taken[line] = self._name


def test_an_encoder_that_cannot_be_made_leaves_no_interrupt_behind() -> None:
    with node_module("devices.encoder", machine=SimpleNamespace(Pin=Pin)) as module:
        Pin.taken = {"5": "PA5"}
        with pytest.raises(OSError, match="taken"):
            module.Encoder({"pin": "PB4", "pin_b": "PB5"})
        assert Pin.taken == {"5": "PA5"}
        made = module.Encoder({"pin": "PB4", "pin_b": "PB6"})
        made.close()
        assert Pin.taken == {"5": "PA5"}
