"""Dialect of QQ's gateway, and the meaning of its close codes for a person."""

import msgspec

from agent.channels.opcodes.address import told_address
from agent.channels.opcodes.session import Begun
from agent.channels.qq.api import QqApi
from agent.channels.qq.events import Ready
from agent.errors import ChannelError, ChannelRefused

# Private messages of guilds; private ones and groups; those who call the bot in guilds
_INTENTS = (1 << 12) | (1 << 25) | (1 << 30)
_NOT_AUTHENTICATED = 4004
_BROKEN = "this version of the agent cannot talk to QQ any more: update it"
_FATAL = {
    4001: _BROKEN,
    4002: _BROKEN,
    4010: _BROKEN,
    4011: "the bot is in more guilds than one connection takes: use a bot of your own",
    4012: _BROKEN,
    4013: _BROKEN,
    4014: "QQ does not let this bot hear private messages, groups and guilds: have them switched "
    "on for it at https://q.qq.com",
    4914: "QQ has taken this bot off, or lets it into its sandbox alone: look at its page at "
    "https://q.qq.com; with base_url = https://sandbox.api.sgroup.qq.com it works in the sandbox",
    4915: "QQ has banned this bot: its page at https://q.qq.com says why",
}


class QqDialect:
    """Of one bot."""

    name = "QQ"
    # A session or a number that it does not know, and trouble of its own
    forgetting = frozenset({4003, 4006, 4007, 9001, 9005, *range(4900, 4914)})
    # Codes that no WebSocket may say arrive as a cut
    says_what_is_gone = False

    def __init__(self, api: QqApi) -> None:
        self._api = api
        self.account = f"{api.app_id} {_INTENTS}"

    async def address(self, _begun: Begun | None) -> str:
        told = await self._api.call("GET", "/gateway/bot")
        return told_address(told, self.name, self._api.base_url)

    async def introduction(self) -> dict[str, object]:
        token = await self._api.authorization()
        return {"token": token, "intents": _INTENTS, "shard": [0, 1], "properties": {}}

    async def resumption(self, begun: Begun) -> dict[str, object]:
        token = await self._api.authorization()
        return {"token": token, "session_id": begun.session_id, "seq": begun.seq}

    def begun(self, ready: msgspec.Raw) -> Begun:
        told = msgspec.json.decode(ready, type=Ready)
        return Begun(self.account, told.session_id, told.user.id)

    def refusal(self, code: int) -> ChannelError | None:
        if code == _NOT_AUTHENTICATED:
            self._api.forget_token()
        sentence = _FATAL.get(code)
        return ChannelRefused(sentence) if sentence else None
