"""Messages between the agent and a server's bridge: JSON lines of limited length.

First comes a `ServerSetup`, answered with what the server has; then requests, one at a time.
"""

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


class ServerSetup(msgspec.Struct, frozen=True):
    """A server to start: a command with environment and folder, or an address.

    Args:
        socket: where a service starts the command apart; empty where the bridge does.
    """

    command: tuple[str, ...] = ()
    environment: dict[str, str] = {}
    folder: str = "/"
    url: str = ""
    headers: dict[str, str] = {}
    socket: str = ""


class BridgeRequest(msgspec.Struct, frozen=True):
    """A call of a tool by the server's own name for it."""

    tool: str
    arguments: dict[str, object] = {}


class Offered(msgspec.Struct, frozen=True):
    """A tool as the server describes it; the definition is empty where it is too long."""

    name: str
    definition_json: str = ""


class BridgeAnswer(msgspec.Struct, frozen=True):
    """Answer to one line.

    Args:
        trouble: why there is no result.
        is_over: nothing more comes after this.
    """

    text: str = ""
    is_error: bool = False
    tools: tuple[Offered, ...] = ()
    trouble: str = ""
    is_over: bool = False
