"""Whether the answer of a turn that nobody waits for says that there is nothing to say.

Only an answer that is nothing else counts: a word of news beside it is told.
"""

import re

# What a model is asked to write then
NOTHING_TO_SAY = "HEARTBEAT_OK"

# As models write it, or what others taught them to write
_SIGNS = frozenset({"heartbeatok", "noreply", "silent", "silentreply", "nothingtoreport", "ok"})
_ORNAMENT = re.compile(r"[\W_]+")
# With everything around it such an answer is shorter
_LONGEST_CHARS = 60


def says_nothing(text: str) -> bool:
    """Also in bold, in brackets, in quotes and with a full stop."""
    if len(text) > _LONGEST_CHARS:
        return False
    word = _ORNAMENT.sub("", text).lower()
    return not word or word in _SIGNS
