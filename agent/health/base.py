"""What every check has in common: it looks at one thing and says one sentence to act on."""

import enum
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from agent.link.settings import BoardSettings
from agent.providers.settings import ProviderSettings


class Level(enum.Enum):
    """How a thing is."""

    # Nothing to do
    OK = "ok"
    # The agent works, though not as well as it could
    WARNING = "warning"
    # The agent does not work, or something is being lost
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Finding:
    """How a thing is, and a sentence that says what to do about it."""

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


@dataclass(frozen=True, slots=True)
class Patient:
    """What is looked at.

    Args:
        config: the configuration file; None when there is none.
        refusal: why it was refused; the sections are the defaults then.
    """

    state_dir: Path
    databases: tuple[Path, ...]
    model_dir: Path
    status_file: Path
    config: Path | None = None
    refusal: str = ""
    environ: Mapping[str, str] = field(default_factory=dict)
    provider: ProviderSettings = field(default_factory=ProviderSettings)
    board: BoardSettings = field(default_factory=BoardSettings)


Check = Callable[[Patient], Awaitable[Finding]]
