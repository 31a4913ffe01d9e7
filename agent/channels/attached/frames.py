"""Frames between a terminal and a running agent: one JSON object a line, typed and capped.

Who somebody is never stands in a frame: the kernel says it of the connection.
"""

from typing import Annotated, Any, TypeVar

import msgspec

from agent.errors import ChannelRefused

# Raised when one side would misunderstand the other
VERSION = 1
# A message that is too long to be read is still taken and answered: control characters take six
# bytes each
MAX_SAID_CHARS = 64 * 1024 + 1
MAX_SAID_FRAME_BYTES = 512 * 1024
# What a terminal shows at most
MAX_SHOWN_CHARS = 256 * 1024
MAX_SHOWN_FRAME_BYTES = 2 * 1024 * 1024

T = TypeVar("T")
MessageId = Annotated[str, msgspec.Meta(min_length=1, max_length=64, pattern=r"^[0-9A-Za-z-]+\Z")]
Said = Annotated[str, msgspec.Meta(max_length=MAX_SAID_CHARS)]


class HelloFrame(msgspec.Struct, frozen=True, tag="hello"):
    """The terminal's first word."""

    version: int
    # A pipe: no drafts, and nobody who could be asked
    plain: bool = False
    # Only asks how the agent is: welcomed, and then gone
    looks: bool = False


class SayFrame(msgspec.Struct, frozen=True, tag="say", omit_defaults=True):
    """A line for the agent; the same id is taken once, however often it is said.

    Args:
        files: that this terminal has sent before, by the names that they were given.
    """

    id: MessageId
    text: Said
    files: tuple[Annotated[str, msgspec.Meta(max_length=64)], ...] = ()


class StopFrame(msgspec.Struct, frozen=True, tag="stop"):
    """Break off what is being worked on for this terminal."""


class ShownFrame(msgspec.Struct, frozen=True, tag="shown"):
    """The person has it on the screen."""

    number: int


class AnswerFrame(msgspec.Struct, frozen=True, tag="told"):
    """The person's word on a question; None where nobody is there to say one."""

    question: int
    text: Said | None = None


class LeaveFrame(msgspec.Struct, frozen=True, tag="leave"):
    """The person goes; an answer that is still to come waits for the next time."""


class WelcomeFrame(msgspec.Struct, frozen=True, tag="welcome"):
    """The terminal is attached; `text` says how the agent is.

    Args:
        heard_s: how long ago each channel has heard its platform, by its name.
    """

    version: int
    text: str = ""
    heard_s: dict[str, float] = {}


class AcceptedFrame(msgspec.Struct, frozen=True, tag="taken"):
    """The message is committed and will be answered."""

    id: str


class RefusedFrame(msgspec.Struct, frozen=True, tag="refused"):
    """The message will not be answered, and why."""

    id: str
    why: str


class DraftFrame(msgspec.Struct, frozen=True, tag="draft"):
    """An answer that grows: after its first `at` characters it goes on with `text`."""

    id: str
    at: int
    text: str


class MessageFrame(msgspec.Struct, frozen=True, tag="answer"):
    """Something to show, to be confirmed by its number.

    Args:
        id: the message that it answers; empty for what comes by itself.
        outbox_id: the same when it comes again; 0 for what is never repeated.
    """

    number: int
    text: str
    id: str = ""
    outbox_id: int = 0


class ApprovalFrame(msgspec.Struct, frozen=True, tag="ask"):
    """A question about a tool call.

    Args:
        files: pictures that belong to it, by names that the other side knows.
    """

    question: int
    tool: str
    arguments_json: str
    reason: str
    words: str = ""
    always: str = ""
    files: tuple[str, ...] = ()


class QuestionFrame(msgspec.Struct, frozen=True, tag="inquire"):
    """A question in words."""

    question: int
    text: str


class WithdrawFrame(msgspec.Struct, frozen=True, tag="withdraw"):
    """The question is answered elsewhere, or too late."""

    question: int


class ByeFrame(msgspec.Struct, frozen=True, tag="bye"):
    """The agent ends the connection; trying again helps, or it does not."""

    text: str
    is_final: bool = False


FromTerminal = HelloFrame | SayFrame | StopFrame | ShownFrame | AnswerFrame | LeaveFrame
FromAgent = (
    WelcomeFrame
    | AcceptedFrame
    | RefusedFrame
    | DraftFrame
    | MessageFrame
    | ApprovalFrame
    | QuestionFrame
    | WithdrawFrame
    | ByeFrame
)

_FROM_TERMINAL: msgspec.json.Decoder[FromTerminal] = msgspec.json.Decoder(FromTerminal)
_FROM_AGENT: msgspec.json.Decoder[FromAgent] = msgspec.json.Decoder(FromAgent)


def encoded(frame: FromTerminal | FromAgent) -> bytes:
    """One line; JSON keeps line ends out of it."""
    return msgspec.json.encode(frame) + b"\n"


def from_terminal(line: bytes) -> FromTerminal:
    """Raises ChannelRefused: that is no frame."""
    return _decoded(_FROM_TERMINAL, line)


def from_agent(line: bytes) -> FromAgent:
    """Raises ChannelRefused: that is no frame."""
    return _decoded(_FROM_AGENT, line)


def sendable(text: str, limit: int) -> str:
    """At most `limit` characters, each of which can be written as UTF-8."""
    return text[:limit].encode(errors="replace").decode()


def _decoded(decoder: "msgspec.json.Decoder[T]", line: bytes) -> T:
    try:
        return decoder.decode(line)
    except (msgspec.MsgspecError, ValueError, RecursionError) as err:
        raise ChannelRefused(
            "unreadable frame: the other side is not barnacle, or another version"
        ) from err


def field_of(line: bytes, name: str) -> Any:
    """A field of a line that may be of another version."""
    try:
        found = msgspec.json.decode(line)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    return found.get(name) if isinstance(found, dict) else None
