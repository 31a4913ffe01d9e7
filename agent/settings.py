"""The whole configuration, composed of the parts' own sections, and where everything is kept.

Light to import: sections are values. Absent keys and an absent file mean the defaults.
"""

from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from agent.channels.settings import ChannelsSettings, TerminalSettings
from agent.config import ConfigSection, expanded, home_folder, load
from agent.embeddings.settings import EmbeddingsSettings
from agent.gateway.settings import (
    ConsoleSettings,
    DevicesSettings,
    GatewaySettings,
    WyomingSettings,
)
from agent.link.settings import BoardSettings
from agent.memory.settings import MemorySettings
from agent.peripherals.settings import BUS_1_GPIOS, I2cSettings, PiPinSettings
from agent.providers import catalog
from agent.providers.section import MainProviderSettings
from agent.providers.settings import HINT, ProviderSettings
from agent.readings.settings import ReadingsSettings
from agent.schedule.settings import BackupSettings, ScheduleSettings
from agent.storage.lineage import Lineage, read_lineage
from agent.system.logs import LogSettings
from agent.tools.mcp.settings import McpSettings
from agent.tools.settings import (
    BrowserSettings,
    DelegateSettings,
    HomeAssistantSettings,
    ShellSettings,
    WebSettings,
    WorkspaceSettings,
)
from agent.turn.settings import AgentSettings, HooksSettings

Environ = Mapping[str, str]

SYSTEM_CONFIG = Path("/etc/barnacle/barnacle.toml")


class Settings(ConfigSection, frozen=True, kw_only=True):
    """Every key that a configuration file may hold."""

    agent: AgentSettings = AgentSettings()
    provider: MainProviderSettings = MainProviderSettings()
    # Further services by names of one's own, for `provider.fallbacks` and `provider.routes`
    providers: dict[str, ProviderSettings] = msgspec.field(default_factory=dict)
    memory: MemorySettings = MemorySettings()
    embeddings: EmbeddingsSettings = EmbeddingsSettings()
    board: BoardSettings = BoardSettings()
    # Further boards by their names; with more than one each names its port
    boards: dict[str, BoardSettings] = msgspec.field(default_factory=dict)
    # What is wired to this machine itself, by names of one's own
    pins: dict[str, PiPinSettings] = msgspec.field(default_factory=dict)
    i2c: dict[str, I2cSettings] = msgspec.field(default_factory=dict)
    # Other agents that this one may ask, by names of one's own
    agents: dict[str, DelegateSettings] = msgspec.field(default_factory=dict)
    # Programs and services whose tools it may have, by names of one's own
    mcp: dict[str, McpSettings] = msgspec.field(default_factory=dict)
    web: WebSettings = WebSettings()
    # A browser that opens and uses pages; without its table there is none
    browser: BrowserSettings | None = None
    # A home whose devices it may look at and switch; without its table it knows of none
    home_assistant: HomeAssistantSettings | None = None
    shell: ShellSettings = ShellSettings()
    # Which folders are shared with whom
    workspace: WorkspaceSettings = WorkspaceSettings()
    schedule: ScheduleSettings = ScheduleSettings()
    readings: ReadingsSettings = ReadingsSettings()
    # Backups of every night; without its table none is made
    backup: BackupSettings | None = None
    hooks: HooksSettings = HooksSettings()
    terminal: TerminalSettings = TerminalSettings()
    channels: ChannelsSettings = ChannelsSettings()
    # HTTP for platforms that push; without its table nothing listens
    gateway: GatewaySettings | None = None
    # Voice assistants such as Home Assistant's; without its table nothing listens
    wyoming: WyomingSettings | None = None
    # Other devices of the same owner; without its table it knows of none
    devices: DevicesSettings | None = None
    # Pages for browsers; without its table only a card of ours has them
    console: ConsoleSettings | None = None
    log: LogSettings = LogSettings()

    def __post_init__(self) -> None:
        for name, board in self.boards.items():
            if board.name not in {name, BoardSettings().name}:
                raise ValueError(f"boards.{name}.name is not needed: its table names it {name}")
        every = self.every_board()
        for board in every:
            if any(is_prefix(board.name, other.name) for other in every if other is not board):
                raise ValueError(f"boards have names that cannot be told apart: {board.name}")
            if len(every) > 1 and not board.port:
                raise ValueError(f"boards need a `port` each when there are several: {board.name}")
        self._refuse_unclear_devices()
        self._refuse_unknown_services()
        self._refuse_unknown_hints()
        self._refuse_double_pins()
        for name in self.mcp:
            if any(is_prefix(name, other) for other in self.mcp if other != name):
                raise ValueError(f"mcp has names that cannot be told apart: {name}")

    def every_board(self) -> tuple[BoardSettings, ...]:
        """All boards with their names; `[board]` is left out where only others are configured."""
        named = [msgspec.structs.replace(board, name=name) for name, board in self.boards.items()]
        own = [] if named and self.board == BoardSettings() else [self.board]
        return (*own, *named)

    @property
    def given_names(self) -> frozenset[str]:
        """Return the names by which people get something here: data, or a say."""
        callers = self.gateway.elicit if self.gateway else ()
        return frozenset((*self.workspace.shared.values(), *callers))

    def _refuse_unclear_devices(self) -> None:
        """Refuse other devices whose tools could be a board's, or this one's own."""
        if self.devices is None:
            return
        taken = {board.name for board in self.every_board()} | {"board", *self.mcp}
        for name in self.devices.others:
            if name == self.devices.name:
                raise ValueError(f"devices.others has this device itself: {name}")
            if any(is_prefix(name, one) or is_prefix(one, name) for one in taken):
                raise ValueError(f"devices.others has the name of a board or server: {name}")

    def _refuse_unknown_services(self) -> None:
        """Refuse fallbacks and routes to unknown services; missing keys show at the start."""
        named = [("provider.fallbacks", name) for name in self.provider.fallbacks]
        named += [(f"provider.routes.{hint}", to) for hint, to in self.provider.routes.items()]
        for key, wanted in named:
            name = wanted.partition(":")[0]
            if name not in self.providers and name != "provider":
                try:
                    catalog.find(f"{name}:" if name.endswith("custom") else name)
                except ValueError as err:
                    raise ValueError(f"{key}: {err}") from err

    def _refuse_unknown_hints(self) -> None:
        for name, agent in self.agents.items():
            hint = agent.model.removeprefix(HINT)
            if agent.model.startswith(HINT) and hint not in self.provider.routes:
                raise ValueError(f"agents has {agent.model} in {name}, and provider.routes has not")

    def _refuse_double_pins(self) -> None:
        """No GPIO of this machine is for two things."""
        taken = dict.fromkeys(enable_gpios(self), "enable_gpio of a board")
        if any(device.bus == 1 for device in self.i2c.values()):
            taken |= dict.fromkeys(BUS_1_GPIOS, "I2C bus 1")
        for name, pin in self.pins.items():
            if pin.gpio in taken:
                has = taken[pin.gpio]
                raise ValueError(f"pins has GPIO {pin.gpio} as {name}, but {has} has it")
            if pin.gpio is not None:
                taken[pin.gpio] = f"pins.{name}"


