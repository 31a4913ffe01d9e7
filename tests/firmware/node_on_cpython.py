"""Loads modules of the board's firmware under CPython, where coverage can be measured."""

import importlib.util
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from firmware.host.bundle import FIRMWARE

# Where MicroPython's millisecond counter goes around on an STM32
TICKS_PERIOD = 1 << 30


def ticks_add(ticks: int, delta: int) -> int:
    return (ticks + delta) % TICKS_PERIOD


def ticks_diff(end: int, start: int) -> int:
    half = TICKS_PERIOD // 2
    return (end - start + half) % TICKS_PERIOD - half


@contextmanager
def node_module(name: str) -> Iterator[Any]:
    """The module of firmware/node, with what MicroPython adds to `time` while it is loaded."""
    time_module: Any = time
    time_module.ticks_add, time_module.ticks_diff = ticks_add, ticks_diff
    time_module.ticks_ms = lambda: 0
    micropython = ModuleType("micropython")
    micropython.const = lambda value: value  # type: ignore[attr-defined]  # a module made here
    sys.modules["micropython"] = micropython
    try:
        spec = importlib.util.spec_from_file_location(name, FIRMWARE / "node" / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        yield module
    finally:
        del time_module.ticks_add, time_module.ticks_diff, time_module.ticks_ms
        del sys.modules["micropython"]
