"""Threads of Discord, each beneath a channel."""

from collections import OrderedDict

import msgspec

from agent.channels.discord.client import DiscordApi, DiscordRefused
from agent.channels.discord.events import DiscordPlace

# Places that are remembered; others are asked about again
MAX_PLACES = 1000


class DiscordThreads:
    """Record of places that are threads."""

    def __init__(self, api: DiscordApi) -> None:
        self._api = api
        self._threads: OrderedDict[str, str] = OrderedDict()

    async def thread_of(self, channel_id: str) -> str:
        """Return the parent channel; empty if the place is no thread.

        Raises:
            ChannelUnavailable: that is not to be had now.
        """
        if channel_id not in self._threads:
            self.note(channel_id, await self._asked(channel_id))
        return self._threads[channel_id]

    def note(self, channel_id: str, thread_of: str) -> None:
        self._threads[channel_id] = thread_of
        if len(self._threads) > MAX_PLACES:
            self._threads.popitem(last=False)

    async def is_public_in(self, channel_id: str, parent: str) -> bool:
        """Return true for a thread of that channel which all see who see the channel.

        Raises:
            ChannelUnavailable: that is not to be had now.
        """
        place = await self._place(channel_id)
        return place is not None and place.thread_of == parent and not place.is_private

    async def _asked(self, channel_id: str) -> str:
        place = await self._place(channel_id)
        return "" if place is None else place.thread_of

    async def _place(self, channel_id: str) -> DiscordPlace | None:
        try:
            told = await self._api.call("GET", f"/channels/{channel_id}")
            return msgspec.convert(told, DiscordPlace)
        except (DiscordRefused, msgspec.ValidationError):
            return None


def messages_in(target: str, thread: str | None) -> str:
    """Return the API path of the place's messages."""
    return f"/channels/{thread or target}/messages"
