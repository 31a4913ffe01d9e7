"""Settings of one MCP server: a local program or an address."""

import re
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from agent.config import ConfigSection, Secret
from agent.tools.settings import Base

_Word = Annotated[str, Meta(min_length=1)]
_HEADER = re.compile(r"[A-Za-z0-9-]{1,64}")
# What the protocol itself sets, and what says where a request goes and where it ends
_NOT_HEADERS = frozenset(
    {
        *("accept", "accept-encoding", "connection", "content-encoding", "content-length"),
        *("content-type", "host", "last-event-id", "te", "trailer", "transfer-encoding"),
        *("upgrade", "expect"),
    }
)


class McpSettings(ConfigSection, frozen=True, kw_only=True):
    """Command or address of a server, and its read-only tools."""

    # A program and its arguments
    command: tuple[_Word, ...] = ()
    # What the program is told besides PATH, LANG and HOME; every value counts as a secret
    env: dict[str, Secret] = msgspec.field(default_factory=dict)
    # "auto": it runs apart from the agent, and is refused where nothing keeps it apart. "none": it
    # has all the rights of the agent
    sandbox: Literal["auto", "none"] = "auto"
    # Where a server is that speaks streamable HTTP
    url: Base = ""
    # What is sent along with each request; every value counts as a secret
    headers: dict[str, Secret] = msgspec.field(default_factory=dict)
    # How its sign-in knows us, where it takes nobody who registers by themselves
    client_id: str = ""
    client_secret: Secret = Secret("")
    # Its tools that only look: they are used without a question
    read: tuple[_Word, ...] = ()

    def __post_init__(self) -> None:
        if bool(self.command) == bool(self.url):
            raise ValueError("must have either a command or a url")
        if (self.env and self.url) or (self.headers and self.command):
            raise ValueError("env goes with a command, and headers with a url")
        if self.client_secret.reveal() and not self.client_id:
            raise ValueError("client_secret goes with a client_id")
        if self.client_id and self.command:
            raise ValueError("client_id goes with a url")
        # A program in a folder that is not named is whatever somebody put there
        if self.command and "/" in self.command[0] and not self.command[0].startswith("/"):
            raise ValueError("command must name its program by full path or by name alone")
        if self.env:
            self._refuse_forbidden()
        for name in self.headers:
            is_ours = name.lower().startswith("mcp-") or name.lower() in _NOT_HEADERS
            if is_ours or not _HEADER.fullmatch(name):
                raise ValueError(f"headers may not have {name!r}")
            if not self.headers[name].reveal().isascii():
                raise ValueError(
                    f"headers has an invalid {name}: only plain characters are allowed"
                )

    def secrets(self) -> tuple[Secret, ...]:
        """Return all values that must stay secret, also without their prefix."""
        values = (*self.env.values(), *self.headers.values(), self.client_secret)
        parts = (value.reveal().partition(" ")[2] for value in self.headers.values())
        return (*values, *(Secret(part.strip()) for part in parts))

    def _refuse_forbidden(self) -> None:
        from agent.security.environment import complaint_about_server  # noqa: PLC0415 - few name any

        for name in self.env:
            if complaint := complaint_about_server(name):
                raise ValueError(f"env is refused: {complaint}")
