"""Settings of the tools: web access, browser, programs, other agents, and Home Assistant."""

from typing import TYPE_CHECKING, Annotated, Literal

import msgspec
from msgspec import Meta

from agent.config import PORT, PORT_LIMIT, ConfigSection, Secret

if TYPE_CHECKING:
    from agent.security.shares import Shares

Name = Annotated[
    str,
    Meta(
        pattern=r"^(\*\.)?([a-z0-9_-]+\.)+[a-z0-9-]+\Z",
        max_length=253,
        description="a host in small letters, such as example.org or *.example.org",
    ),
]
# A host or address at home, and its port
Spot = Annotated[
    str,
    Meta(
        pattern=rf"^([a-z0-9._-]+|\[[0-9a-f:]+\]):{PORT}\Z",
        max_length=253,
        description=f"a host {PORT_LIMIT}, such as 192.168.1.20:8080",
    ),
]
# Host, port and path, where a service is
Base = Annotated[
    str,
    Meta(
        pattern=rf"^(|https?://([a-z0-9._-]+|\[[0-9a-f:]+\])(:{PORT})?(/[!-~]*)?)\Z",
        description=f"a URL in small letters, such as http://192.168.1.20:8080, {PORT_LIMIT}",
    ),
    Meta(max_length=2048),
]


SERVICES = ("searxng", "brave", "tavily", "duckduckgo")
_WITH_KEY = ("brave", "tavily")


class SearchSettings(ConfigSection, frozen=True, kw_only=True):
    """Settings of the web search service."""

    # Where the SearXNG is
    url: Base = ""
    key: Secret = Secret()

    @property
    def spot(self) -> str:
        """Return host and port of the SearXNG, which may be in the local network."""
        scheme, _, rest = self.url.partition("://")
        host = rest.partition("/")[0]
        has_port = ":" in host.rpartition("]")[2]
        return host if has_port else f"{host}:{443 if scheme == 'https' else 80}"


class WebSettings(ConfigSection, frozen=True, kw_only=True):
    """Settings of web access."""

    # The only hosts that may be reached; empty: any public one. A question comes before either
    allow: tuple[Name, ...] = ()
    # Machines at home that may be reached as well, each with its port
    local: tuple[Spot, ...] = ()
    # Who answers `web_search`, by the name of the service; without one there is no such tool
    search: dict[str, SearchSettings] = msgspec.field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, wanted in self.search.items():
            if name not in SERVICES:
                raise ValueError(
                    f"search {name} is not a known service; choose from {', '.join(SERVICES)}"
                )
            if name == "searxng" and not wanted.url:
                raise ValueError(f"search {name} needs its url, such as http://192.168.1.20:8080")
            if name in _WITH_KEY and not wanted.key:
                raise ValueError(f"search {name} needs a key")
            if not wanted.key.reveal().isascii():
                raise ValueError(
                    f"search {name} has an invalid key: only plain characters are allowed"
                )
        if len(self.search) > 1:
            raise ValueError("search must name one service only")


class BrowserSettings(ConfigSection, frozen=True, kw_only=True):
    """The `[browser]` section; without it no tool knows of one."""

    # Its program itself; empty: the first of those that Debian installs
    program: Annotated[
        str,
        Meta(
            pattern=r"^(|/[!-~]+)\Z",
            max_length=255,
            description="a path such as /usr/lib/chromium/chromium",
        ),
    ] = ""
    # What each of its processes may make its own
    memory_mb: Annotated[int, Meta(ge=256, le=4096)] = 512


# Each has a grammar, and each only looks
PROGRAMS = (
    *("cat", "cut", "date", "df", "diff", "du", "echo", "file", "find", "fold"),
    *("grep", "head", "join", "jq", "ls", "md5sum", "nl", "od", "paste", "pwd"),
    *("seq", "sha1sum", "sha256sum", "sha512sum", "sort", "stat", "tac", "tail", "uname", "uniq"),
    *("uptime", "wc"),
)


