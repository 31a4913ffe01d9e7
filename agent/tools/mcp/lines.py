"""Messages between the agent and the bridge: JSON lines of limited length.

Each names the connection that it is about. The first of a connection starts its server and is
answered with what the server has; then come calls, one at a time. One that finds other tools than
were told last is not made, and answered with them. Before an answer the server may have questions,
each of which waits for a reply.
"""

from typing import Literal, TypeAlias

import msgspec

# Longest line either way, also between the bridge and a server: many times any useful result
MAX_LINE_BYTES = 1024 * 1024
# A result; with four bytes for each character it still fits into a line
MAX_TEXT_CHARS = 100_000
# More than anybody reads before approving them
MAX_TOOLS = 64
# All that a server says of one tool; a listing of such ones fits into a line
MAX_DEFINITION_BYTES = 12 * 1024
MAX_TROUBLE_CHARS = 300
# A question that a person is to read, and all that describes its fields
MAX_QUESTION_CHARS = 1500
MAX_FIELDS_BYTES = 8 * 1024
# Addresses at which somebody signs in carry their parameters along
MAX_ADDRESS_CHARS = 4000
# Why a connection is over where a call was not taken, and can be made in a new one
SESSION_ENDED = "its session has ended"


class ServerSetup(msgspec.Struct, frozen=True):
    """A server to start: a command with environment and folder, or an address.

    Args:
        socket: where a service starts the command apart; empty where the bridge does.
        client_id: how the sign-in of an address knows us; empty where we register ourselves.
    """

    command: tuple[str, ...] = ()
    environment: dict[str, str] = {}
    folder: str = "/"
    url: str = ""
    headers: dict[str, str] = {}
    socket: str = ""
    client_id: str = ""
    client_secret: str = ""


class StartRequest(msgspec.Struct, frozen=True, tag="start"):
    """Start of a server."""

    connection: str
    setup: ServerSetup


class CallRequest(msgspec.Struct, frozen=True, tag="call"):
    """A call of a tool by the server's own name for it."""

    connection: str
    tool: str
    arguments: dict[str, object] = {}


class ReplyRequest(msgspec.Struct, frozen=True, tag="reply"):
    """The owner's reply to a question; the values are those of the fields.

    Args:
        number: of the question; a server may have taken it back and asked another one.
    """

    connection: str
    action: Literal["accept", "decline", "cancel"]
    values: dict[str, str | int | float | bool | list[str] | None] = {}
    number: int = 0


class EndRequest(msgspec.Struct, frozen=True, tag="end"):
    """End of a server; `is_now` leaves it no time to say good-bye."""

    connection: str
    is_now: bool = False


BridgeRequest: TypeAlias = StartRequest | CallRequest | ReplyRequest | EndRequest


class Offered(msgspec.Struct, frozen=True):
    """A tool as the server describes it; the definition is empty where it is too long.

    Args:
        trouble: why the description of its arguments is invalid; empty where it is not.
    """

    name: str
    definition_json: str = ""
    trouble: str = ""


class ServerQuestion(msgspec.Struct, frozen=True):
    """A question to the owner.

    Args:
        fields: JSON Schema of each value that is wanted, by its name.
        address: where somebody is to go with their browser.
        returns_to: they sign in there, and the browser then shows an address that begins so.
        number: what its reply names it by.
    """

    text: str
    fields: dict[str, dict[str, object]] = {}
    required: tuple[str, ...] = ()
    address: str = ""
    returns_to: str = ""
    number: int = 0


class BridgeAnswer(msgspec.Struct, frozen=True):
    """Answer to one line.

    Args:
        trouble: why there is no result.
        is_over: nothing more comes from this connection.
        has_changed: the call was not made, as the server has other tools by now: these.
        question: comes before the answer, and wants a reply.
    """

    connection: str = ""
    text: str = ""
    is_error: bool = False
    tools: tuple[Offered, ...] = ()
    trouble: str = ""
    is_over: bool = False
    question: ServerQuestion | None = None
    has_changed: bool = False
