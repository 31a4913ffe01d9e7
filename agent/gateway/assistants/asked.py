"""Content of a request: the caller's own new words, and what their program sent beside them.

What a client calls a system message, or an earlier answer, is what a program says: it is shown as
outside words and orders nothing.
"""

from collections.abc import Sequence
from typing import Annotated, TypeVar

import msgspec
from msgspec import Meta, Struct

from agent.gateway.assistants.refusals import RequestRefused
from agent.text.printable import printable_line

# Who reads them: the beginning of instructions says what they are for, the end of a talk what is on
MAX_INSTRUCTIONS_CHARS = 4000
MAX_EARLIER_CHARS = 8000
# More is no conversation
MAX_MESSAGES = 2000
MAX_ID_CHARS = 200
_INSTRUCTING = frozenset({"system", "developer"})
_TALKING = frozenset({"user", "assistant", "tool", "function"})
_TEXT_PARTS = frozenset({"text", "input_text", "output_text"})
T = TypeVar("T")

Id = Annotated[str, Meta(max_length=MAX_ID_CHARS)]


class MessagePart(msgspec.Struct, frozen=True):
    """Part of a message."""

    type: str
    text: str = ""
    refusal: str = ""


class Said(msgspec.Struct, frozen=True):
    """Message of a conversation, as a client sends it."""

    role: str
    content: str | list[MessagePart] | None = None

    @property
    def text(self) -> str:
        """Return its text.

        Raises:
            RequestRefused: there is something else in it.
        """
        if self.content is None or isinstance(self.content, str):
            return self.content or ""
        return "\n".join(map(_text_of, self.content))


class Asked(Struct, frozen=True):
    """Content of a request.

    Args:
        text: the caller's own words, which are new.
        instructions: what the client calls system messages.
        earlier: what was said before, as the client has it.
        conversation: the client's name for it; empty where it names none.
        follows: the id of the answer that this goes on from; empty where it names none.
        is_spoken: it was said aloud, and somebody's recogniser wrote it down.
    """

    model: str
    text: str
    instructions: str = ""
    earlier: str = ""
    conversation: str = ""
    follows: str = ""
    is_streamed: bool = False
    is_spoken: bool = False

    def beside(self, *, is_known: bool) -> str:
        """Return what is shown beside the words; of a known conversation we have the rest."""
        parts = [self.instructions[:MAX_INSTRUCTIONS_CHARS]]
        if not is_known:
            parts.append(self.earlier[-MAX_EARLIER_CHARS:])
        return "\n".join(filter(None, parts))


def decoded(body: bytes, shape: type[T]) -> T:
    """Return the body in its shape.

    Raises:
        RequestRefused: it has another one; the text says where, and repeats nothing of it.
    """
    try:
        return msgspec.json.decode(body, type=shape)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as err:
        told = printable_line(str(err), 200)
        raise RequestRefused(400, f"the body cannot be read: {told}") from err


def parted(said: Sequence[Said], param: str) -> tuple[str, str, str]:
    """Return the new words, the instructions and what was said before.

    Raises:
        RequestRefused: there are no new words, or something that is no text.
    """
    if len(said) > MAX_MESSAGES:
        raise RequestRefused(400, f"more than {MAX_MESSAGES} messages", param=param)
    if strange := next((one.role for one in said if one.role not in _INSTRUCTING | _TALKING), ""):
        known = ", ".join(sorted(_INSTRUCTING | _TALKING))
        told = printable_line(strange, 40)
        raise RequestRefused(400, f"no role is called {told!r}; known: {known}", param=param)
    talk = [one for one in said if one.role in _TALKING]
    begin = len(talk)
    while begin and talk[begin - 1].role == "user":
        begin -= 1
    text = "\n\n".join(filter(None, (one.text for one in talk[begin:])))
    if not text.strip():
        raise RequestRefused(400, "the last message has to be the user's, with a text", param=param)
    instructions = "\n".join(one.text for one in said if one.role in _INSTRUCTING)
    earlier = "\n".join(f"{one.role}: {one.text}" for one in talk[:begin])
    return text, instructions, earlier


def refuse_tools(*given: tuple[str, object]) -> None:
    """Refuse what would have this agent call functions of its caller.

    Raises:
        RequestRefused: there is a tool.
    """
    for param, tools in given:
        if tools:
            raise RequestRefused(
                400,
                "tools of a client are not used: this agent has its own, behind its owner's gate. "
                f"Leave {param} out",
                param=param,
                code="unsupported_parameter",
            )


def refuse_other(param: str, given: object, usual: object, why: str) -> None:
    """Refuse a wish that would be ignored otherwise.

    Raises:
        RequestRefused: it is not the usual one.
    """
    if given is not None and given != usual:
        raise RequestRefused(400, f"{param}: {why}", param=param, code="unsupported_parameter")


def _text_of(part: MessagePart) -> str:
    if part.type in _TEXT_PARTS:
        return part.text
    if part.type == "refusal":
        return part.refusal
    kind = printable_line(part.type, 40)
    raise RequestRefused(
        400,
        f"a part of type {kind!r} cannot be read here: send text alone",
        param="content",
        code="unsupported_content",
    )
