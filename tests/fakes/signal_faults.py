"""What can become of a call of the daemon, instead of its being answered."""

import asyncio
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Fails:
    """The call is answered with an error, or with results of which none is a success."""

    code: int
    message: str = "Failed to send message"
    results: tuple[dict[str, Any], ...] = ()

    @property
    def error(self) -> dict[str, Any]:
        data = {"response": {"timestamp": 1, "results": list(self.results)}}
        told = {"code": self.code, "message": self.message}
        return {**told, "data": data if self.results else None}


@dataclass(frozen=True, slots=True)
class Status:
    """The call is answered by something with an HTTP status and a page."""

    status: int


class Hangs:
    """The call is never answered."""


class BreaksOff:
    """The connection is closed: before the call is done, or after it."""

    def __init__(self, *, is_done: bool = False) -> None:
        self.is_done = is_done


@dataclass(frozen=True, slots=True)
class Waits:
    """The call is answered as soon as it is over: as `then` says, or well."""

    then: Fails | None = None
    over: asyncio.Event = field(default_factory=asyncio.Event)


Fault = Fails | Status | Hangs | BreaksOff | Waits
