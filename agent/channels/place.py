"""Place of a channel: what it shares with the rest of the agent."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from agent.channels.keeping import Keeping, Knows
from agent.channels.transcribing import Transcriber


@dataclass(frozen=True, slots=True)
class Place:
    """Folder of a channel, and the people that it listens to.

    Args:
        folder: for what has to outlive a restart.
        knows: whose files are fetched.
        commands: what can be typed, with what it does, where the platform shows a list.
    """

    folder: Path
    keeping: Keeping
    knows: Knows
    transcriber: Transcriber | None = None
    commands: Sequence[tuple[str, str]] = ()
