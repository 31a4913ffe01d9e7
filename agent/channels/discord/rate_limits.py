"""Rate limits of each address, as the platform reports them with every answer.

Whoever asks in spite of it long enough is locked out with the whole network's address; so it is
answered here what the platform would answer. Nothing waits here: that is for who asked.
"""

import re
from collections import OrderedDict
from typing import TypeVar

from agent.channels import rest
from agent.errors import ChannelUnavailable
from agent.net.http import HttpAnswer
from agent.system.clock import Clock

# Chats and kinds of calls that are remembered; the platform repeats itself to whoever forgets
MAX_ROUTES = 1000
_Value = TypeVar("_Value")
_NUMBER = re.compile(r"[0-9]{5,}")


class DiscordRateLimits:
    """Rate limits of one bot."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        # Which calls share a limit is known by the first answer
        self._buckets: OrderedDict[str, str] = OrderedDict()
        self._until_s: OrderedDict[str, float] = OrderedDict()
        self._all_until_s = 0.0

    def left_s(self, method: str, path: str) -> float:
        """Return the seconds until it may be asked again; 0 for now."""
        route = route_of(method, path)
        key = self._buckets.get(route, route)
        until_s = max(self._until_s.get(key, 0.0), self._all_until_s)
        return max(until_s - self._clock.monotonic_s(), 0.0)

    def demand(self, method: str, path: str) -> None:
        """Raise the error that the platform would answer, without asking it.

        Raises:
            ChannelUnavailable: not yet.
        """
        if left_s := self.left_s(method, path):
            raise asked_too_often(left_s)

    def note(self, method: str, path: str, answer: HttpAnswer) -> None:
        """Note the limits in an answer."""
        route = route_of(method, path)
        if bucket := answer.header("x-ratelimit-bucket")[:100]:
            # The same bucket counts apart for each chat
            _remember(self._buckets, route, f"{bucket} {_chat_of(path)}")
        if answer.header("x-ratelimit-remaining") == "0":
            self._hold(route, rest.seconds(answer.header("x-ratelimit-reset-after"), 0.0))

    def refused(self, method: str, path: str, wait_s: float, *, is_global: bool) -> None:
        """Record a refusal although the limit was kept: others use the same bot."""
        if is_global:
            self._all_until_s = self._clock.monotonic_s() + wait_s
        self._hold(route_of(method, path), wait_s)

    def _hold(self, route: str, wait_s: float) -> None:
        key = self._buckets.get(route, route)
        _remember(self._until_s, key, self._clock.monotonic_s() + wait_s)


def asked_too_often(wait_s: float) -> ChannelUnavailable:
    text = f"Discord asks to be left alone for {wait_s:.1f} s"
    return ChannelUnavailable(text, retry_after_s=wait_s)


def route_of(method: str, path: str) -> str:
    """Return the key of a limit: the chat counts, the single message does not."""
    first, *rest = [part for part in path.partition("?")[0].split("/") if part]
    parts = [first, *rest[:1], *(_NUMBER.sub(":id", part) for part in rest[1:])]
    # Each sign has the limit of all of them
    signs = parts.index("reactions") + 1 if "reactions" in parts else len(parts)
    return f"{method} /{'/'.join(parts[:signs])}"


def _chat_of(path: str) -> str:
    return "/".join(path.partition("?")[0].split("/")[1:3])


def _remember(kept: OrderedDict[str, _Value], key: str, value: _Value) -> None:
    kept[key] = value
    kept.move_to_end(key)
    if len(kept) > MAX_ROUTES:
        kept.popitem(last=False)
