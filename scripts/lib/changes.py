"""Changes of a system, each made only where it is not made already."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from scripts.lib.progress import say


@dataclass(frozen=True, slots=True)
class Change:
    """A change of the system; the title goes on after "would"."""

    title: str
    is_done: Callable[[], bool]
    make: Callable[[], None]
    # Starts no program that would be told of
    is_quick: bool = False


def carry_out(changes: Sequence[Change]) -> bool:
    """Make those that are not made, in order; whether there was anything."""
    changed = False
    for change in changes:
        if not change.is_done():
            if change.is_quick:
                say(change.title)
            change.make()
            changed = True
    return changed
