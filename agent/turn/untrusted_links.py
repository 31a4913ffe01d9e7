"""Links in an answer that others than the owner had a part in: shown as text, opened by nothing.

An address carries out what stands in it, and a name over it hides where it leads. What the person
wrote themselves, to the letter, stays a link.
"""

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from agent.channels.render.parser import cleaned
from agent.messages import Provenance
from agent.text.links import is_target, targets, untied, without_links

if TYPE_CHECKING:
    from agent.channels.render.styled import Styled

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
    # As it will be shown: what is left out there puts the signs beside it together
    text = cleaned(text.replace("\r\n", "\n").replace("\r", "\n"))
    known = targets(said)
    pieces = [
        untied(without_links(piece, known), is_code=True)
        if number % 2
        else _without_links(piece, known)
        for number, piece in enumerate(_CODE.split(text))
    ]
    shown = "".join(pieces)
    if _MARKS.search(shown) is None:
        return shown
    return _as_shown(shown, known, pieces)


def _without_links(text: str, known: frozenset[str]) -> str:
    """Markdown's links become words with an address behind them."""
    pieces, end = list[str](), 0
    for match in _LINK.finditer(text):
        pieces += [without_links(text[end : match.start()], known), _spelled(match, known)]
        end = match.end()
    return "".join([*pieces, without_links(text[end:], known)])


def _spelled(match: re.Match[str], known: frozenset[str]) -> str:
    address, words = match["to"] or match["auto"] or "", (match["text"] or "").strip()
    if is_target(address, known):
        return f"[{without_links(words, known)}](<{address}>)" if words else f"<{address}>"
    shown = without_links(address)
    return f"{without_links(words, known)} ({shown})" if words and words != address else shown


def _kept_out(text: str, known: frozenset[str]) -> str:
    return _LINK.sub(lambda match: "" if is_target(match["to"] or "", known) else match[0], text)


def _as_shown(text: str, known: frozenset[str], pieces: Sequence[str]) -> str:
    """Return the text, or where marks may hide a link what is seen of it, as plain text."""
    from agent.channels.render.parser import read  # noqa: PLC0415 - few answers need it
    from agent.channels.render.plain import spelled  # noqa: PLC0415 - as above
    from agent.channels.render.styled import Style, Styled  # noqa: PLC0415 - as above
    from agent.channels.render.writer import written  # noqa: PLC0415 - as above

    styled = read(text)
    plain = spelled(styled)
    seen = plain.text
    leads = (span.value for span in styled.spans if span.style is Style.LINK)
    is_clean = all(without_links(one, known) == one for one in (seen, _marked(plain)))
    is_clean = is_clean and all(is_target(one, known) for one in leads)
    if is_clean and not _is_tied(plain, known, pieces):
        return text
    return written(Styled(untied(without_links(seen))))


def _is_tied(plain: "Styled", known: frozenset[str], pieces: Sequence[str]) -> bool:
    """Return whether an address belongs to words, as written or as seen, outside of code."""
    codes, rest, end = set[str](), "", 0
    for start, stop in _code_places(plain):
        codes.add(_packed(plain.text[start:stop]))
        # What ends code may belong to what is behind it
        rest += f"{plain.text[end : start + 1]} {plain.text[stop - 1 : stop]}"
        end = max(end, stop)
    rest += plain.text[end:]
    return untied(rest) != rest or any(
        _TIED.search(_kept_out(piece, known))
        for number, piece in enumerate(pieces)
        if number % 2 == 0 or not _is_code(piece, codes)
    )


def _marked(plain: "Styled") -> str:
    """Return the text with a mark where platforms write one: it may come before a dot."""
    borders = sorted({place for span in plain.spans for place in (span.start, span.end)})
    return "*".join(
        plain.text[start:end] for start, end in pairwise([0, *borders, len(plain.text)])
    )


def _code_places(plain: "Styled") -> list[tuple[int, int]]:
    from agent.channels.render.styled import Style  # noqa: PLC0415 - few answers need it

    return sorted(
        (span.start, span.end) for span in plain.spans if span.style in {Style.CODE, Style.BLOCK}
    )


def _is_code(piece: str, codes: set[str]) -> bool:
    """Return whether what looks like code is read as code: backticks may stand by themselves."""
    inner = piece.strip("`")
    return not codes.isdisjoint({_packed(inner), _packed(inner.partition("\n")[2])})


def _packed(text: str) -> str:
    return "".join(text.split())
