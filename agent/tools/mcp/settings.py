"""The section of one MCP server: a program of this machine, or an address."""

import re
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from agent.config import Secret, Section
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


class McpSettings(Section, frozen=True, kw_only=True):
    """How a server is reached, and which of its tools only look."""

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
    # Its tools that only look: they are used without a question
    read: tuple[_Word, ...] = ()

    def __post_init__(self) -> None:
        if bool(self.command) == bool(self.url):
            raise ValueError("must have either a command or a url")
        if (self.env and self.url) or (self.headers and self.command):
            raise ValueError("env goes with a command, and headers with a url")
        # A program in a folder that is not named is whatever somebody put there
        if self.command and "/" in self.command[0] and not self.command[0].startswith("/"):
            raise ValueError("command names its program by a whole path, or by a name alone")
        if self.env:
            self._refuse_forbidden()
        for name in self.headers:
            is_ours = name.lower().startswith("mcp-") or name.lower() in _NOT_HEADERS
            if is_ours or not _HEADER.fullmatch(name):
                raise ValueError(f"headers may not have {name!r}")
            if not self.headers[name].reveal().isascii():
                raise ValueError(f"headers has a {name} that is none: only plain characters")

    def secrets(self) -> tuple[Secret, ...]:
        """What nobody may read, also without the word that says of what kind it is."""
        values = (*self.env.values(), *self.headers.values())
        parts = (value.reveal().partition(" ")[2] for value in self.headers.values())
        return (*values, *(Secret(part.strip()) for part in parts))

    def _refuse_forbidden(self) -> None:
        from agent.security.environment import complaint_about_server  # noqa: PLC0415 - few name any

        for name in self.env:
            if complaint := complaint_about_server(name):
                raise ValueError(f"env is refused: {complaint}")
