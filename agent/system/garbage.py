"""Garbage collector around a start.

Nearly all that a start makes lives as long as the program. Looking through it again and again takes
a tenth of the start, and later tens of milliseconds in which the event loop stands still; on a
Pi Zero that is near the half second after which a board lets its outputs go.
"""

import gc


def hold() -> None:
    """Collect nothing while a program starts."""
    gc.disable()


def settle() -> None:
    """Collect from now on, without what is there already."""
    gc.freeze()
    gc.enable()
