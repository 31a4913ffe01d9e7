"""Frames between the console and a running agent: one JSON object a line, typed and capped.

A line is asked and a line is answered, until `attach`: from then on the connection is a terminal's
and speaks the frames of terminals. A browser is who its cookie says; no frame says it otherwise.
"""

from typing import Annotated

import msgspec

from agent.errors import ChannelRefused

# The agent's socket for it, beside that of the terminals
SOCKET = "console.sock"
# Raised when one side would misunderstand the other
VERSION = 3
# A question with its arguments, or a form; what is said comes after `attach`
MAX_ASKED_BYTES = 256 * 1024
# A page of rows
MAX_TOLD_BYTES = 1024 * 1024

# Of a file: small enough to be held by each browser at once
MAX_PIECE_BYTES = 64 * 1024

Token = Annotated[str, msgspec.Meta(max_length=64)]
Word = Annotated[str, msgspec.Meta(max_length=200)]
# What a person types into a field of a form
Typed = Annotated[str, msgspec.Meta(max_length=64 * 1024)]


class AboutFrame(msgspec.Struct, frozen=True, tag="about"):
    """Ask for the device's name and the console's settings; the first frame of a console."""

    version: int


class KnockFrame(msgspec.Struct, frozen=True, tag="knock"):
    """A browser has come to the door.

    Args:
        door: its cookie of the door.
        who: its address.
    """

    door: Token
    who: Word


class PressFrame(msgspec.Struct, frozen=True, tag="press"):
    """The browser at the door asks to be let in by the board's button."""

    door: Token
    who: Word


class ClaimFrame(msgspec.Struct, frozen=True, tag="claim"):
    """Ask whether the owner has let the browser in meanwhile."""

    door: Token


class EnterFrame(msgspec.Struct, frozen=True, tag="enter"):
    """Its visitor has typed a code."""

    code: Word
    who: Word


class EndFrame(msgspec.Struct, frozen=True, tag="end"):
    """The visitor leaves for good."""

    session: Token


class QueryFrame(msgspec.Struct, frozen=True, tag="query"):
    """Ask for the data of a page."""

    session: Token
    view: Word
    arguments: dict[Word, Typed] = {}


class ActFrame(msgspec.Struct, frozen=True, tag="act"):
    """Do what a form says; asked once, whatever becomes of the connection."""

    session: Token
    act: Word
    fields: dict[Word, Typed] = {}


class UploadFrame(msgspec.Struct, frozen=True, tag="upload"):
    """A file for the next message; its pieces follow, the last one empty."""

    session: Token
    name: Word = ""
    media_type: Word = ""


class FetchFrame(msgspec.Struct, frozen=True, tag="fetch"):
    """Ask for a file of this browser's conversation; its pieces follow the answer."""

    session: Token
    ref: Word


class PieceFrame(msgspec.Struct, frozen=True, tag="piece"):
    """Part of a file, in either direction."""

    data: Annotated[bytes, msgspec.Meta(max_length=MAX_PIECE_BYTES)] = b""


class AttachFrame(msgspec.Struct, frozen=True, tag="attach"):
    """Be a terminal of this browser's person from now on."""

    session: Token


class DeviceFrame(msgspec.Struct, frozen=True, tag="device"):
    """The device and its console.

    Args:
        hosts: names by which the console may be called, besides those it knows itself.
        certificate: file of it for TLS, and `key` that of its key; empty for none.
    """

    version: int
    name: str = ""
    listen: str = ""
    hosts: tuple[str, ...] = ()
    certificate: str = ""
    key: str = ""


class KnockedFrame(msgspec.Struct, frozen=True, tag="knocked"):
    """The code that the browser shows.

    Args:
        has_button: a press on the board can open, too.
        press: how it stands with that, for a browser that asked for it; see `DoorPress`.
    """

    code: str
    has_button: bool = False
    press: str = ""


class LetInFrame(msgspec.Struct, frozen=True, tag="let_in"):
    """The browser's session; empty while it has none."""

    session: str = ""
    wait_s: float = 0.0


class ViewFrame(msgspec.Struct, frozen=True, tag="view"):
    """Data of a page.

    Args:
        role: of the visitor, whose rights decided on it.
    """

    role: str
    data: msgspec.Raw = msgspec.Raw(b"null")


class FileFrame(msgspec.Struct, frozen=True, tag="file"):
    """A file: the name by which a message takes it, or what is coming.

    Args:
        number: of one that was sent.
    """

    number: str = ""
    name: str = ""
    media_type: str = ""
    size_bytes: int = 0


class DeniedFrame(msgspec.Struct, frozen=True, tag="denied"):
    """Not for this visitor; `is_known` says whether there is a session at all."""

    why: str
    is_known: bool = False


FromConsole = (
    AboutFrame
    | KnockFrame
    | PressFrame
    | ClaimFrame
    | EnterFrame
    | EndFrame
    | QueryFrame
    | ActFrame
    | UploadFrame
    | FetchFrame
    | PieceFrame
    | AttachFrame
)
ToConsole = (
    DeviceFrame | KnockedFrame | LetInFrame | ViewFrame | FileFrame | PieceFrame | DeniedFrame
)

_FROM_CONSOLE: msgspec.json.Decoder[FromConsole] = msgspec.json.Decoder(FromConsole)
_TO_CONSOLE: msgspec.json.Decoder[ToConsole] = msgspec.json.Decoder(ToConsole)
_UNREADABLE = "unreadable frame: the other side is not barnacle, or another version"


def encoded(frame: FromConsole | ToConsole) -> bytes:
    """Return the frame as one line; JSON keeps line ends out of it."""
    return msgspec.json.encode(frame) + b"\n"


def from_console(line: bytes) -> FromConsole:
    """Read a line of the console.

    Raises:
        ChannelRefused: that is no frame.
    """
    try:
        return _FROM_CONSOLE.decode(line)
    except (msgspec.MsgspecError, ValueError, RecursionError) as err:
        raise ChannelRefused(_UNREADABLE) from err


def to_console(line: bytes) -> ToConsole:
    """Read a line of the agent.

    Raises:
        ChannelRefused: that is no frame.
    """
    try:
        return _TO_CONSOLE.decode(line)
    except (msgspec.MsgspecError, ValueError, RecursionError) as err:
        raise ChannelRefused(_UNREADABLE) from err


def is_denial(line: bytes) -> bool:
    """Return true if the agent denies what was asked; other frames are the terminals'."""
    try:
        return isinstance(_TO_CONSOLE.decode(line), DeniedFrame)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return False
