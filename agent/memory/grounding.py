"""Grounding of a drawn fact: every content word of it stands in one message of the person.

Checked, not believed: a fact with a word that nobody said, or without a negation that somebody
said, is the model's own.
"""

import re
from collections.abc import Iterable, Sequence

from agent.memory.text import asked_tokens, tokens

# Words of a fact that are looked for in what was said
_MOST_TOKENS = 60
# Beginnings that two forms of a word share: "lives" and "living", "heißt" and "heißen"
_STEM_CHARS = 4
_ENDING_CHARS = 3
# How a fact speaks of the person who says "I": nothing that could be true or false
_FRAME_TEXT = (
    "i i'm im my mine myself me we our us you your user users person persons owner owners "
    "people they their them one's named name called calls has have is are lives does ich "
    "mein meine meinen meiner wir unser unsere benutzer person besitzer nutzer heisst ist "
    "hat der die das den dem ein eine einen sein seine ihr ihre und yo mi mis nosotros "
    "nuestro nuestra usuario persona dueño se llama es tiene su sus el la los las de un "
    "una que y je mon ma mes nous notre utilisateur personne propriétaire s'appelle "
    "appelle est a son sa ses le les du des un une et l d 用户 的名 主人 ユー ーザ ザー "
    "さん"
)
_FRAME = frozenset(_FRAME_TEXT.split())
_NEGATIONS_TEXT = (
    "not no never none nobody nothing without don't doesn't isn't aren't won't can't "
    "cannot nicht kein keine keinen keiner nie niemals nichts ohne nunca jamás sin ningún "
    "ninguna pas jamais aucun aucune sans rien n"
)
# A sentence of a message that asks
_QUESTION = re.compile(r"[^.!?。！？؟\n]*[?？؟]")
_NEGATIONS = frozenset(_NEGATIONS_TEXT.split())
_NEGATED_SIGNS = ("不", "没", "沒", "别", "無", "ない", "ません", "않", "안 ")
# "doesn't" is two tokens
_CUT_NEGATIONS = frozenset({"t"})


def is_grounded(fact: str, messages: Iterable[str]) -> bool:
    """Return true if one of the messages says the fact in its own words; to ask is not to say."""
    told = [word for word in asked_tokens(fact, _MOST_TOKENS) if word not in _FRAME]
    said = (_QUESTION.sub(" ", message) for message in messages)
    return bool(told) and any(_says(message, fact, told) for message in said)


def _says(message: str, fact: str, told: Sequence[str]) -> bool:
    said = set(tokens(message))
    if is_negated(message) != is_negated(fact):
        return False
    return all(word in said or any(_are_forms(word, other) for other in said) for word in told)


def is_negated(text: str) -> bool:
    """Return true if the text denies something; a sign of it is enough."""
    words = set(tokens(text))
    is_denied = bool(words & (_NEGATIONS | _CUT_NEGATIONS))
    return is_denied or any(sign in text for sign in _NEGATED_SIGNS)


def _are_forms(one: str, other: str) -> bool:
    """Return true if these may be forms of one word; numbers and names of three letters never."""
    shared = 0
    for mine, theirs in zip(one, other, strict=False):
        if mine != theirs:
            break
        shared += 1
    longest = max(len(one), len(other))
    is_word = one.isalpha() and other.isalpha()
    return is_word and shared >= _STEM_CHARS and longest - shared <= _ENDING_CHARS
