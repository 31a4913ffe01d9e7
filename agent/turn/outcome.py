"""Outcome of a turn."""

import re

from msgspec import Struct

from agent.memory.base import FROM_CHAT
from agent.messages import ChatMessage, Provenance, Role

# What a model is asked to write then
NOTHING_TO_SAY = "HEARTBEAT_OK"

# As models write it, or what others taught them to write
_SIGNS = frozenset({"heartbeatok", "noreply", "silent", "silentreply", "nothingtoreport", "ok"})
_ORNAMENT = re.compile(r"[\W_]+")
# With everything around it such an answer is shorter
_LONGEST_CHARS = 60


def says_nothing(text: str) -> bool:
    """Also in bold, in brackets, in quotes and with a full stop."""
    if len(text) > _LONGEST_CHARS:
        return False
    word = _ORNAMENT.sub("", text).lower()
    return not word or word in _SIGNS


class TurnOutcome(Struct, frozen=True):
    """The answer, every message that the turn added after the person's, and their trust.

    Args:
        source: where the least trusted of what was read came from.
        is_answer: False where the text only says why the model gave none.
        was_too_long: the model could not be shown all of the conversation.
        is_by_model: a language model gave every answer of the turn.
        is_reply: the message came after a question of the agent.
        is_recalled: the answer was made beside memories below the owner's trust.
    """

    text: str
    added: tuple[ChatMessage, ...]
    provenance: Provenance
    source: str = FROM_CHAT
    is_answer: bool = True
    was_too_long: bool = False
    is_by_model: bool = False
    is_reply: bool = False
    is_recalled: bool = False


def is_asked(messages: tuple[ChatMessage, ...]) -> bool:
    """The last answer before the message was, or held, a question."""
    said = (one.text for one in reversed(messages) if one.role is Role.ASSISTANT and one.text)
    return "?" in next(said, "").replace("？", "?")
