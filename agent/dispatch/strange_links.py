"""Links in an answer to what nobody vouched for: shown as text, never opened by a tap or a preview.

An address carries out what stands in it, and a name over it hides where it leads.
"""

import re
from urllib.parse import urlsplit

from agent.messages import Provenance

# Of this trust and below, an address may be a stranger's
STRANGE = Provenance.TOOL
_CODE = re.compile(r"(```.*?(?:```|\Z)|`[^`\n]+`)", re.DOTALL)
_LINK = re.compile(
    r"!?\[(?P<text>[^\[\]]{0,500})\]\(\s*<?(?P<to>[^\s<>()]*(?:\([^\s<>()]*\)[^\s<>()]*)*)>?[^()\n]*\)"
    r"|<(?P<auto>[a-z][a-z0-9+.\-]{1,20}:[^\s<>]*)>"
    r"|(?P<bare>\b(?:https?|ftp|tg)://[^\s<>\"'`\])]+)",
    re.IGNORECASE,
)


def without_strange_links(text: str, trust: Provenance, said: str) -> str:
    """Links become text, save where the person has named the host in `said`."""
    if trust > STRANGE:
        return text
    known = {host for match in _LINK.finditer(said) if (host := _host(_address(match)))}

    def shown(match: re.Match[str]) -> str:
        address = _address(match)
        if _host(address) in known:
            return match[0]
        words = (match["text"] or "").strip()
        code = f"`{address.replace('`', '%60')}`"
        return f"{words} ({code})" if words and words != address else code

    pieces = _CODE.split(text)
    return "".join(
        piece if number % 2 else _LINK.sub(shown, piece) for number, piece in enumerate(pieces)
    )


def _address(match: re.Match[str]) -> str:
    return match["to"] or match["auto"] or match["bare"] or ""


def _host(address: str) -> str:
    try:
        return (urlsplit(address).hostname or "").casefold()
    except ValueError:
        return ""
