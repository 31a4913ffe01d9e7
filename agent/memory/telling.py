"""Messages that tell something: more than yes and thanks, in the person's own words or pasted."""

import itertools
import re
from collections.abc import Iterator, Sequence

from agent.memory.base import Catalogued, HeardMessage, Memory, MemoryEntry, Scope
from agent.memory.keys import key_of
from agent.memory.statement import is_lasting
from agent.memory.text import tokens
from agent.messages import Provenance

# Longer ones are cut: a fact is a sentence
MAX_MESSAGE_CHARS = 2000
# A single word says "yes" or "thanks"; in scripts of pairs four signs are three tokens
MIN_TOKENS = 2
# Longer than people type: such a message was pasted, and who pastes vouches for nothing in it
PASTED_CHARS = 600
# "Please remember that", "Merke dir bitte, dass"
MAX_AROUND_CHARS = 24
# Messages put before a model at a time
BATCH_MESSAGES = 20
BATCH_CHARS = 6000
_PASTED = re.compile(
    r"https?://|^\s*>|```|^\s*(?:from|subject|betreff|von):", re.IGNORECASE | re.MULTILINE
)

# Words of messages that tell nothing
_FILLERS_TEXT = (
    "yes no ok okay yeah yep nope thanks thank you please great good nice fine cool hi "
    "hello hey bye sure right done stop go on so much very well morning evening night "
    "alright it is that was ja nein danke schön bitte gut super klar hallo tschüss sehr "
    "morgen abend nacht guten gute vielen dank sí gracias por favor bien vale hola adiós "
    "muchas buenos buenas días tardes noches claro perfecto muy oui non merci beaucoup "
    "bonjour bonsoir salut s'il te vous plaît d'accord très bien 谢谢 好的 你好 早上 晚安 "
    "上好 再见 ありが りがと がとう とう こんに んにち にちは はい いいえ おはよ はよう "
    "よう うご ござ ざい いま ます おや やす すみ みな なさ さい 了解"
)
_FILLERS = frozenset(_FILLERS_TEXT.split())


# Orders that wait for a word or an event, and attacks on the agent: never facts
_ORDERS = re.compile(
    r"\b(?:ignore|disregard|instructions?|ignorier\w*|anweisung\w*)\b|忽略|無視|무시"
    r"|\b(?:when|whenever|if|every time) (?:i|we|you|he|she|they|someone|somebody|anybody)"
    r" (?:say|ask|write)s?\b"
    r"|\b(?:immer )?(?:wenn|falls) (?:es klingelt|ich .{0,40}\bsage|jemand .{0,40}\bsagt)\b"
    r"|\b(?:cuando|si) (?:yo )?(?:diga|digo|alguien diga)\b|\b(?:quand|si) je dis\b"
    r"|(?:每次|当|如果)我[说說]|と言ったら",
    re.IGNORECASE,
)


def is_order(text: str) -> bool:
    """Return true for an order that waits for a word, and for an attack on the agent."""
    return _ORDERS.search(text) is not None


def trust_of(text: str, provenance: Provenance) -> Provenance:
    """Return how far a message speaks for its sender: pasted text does not."""
    is_pasted = len(text) > PASTED_CHARS or _PASTED.search(text) is not None
    return Provenance.WEB if is_pasted else provenance


def is_stated(heard: HeardMessage) -> bool:
    """Return true if a message says what is so for long; who pastes states nothing."""
    is_own = trusted(heard) == heard.provenance >= Provenance.USER
    return is_own and not is_order(heard.text) and is_lasting(heard.text)


def trusted(heard: HeardMessage) -> Provenance:
    return trust_of(heard.text, heard.provenance)


def says_something(text: str) -> bool:
    """Return true if a message tells more than yes or thanks."""
    if text.lstrip().startswith("/"):
        return False
    said = list(tokens(text[:MAX_MESSAGE_CHARS]))
    return len(said) >= MIN_TOKENS and not _FILLERS.issuperset(said)


def batches(heard: Sequence[HeardMessage]) -> Iterator[list[HeardMessage]]:
    """Yield runs of one person and one trust, each short enough for a model."""
    for _, run in itertools.groupby(heard, key=lambda one: (one.person, trusted(one))):
        batch: list[HeardMessage] = []
        for one in run:
            chars = sum(min(len(other.text), MAX_MESSAGE_CHARS) for other in [*batch, one])
            if batch and (len(batch) == BATCH_MESSAGES or chars > BATCH_CHARS):
                yield batch
                batch = []
            batch.append(one)
        yield batch


def was_stored(heard: HeardMessage, newest: Sequence[MemoryEntry]) -> bool:
    """Return true if its turn has stored it: "remember that" around a memory tells no more."""
    at_s = heard.at_s
    return at_s is not None and any(
        # What was said before may be denied now; a kept message has the time of its saying
        one.created_at_s > at_s
        and one.content in heard.text
        and len(heard.text) - len(one.content) <= MAX_AROUND_CHARS
        for one in newest
    )


async def is_still_kept(memory: Memory, heard: HeardMessage) -> bool:
    """Return false for a message that was forgotten since, or whose turn stored what it says."""
    key, scope = key_of(heard.text[:MAX_MESSAGE_CHARS]), Scope(heard.person, heard.conversation)
    if isinstance(memory, Catalogued):
        # What a later message closed is hidden, and still there
        return bool(await memory.doomed(key, scope))
    return await memory.get(key, scope) is not None
