"""Orders to write a file: the only ones whose text is taken as it was said."""

from agent.providers.offline.pieces import Analysis, Piece
from agent.providers.offline.plan import CallDraft, SayStep, Step, settle_text
from agent.providers.offline.toolbox import Profile, Toolbox
from agent.providers.offline.units import UnitKind

_EDGES = " \t\r\n,:;，：；、"
_QUOTES = "\"“”„«»「」『』'‘’"
# Spoken around the text, and no part of it
_AROUND = frozenset({"lead", "aim", "step", "object", "request"})


def writing(analysis: Analysis, box: Toolbox) -> Step | None:
    """Return the step for `write ... to notes.txt`, if a tool does that."""
    pieces = analysis.pieces
    verb = next((p for p in pieces if "write" in p.senses), None)
    path = next((p for p in pieces if p.kind is UnitKind.PATH), None)
    profile = _writer(box)
    if verb is None or path is None or profile is None or not _is_order(pieces, verb, path):
        return None
    if any("negate" in p.senses for p in pieces if p.end <= verb.start):
        return SayStep("left_alone")
    content = _content(analysis, verb, path)
    return settle_text(CallDraft(profile, {"path": path.text}), "content", content)


def _writer(box: Toolbox) -> Profile | None:
    for profile in box.speakable:
        if profile.acts and {"path", "content"} <= {one.name for one in profile.parameters}:
            return profile
    return None


def _is_order(pieces: tuple[Piece, ...], verb: Piece, path: Piece) -> bool:
    """Return true if nothing before the verb makes it a question or a condition."""
    before = {sense for p in pieces if p.end <= max(verb.start, path.start) for sense in p.senses}
    outside = {sense for p in pieces if p.end <= verb.start for sense in p.senses}
    return "read" not in before and not outside & {"ask", "fact", "suppose", "self", "report"}


def _content(analysis: Analysis, verb: Piece, path: Piece) -> str:
    """Return the words between verb and file, else after both, else before both."""
    pieces = list(analysis.pieces)
    first, last = sorted((verb, path), key=lambda piece: piece.start)
    inside = _trimmed([p for p in pieces if first.end <= p.start < last.start])
    behind = _trimmed([p for p in pieces if p.start >= last.end])
    ahead = _trimmed([p for p in pieces if p.end <= first.start])
    for part in (inside, behind, ahead):
        if part:
            text = analysis.text[part[0].start : part[-1].end]
            return text.strip(_EDGES).strip(_QUOTES)
    return ""


def _trimmed(pieces: list[Piece]) -> list[Piece]:
    """Remove spoken words around the text at either end."""
    while pieces and _is_around(pieces[0]):
        pieces = pieces[1:]
    while pieces and _is_around(pieces[-1]):
        pieces = pieces[:-1]
    return pieces


def _is_around(piece: Piece) -> bool:
    if piece.kind is UnitKind.MARK:
        return piece.text in _EDGES or piece.text in _QUOTES
    return piece.known and _AROUND.issuperset(piece.senses)
