"""Splitter of a letter's text: the sender's own words, and the letters that it repeats.

It goes by form, in any language: quote marks, blocks of header lines, and an address or the agent's
name beside a date. Words that may be the sender's stay: a quote that stays costs less than a lost
order. Each line is looked at a few times, so no letter can keep it busy.
"""

import re
from collections.abc import Collection, Sequence

MAX_LINES = 4000
# The longest attribution or header line of a real letter; a longer one is prose
MAX_INTRO_CHARS = 400
# An attribution is wrapped into so many lines at most
_INTRO_LINES = 3
# Sender, date and recipient at least
_HEADER_LINES = 3
# Those of a header, with what some programs add
_LOOKED_LINES = 8
_MAX_SENT_CHARS = 120
_SIGNATURE = re.compile(r"--\s?\Z")
_RULE = re.compile(r"[-_]{2,}([^-_].{0,80})?[-_]{0,40}\Z")
_TITLE = re.compile(r"-{3,40} ?[^-\s].{2,60} ?-{3,40}\Z")
_HEADER = re.compile(r"[*>\s]{0,4}[^\W\d_][^\d:：<>@]{0,24}[:：]\*?[ \t\xa0]*(\S.*)?\Z")
_ADDRESS = re.compile(r"[<(][^<>\s@]{1,64}@[^<>\s@]{1,255}[>)]")
_TIME = re.compile(r"\d{1,2}[:.h]\d{2}")
_YEAR = re.compile(r"\d{4}[-/.年]|\b\d{4}\b|\d{1,2}[./]\d{1,2}[./]\d{2}")
_INTRO_END = re.compile(r"[:：]\s*\Z")
# After the address an attribution has a verb at most; some programs go on in the same line
_VERB_END = re.compile(r"[^:：\n]{0,25}([:：]|-{2,}\s*\Z)")
# The line that a telephone's program adds; in each language it begins, or ends, with the same words
_SENT = re.compile(
    r"(sent (from|with|via) .{2,100}|get outlook for .{2,100}|gesendet (von|mit) .{2,100}"
    r"|von mein\w* .{2,60} gesendet\.?|outlook für .{2,80} herunterladen"
    r"|(envoyé|télécharger outlook) (de|depuis|à partir|avec|pour) .{2,100}"
    r"|(enviado|obtener outlook|obter o outlook) (desde|do|de|da|con|com|a partir|para) .{2,100}"
    r"|(inviato|scarica outlook) (da|dal|con|per) .{2,100}"
    r"|(verstuurd|verzonden|outlook) (vanaf|van|met|voor) .{2,100}"
    r"|(wysłane|wysłano) (z|ze) .{2,100}|(skickat|sendt|sent) (från|fra) .{2,100}"
    r"|отправлено (с|из|от) .{2,100}|(发自|發自|來自|来自|从).{2,100}|.{2,60}から送信"
    r"|나의 .{2,60}에서 보냄)\Z",
    re.IGNORECASE,
)


def split_quotes(text: str, names: Collection[str] = ()) -> tuple[str, str]:
    """Return the sender's own words and the quoted ones.

    Args:
        names: of the agent, as they stand in attributions: its address and its display name.
    """
    every = text.splitlines()
    lines, rest = every[:MAX_LINES], every[MAX_LINES:]
    end = next((at for at, line in enumerate(lines) if _SIGNATURE.match(line)), len(lines))
    own, quoted = _apart(lines[:end], [name.casefold() for name in names if name])
    if end < len(lines):
        # After a signature nothing is the sender's; what it repeats is still shown
        quoted = [*quoted, *_apart(lines[end + 1 :], [])[1]]
    elif not quoted:
        own = [*own, *rest]
    return _stripped(_without_sent_line(own)), _stripped(quoted)


def own_lines(text: str) -> list[str]:
    """Return the lines of own words, without marked ones and blanks around each."""
    return [line.strip() for line in text.splitlines() if line.strip() and not _is_marked(line)]


def _apart(lines: Sequence[str], names: Sequence[str]) -> tuple[list[str], list[str]]:
    cut = _unmarked_quote(lines, names)
    own, quoted = list(lines[:cut]), list(lines[cut:])
    blocks = _marked_blocks(own)
    if not blocks:
        return own, quoted
    first, last = blocks[0]
    start = first - _intro_lines(own[:first], names)
    before, after = own[:start], own[last:]
    if len(blocks) > 1 or (_is_text(before) and _is_text(after)):
        # Answers stand between quotes: without these they would say something else
        return own, quoted
    return [*before, *after], [*own[start:last], *quoted]