def enable_gpios(settings: Settings) -> tuple[int, ...]:
    """The pins of this machine that let the boards' outputs have power."""
    pins = [board.enable_gpio for board in settings.every_board()]
    return tuple(pin for pin in pins if pin >= 0)


def is_prefix(name: str, other: str) -> bool:
    """Return true if tools of the one could have the names of the other's."""
    return other == name or other.startswith(f"{name}_")


class Paths(Struct, frozen=True):
    """Paths of everything that is kept; `config` is None without a file.

    Args:
        chosen_workspace: what the configuration says, if it does.
        chosen_documents: what the configuration says, if it does.
        chosen_model_dir: what the configuration, the environment or the checkout says.
    """

    config: Path | None
    state_dir: Path
    chosen_workspace: Path | None = None
    chosen_model_dir: Path | None = None
    chosen_documents: Path | None = None

    @property
    def agent_db(self) -> Path:
        return self.state_dir / "agent.db"

    @property
    def audit(self) -> Path:
        return self.state_dir / "audit"

    @property
    def approvals(self) -> Path:
        return self.state_dir / "approvals.json"

    @property
    def mcp(self) -> Path:
        """Folder of MCP: the owner's approvals, and the homes of the servers' programs."""
        return self.state_dir / "mcp"

    @property
    def jobs(self) -> Path:
        return self.state_dir / "jobs.json"

    @property
    def timers(self) -> Path:
        return self.state_dir / "timers.json"

    @property
    def phrases(self) -> Path:
        """File of people's sentences and what they meant to a model, for use without one."""
        return self.state_dir / "phrases.json"

    @property
    def model_templates(self) -> Path:
        """File of the templates in which models were seen to write their calls."""
        return self.state_dir / "model-templates.json"

    @property
    def board_install(self) -> Path:
        """File that says which board is being installed."""
        return self.state_dir / "board-install.json"

    @property
    def brain_db(self) -> Path:
        return self.state_dir / "memory" / "brain.db"

    @property
    def embeddings_db(self) -> Path:
        return self.state_dir / "memory" / "embeddings.db"

    @property
    def workspace(self) -> Path:
        return self.chosen_workspace or self.state_dir / "workspace"

    @property
    def inbox(self) -> Path:
        """Folder of files that people send."""
        return self.state_dir / "inbox"

    @property
    def documents(self) -> Path:
        return self.chosen_documents or self.workspace / "documents"

    @property
    def hygiene_file(self) -> Path:
        return self.state_dir / "memory" / "hygiene.json"

    @property
    def model_dir(self) -> Path:
        return self.chosen_model_dir or self.state_dir / "model"

    @property
    def manifests(self) -> Path:
        return self.state_dir / "manifests"

    def board_folder(self, board: BoardSettings) -> Path:
        """Return the folder of that board's data."""
        is_first = board.name == BoardSettings().name
        return self.manifests if is_first else self.manifests / "boards" / board.name

    def lineage(self) -> Lineage:
        """Return the device's lineage, which its boards keep too."""
        return read_lineage(self.state_dir)

    def watches(self, board: BoardSettings) -> Path:
        """Return the file of that board's watches from chats."""
        is_first = board.name == BoardSettings().name
        return self.state_dir / ("watches.json" if is_first else f"watches-{board.name}.json")

    @property
    def reading_notices(self) -> Path:
        return self.state_dir / "reading_notices.json"

    @property
    def readings_db(self) -> Path:
        return self.state_dir / "readings.db"

    @property
    def gateway_db(self) -> Path:
        return self.state_dir / "gateway.db"

    @property
    def devices_db(self) -> Path:
        """File of the acts between devices; never in a backup: an old one would forget acts."""
        return self.state_dir / "devices.db"

    @property
    def webhook_db(self) -> Path:
        return self.state_dir / "webhook.db"

    @property
    def history_file(self) -> Path:
        return self.state_dir / "history"

    @property
    def chat_log(self) -> Path:
        return self.state_dir / "chat.log"

    @property
    def status_file(self) -> Path:
        return self.state_dir / "status.json"


