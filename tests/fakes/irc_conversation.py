"""A conversation over a real IRC server: Anna in private, by a cable that can be pulled."""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

from agent.access.people import PersonAccount
from tests.fakes import irc_server
from tests.fakes.irc_platform import NICK, IrcPlatform
from tests.fakes.irc_server import CHANNEL, Visitor
from tests.fakes.relay import Relay
from tests.waits import wait_until


class IrcTalk:
    """Anna's private chat with the agent."""

    def __init__(self, relay: Relay, anna: Visitor, folder: Path) -> None:
        self._platform = IrcPlatform(relay, anna, folder)
        self._anna = anna
        self.table = (
            f'[channels.irc]\nurl = "irc://127.0.0.1:{relay.port}"\nchannels = ["{CHANNEL}"]\n'
        )
        self.account = PersonAccount(channel="irc", sender=anna.mask, target=anna.nick)

    async def write(self, text: str) -> None:
        await self._platform.write(text)

    def shown(self) -> list[str]:
        return self._anna.told(NICK, self._anna.nick)

    def cut(self) -> None:
        self._platform.cut_listening()


@contextlib.asynccontextmanager
async def irc(folder: Path) -> AsyncIterator[IrcTalk]:
    """On ngircd."""
    async with irc_server.running(folder) as server:
        relay, anna = Relay(server.port), Visitor("anna")
        await relay.start()
        await anna.enter(server.port, CHANNEL)
        await wait_until(lambda: anna.mask)
        yield IrcTalk(relay, anna, folder)
        await anna.leave()
        await relay.stop()
