"""Understanding of a question by a model: the words that it knows, and their weights.

A model of another language knows a script by its letters and no word of it; what it then says of
meaning is noise. Letters in pieces of two and more, as a share of a question of XQuAD: English
1.00, German .85, Spanish .75, Romanian .70, Turkish .58; Vietnamese .22, Greek and Russian .10,
Chinese .05, Hindi .02, Arabic and Thai .03.

Kana and Hangul are such letters too: an English model knows all of them, and no word of Japanese or
Korean. A sign of Han stands for itself, and models of Chinese know nearly all of them; one of
another language knows the frequent ones, among them no name.
"""

import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import groupby

from agent.embeddings.base import PassageReading
from agent.memory.text import is_han, is_marked, tokens, word_spans

# With less of it, words alone find as much or more in each language that was measured. At .35
# Vietnamese loses half a point by the model, and Turkish gains as much
LEAST_UNDERSTOOD = 0.5
# Of a run of Han, which has no spaces: with fewer of its signs nobody tells the words in it.
# Chinese gains the same by any share from two thirds to all of them, and loses by half of them
_LEAST_SIGNS = 0.75
# A single letter of a longer word tells nothing of it
_LEAST_LETTERS = 2
# A word that asks for nothing still has a meaning beside the others
_EMPTY_WORD_WEIGHT = 0.05


def is_understood(text: str, reading: PassageReading | None) -> bool:
    """Return true if a model's reading of a question is worth more than none."""
    return reading is not None and understood(text, reading) >= LEAST_UNDERSTOOD


def understood(text: str, reading: PassageReading | None) -> float:
    """Return the share of the question's words that the model knows; all if it does not tell."""
    words = word_spans(text)
    if reading is None or reading.spans is None or not words:
        return 1.0
    known = {place for span in reading.spans if _tells(text, span, words) for place in range(*span)}
    if reading.drops_marks:
        # Without its marks it is another word: in Vietnamese most are, in Spanish one of ten
        marked = (span for span in words if is_marked(text[slice(*span)]))
        known.difference_update(*(range(*span) for span in marked))
    for run in _runs_of_han(text):
        if len(known.intersection(run)) < _LEAST_SIGNS * len(run):
            known.difference_update(run)
    letters = {place for span in words for place in range(*span)}
    return len(letters & known) / len(letters)


def token_weights(
    question: str, spans: Sequence[tuple[int, int]], weights: Mapping[str, float]
) -> list[float]:
    """Return each token's weight: that of its word, shared among the word's pieces."""
    found = [(span, list(tokens(question[slice(*span)]))) for span in word_spans(question)]
    told: list[float] = []
    for start, _ in spans:
        own = next((word for word in found if word[0][0] <= start < word[0][1]), None)
        if own is None or not own[1]:
            told.append(0.0)
            continue
        (first, end), inside = own
        pieces = sum(first <= other < end for other, _ in spans)
        whole = sum(weights.get(token, _EMPTY_WORD_WEIGHT) for token in inside) / len(inside)
        told.append(whole / pieces)
    return told


def _tells(text: str, span: tuple[int, int], words: Sequence[tuple[int, int]]) -> bool:
    """Return true for a piece that is more than a letter of a word."""
    piece = text[slice(*span)]
    letters = sum(unicodedata.category(one)[0] != "M" for one in piece)
    return letters >= _LEAST_LETTERS or span in words or any(map(is_han, piece))


def _runs_of_han(text: str) -> Iterator[Collection[int]]:
    """Yield the places of each run of Han."""
    if text.isascii():
        return
    for are_han, places in groupby(range(len(text)), lambda place: is_han(text[place])):
        if are_han:
            yield list(places)
