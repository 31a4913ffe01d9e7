"""Words in a sentence about a timer that keep it from being an order, or a time from being one."""

from agent.providers.offline.counts import count_at
from agent.providers.offline.lexicon import lexicon
from agent.providers.offline.pieces import Analysis
from agent.providers.offline.time_vocabulary import LIGHT
from agent.providers.offline.timed_tokens import Sentence, TimeToken, TokenKind

# Said with these, it is no order, or not now
NO_ORDER = frozenset({"negate", "suppose", "past", "report", "changes", "watch", "unwatch"})
# What is done to a timer that runs; to ask about it changes nothing
_CHANGES = frozenset({"cancel", "halt", "pause", "resume", "add", "remove"})
# They part what is said, or put a number below zero if they stand close before it alone
DASHES = frozenset("-‐‑‒–—―−")
_MINUS = "−"
# Never before a number below zero
_LONG = frozenset("—―")
# What a time is less or plus
_COUNTS = frozenset({TokenKind.DURATION, TokenKind.NUMBER, TokenKind.ORDINAL})
# What is added to a time, and what is taken away
SIGNS = {"add": 1, "remove": -1}


def is_no_order(analysis: Analysis, sentence: Sentence) -> bool:
    """Return true if a word that was not used denies, supposes or reports the order."""
    unused = any(
        has_within(analysis, *sentence.place(token), NO_ORDER)
        for token in sentence.tokens
        if token.kind is TokenKind.UNKNOWN
    )
    return unused or _is_denied(analysis, sentence) or _is_told(analysis, sentence)


def _is_denied(analysis: Analysis, sentence: Sentence) -> bool:
    """Return true for a denial whose parts say nothing each: し, な, い, で in しないで."""
    light = [sentence.place(token) for token in sentence.tokens if token.tags == {LIGHT}]
    return any(
        "negate" in piece.senses and not piece.foreign and (piece.start, piece.end) not in light
        for piece in analysis.pieces
        if any(piece.start < end and piece.end > start for start, end in light)
    )


def _is_told(analysis: Analysis, sentence: Sentence) -> bool:
    """Return true for what is done already, or asked about: 计时器取消了吗, キャンセルした."""
    tokens, said = sentence.tokens, frozenset(one for p in analysis.pieces for one in p.senses)
    if sentence.tags & {"status", "remains"}:
        return False
    asks = "particle" in said or "?" in analysis.text.replace("？", "?")
    if asks and "request" not in said and sentence.tags & _CHANGES:
        return True
    done = any(token.has("done") for token in tokens) and said.isdisjoint({"object", "request"})
    last = next((place for place, token in enumerate(tokens) if token.has("done_last")), None)
    return done or (last is not None and all(one.has(LIGHT) for one in tokens[last:]))


def is_minus(sentence: Sentence, token: TimeToken, after: TimeToken) -> bool:
    """Return true if a token puts the number behind it below zero, for which nothing can run."""
    if after.kind not in _COUNTS - {TokenKind.ORDINAL}:
        return False
    units, said = sentence.units, sentence.words(token)
    if said in DASHES:
        is_close = units[after.start].glued and not units[token.start].glued
        return said == _MINUS or (is_close and said not in _LONG)
    past = lexicon(sentence.code).numerals.past_minus(units, token.start)
    return token.kind is TokenKind.UNKNOWN and past == token.end


def is_sum(sentence: Sentence) -> bool:
    """Return true for a time less or plus another: una hora menos diez minutos, 10分マイナス5分."""
    units, code = sentence.units, sentence.code
    counts = {token for token in sentence.tokens if count_at(units, token.start, code) is not None}
    # An article is a number as well: dix minutes moins une
    tokens = [one for one in sentence.tokens if one.tags != {LIGHT} or one in counts]
    return any(
        before.duration is not None
        and between.has(*SIGNS)
        and (after.kind in _COUNTS or after in counts)
        for before, between, after in zip(tokens, tokens[1:], tokens[2:], strict=False)
    )


def has_within(analysis: Analysis, start: int, end: int, senses: frozenset[str]) -> bool:
    """Return true if a piece with one of the senses is in this part of the text."""
    return any(
        not senses.isdisjoint(piece.senses)
        for piece in analysis.pieces
        if piece.start < end and piece.end > start and not piece.foreign
    )
