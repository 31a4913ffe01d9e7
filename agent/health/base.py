"""Base of every check: it looks at one thing and returns one sentence to act on."""

import enum
import socket
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct, field

from agent.embeddings.base import Embedder
from agent.link.board import SerialBoard
from agent.machine.readings import Readings
from agent.memory.base import Memory
from agent.peripherals.settings import I2cSettings, PiPinSettings
from agent.tools.mcp.settings import McpSettings


class Level(enum.Enum):
    """Level of a finding."""

    # Nothing to do
    OK = "ok"
    # The agent works, though not as well as it could
    WARNING = "warning"
    # The agent does not work, or something is being lost
    FAILED = "failed"


class Finding(Struct, frozen=True):
    """Finding of a check, with a sentence that names the fix."""

    level: Level
    sentence: str

    @classmethod
    def ok(cls, sentence: str) -> "Finding":
        return cls(Level.OK, sentence)

    @classmethod
    def warning(cls, sentence: str) -> "Finding":
        return cls(Level.WARNING, sentence)

    @classmethod
    def failed(cls, sentence: str) -> "Finding":
        return cls(Level.FAILED, sentence)


class ModelService(Struct, frozen=True):
    """A model's service: its address, and where its key is found; empty when it has none.

    Args:
        program: the name of the program that answers instead, which has no address.
        find_trouble: why that program cannot run; empty where it can.
    """

    url: str
    key_source: str
    program: str = ""
    find_trouble: Callable[[], str] = str


class MemoryStore(Struct, frozen=True):
    """Store of the memories.

    Args:
        where: for people.
        trouble: what can be said without opening it; empty when there is none.
        open: None where there is nothing to open, or another check looks at it.
    """

    backend: str
    where: str
    trouble: str = ""
    open: Callable[[], Memory] | None = None


# How something is, in a sentence; raises a ChannelError or a ConfigRefused
Probe = Callable[[], Awaitable[str]]


def _look_up(host: str) -> object:
    return socket.getaddrinfo(host, None)


class Patient(Struct, frozen=True):
    """Subject of the checks.

    Args:
        model_dir: None when embeddings are switched off.
        config: the configuration file; None when there is none.
        workspace: where skills are looked for.
        identity: its file with an AIEOS identity; empty for none.
        documents: the folder of datasheets and notes; need not exist.
        embeds_remotely: a service makes the vectors, not a model in `model_dir`.
        refusal: why it was refused; everything else is by its defaults then.
        holds_key: whether a key or another secret is written in the file.
        find_store: what keeps the memories; None when that is not known.
        find_spending: what today has cost, and which limit is reached; empty for none.
        needs_board: whether a port is configured, so that one has to be there.
        enable_gpios: pins of this machine that let outputs have power.
        pins: those that are tools, by name; and the devices on its buses.
        devices: where the kernel shows them.
        mcp: configured MCP servers, by their names.
        platforms: how each that is configured knows the agent, by its name.
        home: how what is configured of the home around is, and the browser, by its table.
        takes_terminals: whether an agent runs here; raises ChannelRefused where it is not for us.
        readings: what the machine says of itself.
        try_key: what the service says of the key, by a call that costs nothing; None where none
            is asked; raises ProviderError.
        hear: how long ago the running agent has heard each platform; None where none is
            configured; raises ChannelUnavailable.
        hosts: of configured platforms.
        look_up: finds a name, or raises OSError.
        analyzer: systemd's program for looking at units; the usual one where it is None.
        manager: its program for starting them; the same.
        probe_gateway: where it listens, in a sentence; None where it is not configured; raises
            ConfigRefused.
        find_service: the service that answers, None for none; raises ConfigRefused.
    """

    state_dir: Path
    databases: tuple[Path, ...]
    model_dir: Path | None
    status_file: Path
    embedder: Embedder
    find_service: Callable[[], ModelService | None]
    make_boards: Callable[[], Sequence[SerialBoard]]
    needs_board: bool = False
    enable_gpios: tuple[int, ...] = ()
    pins: Mapping[str, PiPinSettings] = field(default_factory=dict)
    i2c: Mapping[str, I2cSettings] = field(default_factory=dict)
    mcp: Mapping[str, McpSettings] = field(default_factory=dict)
    devices: Path = Path("/dev")
    config: Path | None = None
    refusal: str = ""
    embeds_remotely: bool = False
    documents: Path | None = None
    workspace: Path | None = None
    identity: str = ""
    holds_key: bool = False
    environ: Mapping[str, str] = field(default_factory=dict)
    find_store: Callable[[], MemoryStore] | None = None
    find_spending: Callable[[], tuple[str, str]] = lambda: ("nothing", "")
    readings: Readings = field(default_factory=lambda: Readings(Path.cwd()))
    try_key: Probe | None = None
    hear: Callable[[], Awaitable[Mapping[str, float]]] | None = None
    hosts: tuple[str, ...] = ()
    look_up: Callable[[str], object] = _look_up
    analyzer: Path | None = None
    manager: Path | None = None
    probe_gateway: Callable[[], str] | None = None
    platforms: Mapping[str, Probe] = field(default_factory=dict)
    home: Mapping[str, Probe] = field(default_factory=dict)
    takes_terminals: Callable[[], bool] = lambda: False


Check = Callable[[Patient], Awaitable[Finding]]
