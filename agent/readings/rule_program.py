"""Program that runs the board's own rule code on this machine, in a process that ends with it.

Reads a task as JSON from standard input: the sources of the firmware's modules, what the program is
to do and its numbers. Writes what came of it as JSON to standard output. Imports nothing of the
agent: it is started by its path, and every other module comes with the task.
"""

import importlib
import json
import sys
import time
from collections.abc import Mapping
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

# Where MicroPython's counter of milliseconds goes around on an STM32
TICKS_PERIOD = 1 << 30


def ticks_add(ticks: int, delta: int) -> int:
    return (ticks + delta) % TICKS_PERIOD


def ticks_diff(end: int, start: int) -> int:
    half = TICKS_PERIOD // 2
    return (end - start + half) % TICKS_PERIOD - half


class _Sources:
    """Finder and loader of the modules that came with the task."""

    def __init__(self, sources: Mapping[str, str]) -> None:
        self._sources = sources

    def find_spec(self, name: str, path: object = None, target: object = None) -> Any:
        del path, target
        is_package = any(known.startswith(f"{name}.") for known in self._sources)
        if name not in self._sources and not is_package:
            return None
        return ModuleSpec(name, self, is_package=is_package)  # type: ignore[arg-type]  # a loader by its methods

    def create_module(self, spec: object) -> None:
        """Leave it to Python."""

    def exec_module(self, module: ModuleType) -> None:
        source = self._sources.get(module.__name__, "")
        exec(compile(source, module.__name__, "exec"), vars(module))  # noqa: S102 - our own sources


def load(sources: Mapping[str, str]) -> None:
    """Make the modules importable, with what MicroPython adds to Python."""
    time_module: Any = time
    time_module.ticks_add, time_module.ticks_diff = ticks_add, ticks_diff
    # Whoever asks for the time by itself is at the beginning of the task
    time_module.ticks_ms = lambda: 0
    micropython: Any = ModuleType("micropython")
    micropython.const = lambda value: value
    sys.modules["micropython"] = micropython
    sys.meta_path.insert(0, _Sources(sources))


def main() -> None:
    task = json.load(sys.stdin)
    load(task["sources"])
    done = importlib.import_module(task["run"]).run(task["given"])
    json.dump(done, sys.stdout)


if __name__ == "__main__":
    main()
