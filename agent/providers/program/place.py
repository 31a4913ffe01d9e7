"""Place of a value in JSON, as a declaration writes it.

`item.text` leads through objects, `choices[0].text` through a list, and `[type=result].answer` only
where the object has that value.
"""

import json
import re

from msgspec import Struct

# Deeper than any answer, and far from what parsing one would refuse
MAX_STEPS = 16
_STEP = re.compile(
    r"(?P<dot>\.)?(?:(?P<name>[A-Za-z_$][\w$-]*)|\[(?P<index>[0-9]{1,4})\]"
    r"|\[(?P<key>[A-Za-z_$][\w$-]*)=(?P<value>[^\[\]]*)\])"
)


class PlaceStep(Struct, frozen=True):
    """One step: a name, a number in a list, or a condition, which stays where it is."""

    name: str = ""
    index: int | None = None
    wanted: tuple[str, str] | None = None


class ValuePlace(Struct, frozen=True):
    """Place of a value; without steps there is none."""

    steps: tuple[PlaceStep, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.steps)

    def find(self, value: object) -> object:
        """Return the value at this place; None where there is none."""
        if not self.steps:
            return None
        for step in self.steps:
            value = _taken(value, step)
            if value is None:
                return None
        return value


def parse(text: str) -> ValuePlace:
    """Return the place; an empty text is none.

    Raises:
        ValueError: it is written otherwise.
    """
    steps: list[PlaceStep] = []
    at = 0
    while at < len(text):
        found = _STEP.match(text, at)
        # A dot stands between a step and a name, nowhere else
        if found is None or bool(found["dot"]) is not bool(found["name"] and steps):
            raise ValueError(
                f"{text!r} is no place in JSON: write item.text, choices[0].text or "
                "[type=result].answer"
            )
        steps.append(_step(found))
        at = found.end()
    if len(steps) > MAX_STEPS:
        raise ValueError(f"a place has at most {MAX_STEPS} steps")
    return ValuePlace(tuple(steps))


def _step(found: re.Match[str]) -> PlaceStep:
    if found["name"]:
        return PlaceStep(found["name"])
    if found["index"]:
        return PlaceStep(index=int(found["index"]))
    return PlaceStep(wanted=(found["key"], found["value"]))


def _taken(value: object, step: PlaceStep) -> object:
    if step.index is not None:
        return value[step.index] if isinstance(value, list) and step.index < len(value) else None
    if not isinstance(value, dict):
        return None
    if step.wanted is None:
        return value.get(step.name)
    key, wanted = step.wanted
    return value if key in value and _written(value[key]) == wanted else None


def _written(value: object) -> str:
    """Return a value as a condition writes it: text as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value)