def _marked_blocks(lines: Sequence[str]) -> list[tuple[int, int]]:
    """Return the first and the following line of each block of quote marks."""
    blocks: list[tuple[int, int]] = []
    is_going_on = False
    for at, line in enumerate(lines):
        if _is_marked(line):
            first = blocks.pop()[0] if is_going_on else at
            blocks.append((first, at + 1))
            is_going_on = True
        elif line.strip():
            is_going_on = False
    return blocks


def _intro_lines(lines: Sequence[str], names: Sequence[str]) -> int:
    """Return the number of lines at the end that say whose words follow, with the blank ones."""
    blank = 0
    while blank < len(lines) and not lines[-1 - blank].strip():
        blank += 1
    text = lines[: len(lines) - blank]
    if not text or not _INTRO_END.search(text[-1]):
        return 0
    for count in range(1, min(_INTRO_LINES, len(text)) + 1):
        if not text[-count].strip():
            break
        joined = " ".join(text[-count:])
        if len(joined) <= MAX_INTRO_CHARS and _is_dated(joined, names):
            return count + blank
    is_named = len(text[-1]) <= MAX_INTRO_CHARS and _is_named(text[-1], names)
    return 1 + blank if is_named else 0


def _unmarked_quote(lines: Sequence[str], names: Sequence[str]) -> int:
    """Return the line where a letter is repeated without marks; the number of lines if none is."""
    for at, line in enumerate(lines):
        if _is_marked(line) or not line.strip():
            continue
        is_header = _is_header_block(lines[at : at + _LOOKED_LINES], names)
        if is_header or _is_attribution(line) or _is_titled(lines[at : at + _LOOKED_LINES]):
            return _before_rules(lines, at)
    return len(lines)


def _is_header_block(lines: Sequence[str], names: Sequence[str]) -> bool:
    block: list[str] = []
    for line in lines:
        if len(line) > MAX_INTRO_CHARS or not _HEADER.match(line):
            break
        block.append(line)
    values = " ".join(re.split("[:：]", line, maxsplit=1)[1] for line in block)
    is_somebodys = "@" in values or _is_named(values, names)
    return len(block) >= _HEADER_LINES and is_somebodys and _TIME.search(values) is not None


def _is_titled(lines: Sequence[str]) -> bool:
    """Return true if a title between dashes stands above an address and a time."""
    title = _TITLE.match(lines[0].strip())
    below = " ".join(line[:MAX_INTRO_CHARS] for line in lines[1:])
    return title is not None and bool(_ADDRESS.search(below)) and bool(_TIME.search(below))


def _is_attribution(line: str) -> bool:
    address = _ADDRESS.search(line[:MAX_INTRO_CHARS])
    if address is None or not _VERB_END.match(line, address.end()):
        return False
    before = line[: address.start()]
    return _YEAR.search(before) is not None and _TIME.search(before) is not None


def _before_rules(lines: Sequence[str], at: int) -> int:
    """Return the line of the separators above the quote."""
    while at and (not lines[at - 1].strip() or _RULE.match(lines[at - 1].strip())):
        at -= 1
    return at


def _is_dated(text: str, names: Sequence[str]) -> bool:
    has_time, has_year = _TIME.search(text) is not None, _YEAR.search(text) is not None
    return (has_time and has_year) or ((has_time or has_year) and _is_named(text, names))


def _is_named(text: str, names: Sequence[str]) -> bool:
    folded = text.casefold()
    return _ADDRESS.search(text) is not None or any(name in folded for name in names)


def _without_sent_line(lines: list[str]) -> list[str]:
    """Cut the last paragraph where a program says that it sent the letter."""
    text = list(lines)
    while text and not text[-1].strip():
        text.pop()
    is_alone = len(text) < 2 or not text[-2].strip()  # noqa: PLR2004 - the line before the last
    if not text or not is_alone or len(text[-1]) > _MAX_SENT_CHARS:
        return lines
    return text[:-1] if _SENT.match(text[-1].strip()) else lines


def _is_marked(line: str) -> bool:
    return line.lstrip().startswith(">")


def _is_text(lines: Sequence[str]) -> bool:
    return any(line.strip() for line in lines)


def _stripped(lines: Sequence[str]) -> str:
    return "\n".join(lines).strip()
