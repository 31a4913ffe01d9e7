"""A counter at the end of its count, in the real interpreter with a heap that is locked."""

import os
import subprocess
from pathlib import Path

from firmware.host.bundle import FIRMWARE, FRAME

MACHINE = """
class Pin:
    IN = PULL_NONE = PULL_UP = PULL_DOWN = IRQ_RISING = IRQ_FALLING = 0

    def __init__(self, *_how):
        pass

    def irq(self, *_how, **_options):
        pass
"""
# As in a hard interrupt; words of 32 bits, as on the board, show what would need memory
PROGRAM = """
import micropython
from node.devices import counter

made = counter.Counter({"pin": "PB14", "debounce_us": 0})
made._count = made._zero = counter.COUNT_MOST - 1
micropython.heap_lock()
made._pulse(None)
made._pulse(None)
made._pulse(None)
micropython.heap_unlock()
print(made._count, made.value())
"""


def test_counting_begins_again_without_memory(
    micropython_command: list[str], tmp_path: Path
) -> None:
    (tmp_path / "machine.py").write_text(MACHINE)
    done = subprocess.run(
        [*micropython_command, "-c", PROGRAM],
        env={"MICROPYPATH": os.pathsep.join(map(str, (tmp_path, FIRMWARE, FRAME.parent)))},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert (done.stdout.split(), done.stderr) == (["1", "3"], "")
