# Takes the place of slots.py where the firmware is frozen into MicroPython: there is one version,
# and another one comes as a whole image.

import gc
import sys

IMAGE_AT = 256
# As in slots.py
_COLLECT_EVERY_BYTES = 4_096

# MicroPython's names for parts whose flash is erased in pages of 2 or 4 KB; on any other more is
# copied with each thing that is kept
_PAGED = ("STM32WB5", "STM32L4", "STM32G4")
# In place of a slot's number: firmware/node/update.py and agent/link/update.py know it
running = 254
trial = False


def open_store():
    return None


def forget():
    pass


def start():
    gc.threshold(_COLLECT_EVERY_BYTES)
    import board  # noqa: PLC0415  - of the frozen ones, which boot.py has put first

    if board.CLASS:
        from node.division import divide  # noqa: PLC0415  - needed for a moment

        divide(any(name in sys.implementation._machine for name in _PAGED))  # type: ignore[attr-defined]  # noqa: SLF001  - MicroPython's own
        sys.modules.pop("node.division")
