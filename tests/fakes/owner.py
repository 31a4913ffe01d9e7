"""An owner who is told things."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from agent.messages import Attachment
from agent.passage import Passage


@dataclass
class ListeningOwner:
    """Keeps what was said and which turns began."""

    told: list[str] = field(default_factory=list)
    begun: list[tuple[str, str]] = field(default_factory=list)
    # Files and the line that stands for them
    shown: list[tuple[tuple[str, ...], str]] = field(default_factory=list)

    async def tell(self, text: str) -> None:
        self.told.append(text)

    async def show(self, text: str, files: Sequence[Attachment], line: str) -> None:
        self.told.append(text)
        self.shown.append((tuple(file.path for file in files), line))

    async def begin(self, subject: str, words: Passage) -> None:
        self.begun.append((subject, words.text))
