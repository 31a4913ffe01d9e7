"""Argument type for one of several names, with each name's other words beside it."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import msgspec

# They would end a name before its end
_SIGNS = str.maketrans(dict.fromkeys("(),;", " "))


def one_of(names: Mapping[str, Sequence[str]], facts: Mapping[str, str] | None = None) -> Any:
    """Return the argument type; `facts` come from `facts_of`."""
    kind: Any = Literal[tuple(names)]
    told = [told_of(name, words, (facts or {}).get(name, "")) for name, words in names.items()]
    known = ", ".join(one for one in told if one)
    return Annotated[kind, msgspec.Meta(description=known)] if known else kind


def told_of(name: str, words: Sequence[str], facts: str = "") -> str:
    """Return a name with its aliases and place; "" if there is nothing to add."""
    called = ", ".join(word.translate(_SIGNS) for word in words)
    told = "; ".join(part for part in (called, facts) if part)
    if facts and not called:
        # The other names come first, also where there are none
        told = f"; {facts}"
    return f"{name} ({told})" if told else ""


def facts_of(
    place: str = "", groups: Sequence[str] = (), opens: str = "on", rests: str = "off"
) -> str:
    """Return the place and groups of a thing, and its direction if that is unusual."""
    parts = [f"in {place.translate(_SIGNS)}" if place else ""]
    parts.append(f"of {', '.join(group.translate(_SIGNS) for group in groups)}" if groups else "")
    parts.append(f"opens {opens}" if opens != "on" else "")
    parts.append(f"rests {rests}" if rests != "off" else "")
    return "; ".join(part for part in parts if part)
