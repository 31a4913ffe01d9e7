"""Leavings in an answer that were never meant for a person: notes on tools, and stage talk.

Calls that a model writes as text are read before (`agent/providers/prompted`). What is left of them
here is an example, and stays.
"""

import re

from agent.text.printable import without_turning

# Blocks and spans of code stay as they are
_CODE = re.compile(r"(```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|`[^`\n]+`)", re.DOTALL)
_NOTE = re.compile(
    r"^\[(?:used tools?|tool (?:call|result|use)s?)\b[^\]\n]*\]?[ \t]*$",
    re.IGNORECASE | re.MULTILINE,
)
_STAGE_TALK = re.compile(
    r"\A(?:(?:(?:ok(?:ay)?|sure|alright)[,.!] )?(?:let me|i'll|i will|i'm going to) (?:now )?"
    r"(?:check|look|see|search|read|fetch|get|try|find|use|call|open|query)\b"
    r"|(?:searching|checking|fetching|looking up|reading|calling)\b)[^\n]{0,160}"
    r"(?:\.\.\.|…|:|\.)[ \t]*(?:\n+|\Z)",
    re.IGNORECASE,
)
# Lines of talk before the answer itself; more is the answer
_MOST_TALK = 3


def without_artifacts(text: str, *, used_tools: bool) -> str:
    """Return the text for a person; empty if there was nothing for one.

    Args:
        used_tools: what was announced before the answer has been done by now.
    """
    text = without_turning(text)
    pieces = _CODE.split(text)
    # Every second piece is code
    kept = [_NOTE.sub("", one) if at % 2 == 0 else one for at, one in enumerate(pieces)]
    cleaned = re.sub(r"\n{3,}", "\n\n", "".join(kept)).strip() if kept != pieces else text
    return _without_stage_talk(cleaned) if used_tools else cleaned


def _without_stage_talk(text: str) -> str:
    rest = text
    for _ in range(_MOST_TALK):
        rest, count = _STAGE_TALK.subn("", rest, count=1)
        if not count:
            break
    # Where nothing else was said it is the answer
    return rest.lstrip() or text
