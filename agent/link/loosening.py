"""Differences that make a new configuration looser than the old one, in words for the owner.

What only makes an output safer is nobody's question.
"""

from collections.abc import Iterator, Sequence

from agent.link.configuration import Entry
from agent.printable import printable_line

# A name is shorter; one that a board made up may not be
_MAX_NAME_CHARS = 32
_OUTPUT_KINDS = frozenset({"output", "pwm", "servo", "neopixel"})


def loosened(old: Sequence[Entry], new: Sequence[Entry]) -> tuple[str, ...]:
    """One half sentence for each thing that would be looser; none: it may simply be done."""
    later = {entry.name: entry for entry in new}
    found: list[str] = []
    for before in old:
        after = later.get(before.name)
        name = printable_line(before.name, _MAX_NAME_CHARS)
        if after is None:
            found.append(f"{name} is no longer configured")
        else:
            found += [f"{name} {words}" for words in _of_one(before, after)]
    return tuple(found)


def _of_one(old: Entry, new: Entry) -> Iterator[str]:
    if old.kind != new.kind:
        yield f"becomes {new.kind} instead of {printable_line(old.kind, _MAX_NAME_CHARS)}"
    if new.kind not in _OUTPUT_KINDS:
        return
    if old.pin != new.pin:
        yield f"moves from {printable_line(old.pin, _MAX_NAME_CHARS)} to {new.pin}"
    if old.active_low != new.active_low:
        yield f"is on at {'low' if new.active_low else 'high'} level"
    if old.safe != new.safe:
        yield f"has another safe value ({new.safe} instead of {old.safe})"
    if old.safety == "hazard" and new.safety != "hazard":
        yield "is no longer a hazard"
    yield from _longer(old, new)
    for pin, value in old.needs:
        if (pin, value) not in new.needs:
            needed = printable_line(pin, _MAX_NAME_CHARS)
            yield f"no longer needs {needed} to be {'on' if value else 'off'}"


def _longer(old: Entry, new: Entry) -> Iterator[str]:
    if new.lease_ms > old.lease_ms:
        yield f"is held {new.lease_ms} ms after silence instead of {old.lease_ms} ms"
    if old.max_on_ms and not 0 < new.max_on_ms <= old.max_on_ms:
        yield f"may be on {_at_most(new.max_on_ms)} instead of at most {old.max_on_ms} ms"
    if new.min_off_ms < old.min_off_ms:
        yield f"rests {new.min_off_ms} ms instead of {old.min_off_ms} ms"
    if old.per_minute and not 0 < new.per_minute <= old.per_minute:
        rate = f"{new.per_minute}" if new.per_minute else "any number of"
        yield f"may be switched {rate} times a minute instead of {old.per_minute}"


def _at_most(limit_ms: int) -> str:
    return f"at most {limit_ms} ms" if limit_ms else "for ever"
