"""Dialect of Discord's gateway, and the meaning of its close codes for a person."""

from urllib.parse import urlsplit

import msgspec

from agent.channels.discord.api import DiscordApi, unknown_bot
from agent.channels.discord.events import Ready, read
from agent.channels.opcodes.address import checked, told_address
from agent.channels.opcodes.session import Begun
from agent.errors import ChannelError, ChannelRefused

# Guilds, messages in them, and private ones; and what is in messages that do not call us
_INTENTS = (1 << 0) | (1 << 9) | (1 << 12)
_CONTENT = 1 << 15
_QUERY = "/?v=10&encoding=json"
_NOT_AUTHENTICATED = 4004
_BROKEN = "this version of the agent cannot talk to Discord any more: update it"
_FATAL = {
    4010: _BROKEN,
    4011: "the bot is in more servers than one connection takes: use a bot of your own",
    4012: _BROKEN,
    4013: _BROKEN,
    4014: 'Discord does not let the bot read every message: switch on "Message Content Intent" on '
    "the page Bot of the application at https://discord.com/developers/applications, or set "
    'groups = "mention"',
}


class DiscordDialect:
    """Of one bot.

    Args:
        reads_all: whether it hears what is said to nobody, too.
    """

    name = "Discord"
    # Not authenticated, a sequence that it never had, a session that is too old
    forgetting = frozenset({4003, 4007, 4009})
    says_what_is_gone = True

    def __init__(self, api: DiscordApi, *, reads_all: bool) -> None:
        self._api = api
        self._intents = _INTENTS | (_CONTENT if reads_all else 0)
        self.account = f"{api.account} {self._intents}"

    async def address(self, begun: Begun | None) -> str:
        if begun is not None:
            url = checked(begun.url, self._api.base_url)
        else:
            told = await self._api.call("GET", "/gateway/bot")
            url = told_address(told, self.name, self._api.base_url)
        place = urlsplit(url)
        return f"{place.scheme}://{place.netloc}{place.path.rstrip('/')}{_QUERY}"

    async def introduction(self) -> dict[str, object]:
        names = {"os": "linux", "browser": "barnacle", "device": "barnacle"}
        token = self._api.token.reveal()
        return {"token": token, "intents": self._intents, "properties": names}

    async def resumption(self, begun: Begun) -> dict[str, object]:
        token = self._api.token.reveal()
        return {"token": token, "session_id": begun.session_id, "seq": begun.seq}

    def begun(self, ready: msgspec.Raw) -> Begun:
        told = read(ready, Ready)
        return Begun(self.account, told.session_id, told.user.id, told.resume_gateway_url)

    def refusal(self, code: int) -> ChannelError | None:
        if code == _NOT_AUTHENTICATED:
            return unknown_bot()
        sentence = _FATAL.get(code)
        return ChannelRefused(sentence) if sentence else None
