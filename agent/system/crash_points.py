"""Places where a test may end the process as a power cut would; nothing at all elsewhere.

A name stands for one place. Every one is killed at by the tests; one that no test reaches fails.
"""

from collections.abc import Callable

_armed: Callable[[str], None] | None = None


def crash_point(name: str) -> None:
    """Everything before this has happened, nothing after it."""
    if _armed is not None:
        _armed(name)


def arm(at_point: Callable[[str], None] | None) -> None:
    """Have it called with the name of each place that is passed."""
    global _armed  # noqa: PLW0603 - a test's switch, in one place, that no configuration reaches
    _armed = at_point
