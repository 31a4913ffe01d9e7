"""The section of a prompt that memories are shown in, and how to know it again in other text.

What a model was shown is never stored back: it would come back as new, and trusted as the turn is.
"""

import re

HEADING = "[Memory context]"
# The heading, and the items that follow it with what is indented under them
_SECTION = re.compile(
    re.escape(HEADING) + r"[^\n]*(\n[ \t]*([-*][^\n]*|[ \t]+[^\n]*)?(?=\n|\Z))*", re.IGNORECASE
)


def without_recalled(text: str) -> str:
    """The text without what it repeats of that section; empty where nothing else is left."""
    return _SECTION.sub("", text).strip() if HEADING.casefold() in text.casefold() else text
