"""Seam of platforms that push: the request, and the answer to it.

The headers are looked at before any of the body is read; the body has been limited by then.
"""

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

from msgspec import Struct


class PushRequest(Struct, frozen=True):
    """Request; `headers` have lower-case names, and the last value of each."""

    headers: Mapping[str, str]
    body: bytes


class PushAnswer(Struct, frozen=True):
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
        """Return true if the sender had no right to send; it counts against them."""
        return self.status in {401, 403}


@runtime_checkable
class PushReceiver(Protocol):
    """Receiver of posts to one path."""

    @property
    def path(self) -> str: ...

    def refusal(self, headers: Mapping[str, str]) -> PushAnswer | None:
        """Return the refusal if no body can make this request good; else None."""

    async def push(self, push: PushRequest) -> PushAnswer:
        """Keep the content of the post; return when it is kept."""


@runtime_checkable
class ChallengedReceiver(PushReceiver, Protocol):
    """Receiver whose platform first checks the address by a GET."""

    def challenge(self, query: bytes) -> PushAnswer:
        """Return the answer to a challenge, word for word if it is right."""
