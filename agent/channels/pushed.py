"""The seam of a platform that pushes: what it gets of a request, and what it answers.

The headers are looked at before any of the body is read; the body has been limited by then.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable


@dataclass(frozen=True, slots=True)
class Push:
    """One request; `headers` have names in lower case, of several with a name the last."""

    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Answered:
    """Answer to the platform; `retry_after_s` asks it to come again.

    Args:
        is_bare: the text is all of the body, for platforms that want it word for word.
    """

    status: int
    text: str
    retry_after_s: int | None = None
    is_bare: bool = False

    @property
    def is_forged(self) -> bool:
        """Whoever sent it has no right to: counted against them."""
        return self.status in {401, 403}


@runtime_checkable
class Pushed(Protocol):
    """Takes what a platform posts to its path."""

    @property
    def path(self) -> str: ...

    def refusal(self, headers: Mapping[str, str]) -> Answered | None:
        """Return the refusal if no body can make this request good; else None."""

    async def push(self, push: Push) -> Answered:
        """Keep what was said, and return when it is kept."""


@runtime_checkable
class Challenged(Pushed, Protocol):
    """The same of a platform that first asks, by a GET with a query, whether we are meant."""

    def challenge(self, query: bytes) -> Answered:
        """Return the answer to a challenge, word for word if it is right."""
