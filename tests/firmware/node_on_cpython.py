"""Loads modules of the board's firmware under CPython, where coverage can be measured."""

import importlib
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from agent.readings.rule_program import ticks_add, ticks_diff
from firmware.host import kind_source
from firmware.host.bundle import FIRMWARE, FRAME


class _Pin:
    """What the modules ask of a pin's class while they are loaded."""

    IN, OUT, PULL_NONE, PULL_UP, PULL_DOWN, IRQ_RISING, IRQ_FALLING = range(7)


@contextmanager
def node_module(name: str, **stand_ins: Any) -> Iterator[Any]:
    """The module of firmware/node, with what MicroPython adds to Python while it is loaded.

    Args:
        name: the module's name in the package.
        stand_ins: modules of MicroPython that it imports, such as `pyb`.
    """
    time_module: Any = time
    time_module.ticks_add, time_module.ticks_diff = ticks_add, ticks_diff
    time_module.ticks_ms = time_module.ticks_us = lambda: 0
    micropython: Any = ModuleType("micropython")
    micropython.const = lambda value: value
    machine: Any = ModuleType("machine")
    machine.Pin = _Pin
    made = {"micropython": micropython, "machine": machine, "kinds": ModuleType("kinds")}
    # Without Flash, as on a board that has none for Python
    made["pyb"] = ModuleType("pyb")
    exec(kind_source.source(), vars(made["kinds"]))
    made |= stand_ins
    before, path = dict(sys.modules), list(sys.path)
    sys.modules.update(made)
    sys.path[:0] = [str(FIRMWARE), str(FRAME.parent)]
    try:
        yield importlib.import_module(f"node.{name}")
    finally:
        sys.path[:] = path
        for added in set(sys.modules) - set(before):
            if added.split(".")[0] in {"node", "frame", *made}:
                del sys.modules[added]
        # A stand-in for a module of Python's own, such as `array`, stays for nobody else
        sys.modules.update({one: before[one] for one in made if one in before})
        del time_module.ticks_add, time_module.ticks_diff
        del time_module.ticks_ms, time_module.ticks_us
