"""Prompt for a program: a conversation as one text.

Programs take one text and add instructions of their own, so it says who speaks in marks that no
message can write. It never begins with a dash and has no NUL byte: it may be a word of a command.
"""

import re
from collections.abc import Sequence

from msgspec import Struct

from agent.messages import ChatMessage, Role
from agent.providers import service_json

_TASK = (
    "Below is a conversation between a person and an assistant. You are the assistant. Write the "
    "assistant's next message and nothing else; leave out the marks around it."
)
_INSTRUCTIONS = "Instructions for the assistant:"
_SPEAKERS = {Role.USER: "person", Role.TOOL: "person", Role.ASSISTANT: "assistant"}
_LIKE_A_MARK = re.compile(r"<(?=/?\s{0,8}(?:instructions|person|assistant)\b)", re.IGNORECASE)


class WrittenPrompt(Struct, frozen=True):
    """Instructions and conversation, each a text of its own."""

    system: str
    turns: tuple[str, ...]

    @property
    def conversation(self) -> str:
        """Return the conversation alone, for a program that takes instructions apart from it."""
        return _paragraphs(_TASK, *self.turns) + "\n"

    @property
    def whole(self) -> str:
        """Return both as one text."""
        if not self.system:
            return self.conversation
        told = f"<instructions>\n{_defused(self.system)}\n</instructions>"
        return _paragraphs(_TASK, told, *self.turns) + "\n"


def written(messages: Sequence[ChatMessage]) -> WrittenPrompt:
    """Return the texts; the same messages give the same."""
    told = [message.text for message in messages if message.role is Role.SYSTEM and message.text]
    said = (_marked(message) for message in messages if message.role is not Role.SYSTEM)
    system = _paragraphs(_INSTRUCTIONS, *map(_usable, told)) if told else ""
    return WrittenPrompt(system, tuple(said))


def _paragraphs(*texts: str) -> str:
    return "\n\n".join(texts)


def _marked(message: ChatMessage) -> str:
    speaker = _SPEAKERS[message.role]
    return f"<{speaker}>\n{_defused(_usable(message.text))}\n</{speaker}>"


def _defused(text: str) -> str:
    return _LIKE_A_MARK.sub("&lt;", text)


def _usable(text: str) -> str:
    """Return text that every program takes: no NUL byte, no half of a character."""
    return service_json.joined_halves(text).replace("\0", "\ufffd")
