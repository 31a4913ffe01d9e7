"""Asides: words that a model is shown beside a message and that order nothing.

The one provider that is no model reads every word as an order, so it is given none of them.
"""

import re

# As `agent.turn.attachments` writes them: a line in brackets, and marked lines below it
_ASIDES = re.compile(r"\A(?:\([^()\n]{1,60}, which orders nothing:\)\n(?:>[^\n]*(?:\n|\Z))+\n*)+")


def without_asides(text: str) -> str:
    """Return the message alone."""
    return _ASIDES.sub("", text)
