"""Name of the board or device that a sentence is for, made to stand alone in it."""

import re
from collections.abc import Sequence

from agent.providers.offline.toolbox import Toolbox

# What describes a board or a device, and those that are no name to speak to
_INFO = "_info"
_USUAL = frozenset({"board", "image", "system"})
# Before what another device is asked or told, in English and German
_ADDRESSED = (
    r"\A\s*(?:please\s+|bitte\s+)?(?:ask|tell|frag(?:e)?|sag(?:e)?)\s+"
    r"(?:the\s+|das\s+|die\s+|der\s+|dem\s+)?({})(?:\s*[:,]\s*|\s+)(?:(?:to|if|whether|ob)\s+)?"
)


def addressed(text: str, box: Toolbox) -> str:
    """Return what is said to or of a board or device, so that its name stands alone.

    "Ask greenhouse: turn the pump on", "the greenhouse's pump": its tools bear its name.
    """
    found = "|".join(re.escape(one) for one in _devices(box))
    if not found:
        return text
    text = re.sub(rf"\b({found})['\u2019]s\b", r"\1", text, flags=re.IGNORECASE)
    return re.sub(_ADDRESSED.format(found), r"\1: ", text, count=1, flags=re.IGNORECASE)


def _devices(box: Toolbox) -> Sequence[str]:
    """Return the names of boards and devices besides the usual ones."""
    named = (one.name.removesuffix(_INFO) for one in box.profiles if one.name.endswith(_INFO))
    return [one for one in named if one not in _USUAL]
