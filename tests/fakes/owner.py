"""An owner who is told things."""

from dataclasses import dataclass, field

from agent.passage import Passage


@dataclass
class ListeningOwner:
    """Keeps what was said and which turns began."""

    told: list[str] = field(default_factory=list)
    begun: list[tuple[str, str]] = field(default_factory=list)

    async def tell(self, text: str) -> None:
        self.told.append(text)

    async def begin(self, subject: str, words: Passage) -> None:
        self.begun.append((subject, words.text))
