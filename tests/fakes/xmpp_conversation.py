"""A conversation over a real XMPP server: Anna in private, by a cable that can be pulled."""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

from agent.access.people import PersonAccount
from tests.fakes import prosody
from tests.fakes import relay as relays
from tests.fakes.prosody import Prosody
from tests.fakes.relay import Relay
from tests.fakes.xmpp_person import present
from tests.fakes.xmpp_platform import XmppPlatform, new_room


class XmppTalk:
    """Anna's private chat with the agent."""

    def __init__(self, platform: XmppPlatform, relay: Relay, certificate: Path) -> None:
        self._platform = platform
        self.table = (
            f'[channels.xmpp]\naddress = "{platform.address}"\n'
            f'server = "xmpp://127.0.0.1:{relay.port}"\nca_file = "{certificate}"\n'
            f'password = "{prosody.PASSWORD}"\nrooms = ["{platform.room}"]\n'
        )
        anna = platform.anna.address
        self.account = PersonAccount(channel="xmpp", sender=anna, target=anna)

    async def write(self, text: str) -> None:
        await self._platform.write(text)

    def shown(self) -> list[str]:
        return self._platform.anna.told(self._platform.address)

    def cut(self) -> None:
        self._platform.cut_listening()


@contextlib.asynccontextmanager
async def platform(
    folder: Path, own: Prosody | None = None
) -> AsyncIterator[tuple[XmppPlatform, Relay]]:
    """Anna in a room, on prosody: the one that tests share, or another."""
    server, room = own or prosody.shared(), new_room()
    async with relays.running(server.port) as relay, present(server, "anna", room) as anna:
        made = XmppPlatform(server, relay, anna, room, folder)
        try:
            yield made, relay
        finally:
            await made.http.aclose()


@contextlib.asynccontextmanager
async def xmpp(folder: Path) -> AsyncIterator[XmppTalk]:
    """On prosody."""
    async with platform(folder) as (made, relay):
        yield XmppTalk(made, relay, prosody.shared().certificate)
