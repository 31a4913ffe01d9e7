"""Loads the hardware of the simulated board under CPython, where it can be stopped anywhere."""

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType, SimpleNamespace
from typing import Any

from firmware.host.bundle import FIRMWARE

SIMULATOR = str(FIRMWARE / "simulator")
_OWN = ("interrupts", "machine", "peripherals")


@contextmanager
def simulated_machine(world: Any) -> Iterator[Any]:
    """`machine` and what belongs to it, in that world.

    Args:
        world: takes the changes of pins, as firmware/simulator/world.py.
    """
    stand_ins: dict[str, Any] = {
        "board": SimpleNamespace(LINK=("uart", 2, 0), PINS=(), SUPPLY_MV=3300),
        "micropython": SimpleNamespace(heap_lock=lambda: None, heap_unlock=lambda: None),
        "quantity": SimpleNamespace(SUPPLY_V=3.3),
        "things": SimpleNamespace(
            at=lambda *_: None,
            wake=lambda *_: None,
            shown_at=lambda _: None,
            is_pulled_up=lambda _: False,
        ),
        "wires": ModuleType("wires"),
        "world": world,
    }
    before = {name: sys.modules.pop(name, None) for name in (*stand_ins, *_OWN)}
    sys.modules.update(stand_ins)
    sys.path.insert(0, SIMULATOR)
    try:
        yield importlib.import_module("machine")
    finally:
        sys.path.remove(SIMULATOR)
        for name, module in before.items():
            sys.modules.pop(name, None)
            if module is not None:
                sys.modules[name] = module
