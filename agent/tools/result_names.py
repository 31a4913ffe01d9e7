"""Names of kept results: each holds the time, the tool, and how far the result is trusted."""

import re
import secrets

from agent.messages import Provenance

NAME = re.compile(r"(\d{10})-[0-9a-f]{8}-[a-zA-Z0-9_-]{1,48}\.([a-z]+)\.txt")
_UNNAMEABLE = re.compile(r"[^a-zA-Z0-9_-]+")
_MAX_TOOL_CHARS = 48


def name_of(tool: str, provenance: Provenance, at_s: float) -> str:
    """Return a new file name for a result of this tool."""
    word = provenance.name.lower()
    plain = _UNNAMEABLE.sub("_", tool)[:_MAX_TOOL_CHARS] or "tool"
    return f"{int(at_s):010}-{secrets.token_hex(4)}-{plain}.{word}.txt"


def trust_of(name: str) -> Provenance:
    """Return the trust of a kept result: its first trust, and never more than a file's."""
    found = NAME.fullmatch(name)
    if found is None:
        return Provenance.WEB
    by_word = {one.name.lower(): one for one in Provenance}
    return min(Provenance.TOOL, by_word.get(found[2], Provenance.WEB))
