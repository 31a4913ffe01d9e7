"""Links in an answer that others than the owner had a part in: shown as text, opened by nothing.

An address carries out what stands in it, and a name over it hides where it leads. What the person
wrote themselves, to the letter, stays a link.
"""

import re

from agent.defang import defanged, is_target, targets
from agent.messages import Provenance

# Whether somebody else had a part in it
TRUSTED = Provenance.OWNER
_CODE = re.compile(r"(```.*?(?:```|\Z)|`[^`\n]+`)", re.DOTALL)
_LINK = re.compile(
    r"!?\[(?P<text>[^\[\]]{0,500})\]\(\s*<?(?P<to>[^\s<>()]*(?:\([^\s<>()]*\)[^\s<>()]*)*)>?[^()\n]*\)"
    r"|<(?P<auto>[a-z][a-z0-9+.\-]{1,20}:[^\s<>]*)>",
    re.IGNORECASE,
)
# Words in brackets that an address may belong to, here or elsewhere in the text
_TIED = re.compile(r"\](?:\(|\[|:|[ \t]*\n?[ \t]*\[)")
# Without one of these Markdown shows a text as it was written
_MARKS = re.compile(r"[\\&<*_~`\[\]]")


def without_strange_links(text: str, trust: Provenance, said: str) -> str:
    """Return the answer, Markdown as it was, without links save those in `said`."""
    if trust >= TRUSTED:
        return text
    known = targets(said)
    pieces = [
        defanged(piece, known) if number % 2 else _without_links(piece, known)
        for number, piece in enumerate(_CODE.split(text))
    ]
    shown = "".join(pieces)
    if _MARKS.search(shown) is None:
        return shown
    is_tied = any(_TIED.search(_kept_out(piece, known)) for piece in pieces[::2])
    return _as_shown(shown, known, is_tied=is_tied)


def _without_links(text: str, known: frozenset[str]) -> str:
    """Markdown's links become words with an address behind them."""
    pieces, end = list[str](), 0
    for match in _LINK.finditer(text):
        pieces += [defanged(text[end : match.start()], known), _spelled(match, known)]
        end = match.end()
    return "".join([*pieces, defanged(text[end:], known)])


def _spelled(match: re.Match[str], known: frozenset[str]) -> str:
    address, words = match["to"] or match["auto"] or "", (match["text"] or "").strip()
    if is_target(address, known):
        return f"[{defanged(words, known)}](<{address}>)" if words else f"<{address}>"
    shown = defanged(address)
    return f"{defanged(words, known)} ({shown})" if words and words != address else shown


def _kept_out(text: str, known: frozenset[str]) -> str:
    return _LINK.sub(lambda match: "" if is_target(match["to"] or "", known) else match[0], text)


def _as_shown(text: str, known: frozenset[str], *, is_tied: bool) -> str:
    """Return the text, or where marks may hide a link what is seen of it, as plain text."""
    from agent.channels.render.reading import read  # noqa: PLC0415 - few answers need it
    from agent.channels.render.spelling import spelled  # noqa: PLC0415 - as above
    from agent.channels.render.styled import Style, Styled  # noqa: PLC0415 - as above
    from agent.channels.render.writing import written  # noqa: PLC0415 - as above

    styled = read(text)
    seen = spelled(styled).text
    leads = (span.value for span in styled.spans if span.style is Style.LINK)
    is_clean = defanged(seen, known) == seen and all(is_target(one, known) for one in leads)
    return text if is_clean and not is_tied else written(Styled(defanged(seen)))