class ShellSettings(ConfigSection, frozen=True, kw_only=True):
    """Settings of programs."""

    # What `shell` may run by its words, in the sandbox only; an empty list leaves scripts alone
    programs: tuple[str, ...] = PROGRAMS
    # What programs are told besides PATH, LANG and HOME, such as TZ
    environment: dict[str, str] = msgspec.field(default_factory=dict)

    def __post_init__(self) -> None:
        for program in self.programs:
            if program not in PROGRAMS:
                raise ValueError(
                    f"programs has the unknown program {program}; choose from {', '.join(PROGRAMS)}"
                )
        if self.environment:
            self._refuse_forbidden()

    def _refuse_forbidden(self) -> None:
        from agent.security.environment import complaint_about  # noqa: PLC0415 - few name any

        for name, value in self.environment.items():
            if complaint := complaint_about(name, value):
                raise ValueError(f"environment is refused: {complaint}")


_ToolName = Annotated[
    str,
    Meta(
        pattern=r"^[a-z][a-z0-9_]*\*?\Z",
        max_length=100,
        description="a tool, such as web_fetch, or the beginning of several, such as board_*",
    ),
]


# A folder as the table of shares names it: relative, with no way out
_Folder = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=255,
        description="a folder or file of the workspace, such as notes/garden",
    ),
]
_Belonging = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=60,
        description="household, everybody, or the name of a person who was let in",
    ),
]


class WorkspaceSettings(ConfigSection, frozen=True, kw_only=True):
    """Sharing of workspace data; everything that is not shared is the owner's alone."""

    # Folders by their paths, each with "household", "everybody", or a person's name
    shared: dict[_Folder, _Belonging] = msgspec.field(default_factory=dict)
    # For whom readings of sensors and pins are
    readings: Literal["owner", "household", "everybody"] = "everybody"

    def __post_init__(self) -> None:
        for folder in self.shared:
            # The table of most configurations is empty, and paths are read late
            from agent.security.grammars.base import path  # noqa: PLC0415

            is_plain = not (folder.endswith("/") or folder.startswith("./"))
            complaint = path(folder) if is_plain else "write it without ./ and a final /"
            if complaint:
                raise ValueError(f"shared names {folder!r}: {complaint}")

    @property
    def shares(self) -> "Shares":
        from agent.security.access import Circle  # noqa: PLC0415 - a start asks nobody
        from agent.security.shares import Shares  # noqa: PLC0415 - a start asks nobody

        circles = {"owner": Circle.PERSON, "household": Circle.HOUSEHOLD}
        return Shares(self.shared, circles.get(self.readings, Circle.EVERYBODY))


class DelegateSettings(ConfigSection, frozen=True, kw_only=True):
    """Settings of one agent that can be asked."""

    # What the asking model is told of it, in a few words
    about: Annotated[str, Meta(max_length=100)] = ""
    # What it is told of itself
    prompt: Annotated[str, Meta(max_length=8000)] = ""
    # A model of the usual service, or "hint:" and a route; empty: the usual one
    model: Annotated[str, Meta(max_length=400)] = ""
    # Of the asker's tools those that it may use, `*` at the end for any rest; none if empty
    tools: Annotated[tuple[_ToolName, ...], Meta(max_length=64)] = ()
    max_iterations: Annotated[int, Meta(ge=1, le=20)] = 5


EntityPattern = Annotated[
    str,
    Meta(
        pattern=r"^[a-z0-9_*?]{1,60}\.[a-z0-9_*?]{1,120}\Z",
        description="an entity such as light.desk, or several such as sensor.*",
    ),
]
# The last one is for what is a hazard by itself, where the owner says it is none
Danger = Literal["read", "actuate", "hazard", "actuate_even_so"]
_WILD = frozenset("*?")


class HomeAssistantSettings(ConfigSection, frozen=True, kw_only=True):
    """The `[home_assistant]` section; without it no tool knows of one."""

    # Where it answers, such as http://192.168.1.10:8123
    base_url: Base = ""
    # A long-lived access token of its own user; or a file that holds nothing else, which is better
    token: Secret = Secret()
    token_file: str = ""
    # What may be seen and called; nothing else is there for the agent
    entities: dict[EntityPattern, Danger] = msgspec.field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.base_url:
            raise ValueError(
                "base_url is missing: give an address such as http://192.168.1.10:8123"
            )
        if not self.entities:
            raise ValueError('entities is missing: list what is allowed, such as "light.*"')
        for pattern, danger in self.entities.items():
            if danger != "read" and _WILD & set(pattern.partition(".")[0]):
                raise ValueError(f"entities allows acts on every kind by {pattern}: name the kind")
