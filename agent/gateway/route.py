"""Seam of protocols that share the gateway: their paths, and a request that was let in."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol

from msgspec import Struct
from starlette.responses import Response

from agent.access.people import Person
from agent.channels.push import PushAnswer


class RouteRequest(Struct, frozen=True):
    """Request of a paired caller.

    Args:
        sender: the account that its token is, by which the caller is a person.
        headers: by lower-case names, the last value of each.
        read: reads the body, within the gateway's limits.
        left: returns when the caller has gone; only after `read`.
    """

    person: Person
    sender: str
    headers: Mapping[str, str]
    read: Callable[[], Awaitable[bytes]]
    left: Callable[[], Awaitable[None]]


class GatewayRoute(Protocol):
    """One method of one path; only callers with a person's token come to it."""

    @property
    def method(self) -> str: ...

    @property
    def path(self) -> str: ...

    @property
    def answer_s(self) -> float:
        """Return the longest time that an answer may take."""

    def refusal(self, answered: PushAnswer) -> Response:
        """Return a refusal in the shape of the protocol."""

    async def handle(self, request: RouteRequest) -> Response:
        """Answer the request."""