def surroundings(
    environ: Environ, config: str | None = None, state: str | None = None
) -> tuple[Settings, Paths]:
    """Settings and paths; `config` and `state` come from the command line and win.

    Raises:
        ConfigRefused: one line for each thing that is wrong with the file.
    """
    path = expanded(config, environ) if config else find_config(environ)
    settings = load(path, Settings) if path else Settings()
    return settings, find_paths(environ, settings, path, state)


def find_paths(
    environ: Environ, settings: Settings, config: Path | None, state: str | None = None
) -> Paths:
    """Return the paths under these settings."""
    workspace = settings.agent.workspace
    documents = settings.memory.documents
    return Paths(
        config,
        expanded(state, environ) if state else state_dir(environ),
        expanded(workspace, environ) if workspace else None,
        _model_dir(environ, settings),
        expanded(documents, environ) if documents else None,
    )


def find_config(environ: Environ) -> Path | None:
    """The configuration file to read: the named one, the person's own, the machine's, or none."""
    if named := environ.get("BARNACLE_CONFIG"):
        return expanded(named, environ)
    own = home_folder(environ) / ".config" / "barnacle" / "barnacle.toml"
    return next((path for path in (own, SYSTEM_CONFIG) if _may_exist(path)), None)


def state_dir(environ: Environ) -> Path:
    """The folder of databases and memories."""
    if named := environ.get("BARNACLE_STATE_DIR"):
        return expanded(named, environ)
    # systemd separates several folders by colons; the unit asks for one
    if given := environ.get("STATE_DIRECTORY", "").partition(":")[0]:
        return Path(given)
    return home_folder(environ) / ".local" / "state" / "barnacle"


def _model_dir(environ: Environ, settings: Settings) -> Path | None:
    named = settings.embeddings.model_dir or environ.get("BARNACLE_MODEL_DIR")
    if named:
        return expanded(named, environ)
    # Where scripts/run of a checkout builds it
    built = Path(__file__).parent.parent / ".barnacle" / "model"
    return built if built.is_dir() else None


def _may_exist(path: Path) -> bool:
    """False only when it is certain: a folder that may not be looked into is no absence."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True
