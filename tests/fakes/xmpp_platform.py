"""XMPP for the checks that every platform passes: a real server, with Anna in a room."""

import secrets
import ssl
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from types import MappingProxyType

import httpx

from agent.channels.base import Answer, Question
from agent.channels.context import ChannelContext
from agent.channels.received_files import Knows, ReceivedFiles
from agent.channels.xmpp.channel import XmppChannel
from agent.channels.xmpp.login import XmppLogin
from agent.config import Secret
from agent.messages import Inbound
from agent.net.http import HttpClient
from agent.system.clock import SystemClock
from tests.fakes.prosody import PASSWORD, ROOMS, Prosody
from tests.fakes.relay import Relay
from tests.fakes.xmpp_person import Person
from tests.waits import wait_until

_COMPOSING = "{http://jabber.org/protocol/chatstates}composing"
_REACTIONS = "{urn:xmpp:reactions:0}reactions"


def new_room() -> str:
    return f"lab-{secrets.token_hex(4)}@{ROOMS}"


class XmppPlatform:
    """Anna, who waits until the agent was there once before she speaks."""

    repeats_what_was_not_confirmed = True
    cannot: Mapping[str, str] = MappingProxyType(
        {
            "trouble_is_no_refusal_and_the_next_try_succeeds": "fails with its connection only",
            "a_wish_to_be_left_alone_is_handed_on": "never says when to come again",
            "a_draft_that_a_restart_left_becomes_the_answer": "shows none in rooms",
            "a_draft_of_no_answer_is_marked_as_such": "shows none in rooms",
        }
    )

    def __init__(
        self, server: Prosody, relay: Relay, anna: Person, room: str, folder: Path
    ) -> None:
        self.server = server
        self._relay = relay
        self._folder = folder
        self.anna = anna
        self.room = room
        self.http = HttpClient()
        self.address = server.account("barnacle")
        self.knows: Knows = lambda _: True
        self.more_rooms: tuple[str, ...] = ()
        # Ids of what Anna wrote
        self.said: list[str] = []
        self.channel = self.restarted()

    @property
    def nick(self) -> str:
        return self.address.partition("@")[0]

    def restarted(self) -> XmppChannel:
        """Of which Anna has seen what it has shown, for who looks at it at once."""
        place = ChannelContext(
            self._folder / "xmpp", ReceivedFiles(self._folder / "inbox"), self.knows
        )
        context = ssl.create_default_context(cafile=self.server.certificate)
        login = XmppLogin(self.address, Secret(PASSWORD), context, "127.0.0.1", self._relay.port)
        channel = XmppChannel(login, (self.room, *self.more_rooms), place, self.http, SystemClock())
        channel.typing = self._seen(channel.typing, self.typings)  # type: ignore[method-assign]  # around the real one
        channel.mark = self._seen(channel.mark, self.marks)  # type: ignore[method-assign]  # as above
        return channel

    async def write(self, text: str, *, is_group: bool = False, calls: bool = True) -> None:
        await wait_until(lambda: self.anna.sees(f"{self.room}/{self.nick}"))
        named = f"{self.nick}: {text}" if is_group and calls else text
        self.said.append(self.anna.say(self.room if is_group else self.address, named))

    async def write_in_thread(self, text: str) -> bool:
        return False

    async def write_with_file(self, text: str, content: bytes) -> None:
        await wait_until(lambda: self.anna.sees(f"{self.room}/{self.nick}"))
        address = await self.anna.upload(content)
        link = f"<x xmlns='jabber:x:oob'><url>{address}</url></x>"
        self.anna.say(self.address, text, link)

    async def repeat(self) -> None:
        """The archive has it again for who does not know how far it had read."""
        position = self._folder / "xmpp" / "position.json"
        assert position.exists()
        listening = self.channel._listening
        mark = listening._position.mark("")
        assert mark is not None
        await listening._position.advance("", "", mark.at_s)
        self._relay.cut()

    def shown(self, inbound: Inbound) -> list[str]:
        return self.anna.told(f"{self.room}/{self.nick}" if inbound.is_group else self.address)

    def files(self) -> list[bytes]:
        return [httpx.get(link).content for link in self.anna.links(self.address)]

    def marks(self) -> int:
        return len(self.signs())

    def signs(self) -> list[tuple[str, str]]:
        """What is signed, and with what."""
        found = [one.find(_REACTIONS) for one in self.anna.messages]
        signs = [one for one in found if one is not None]
        return [(one.get("id", ""), "".join(one.itertext())) for one in signs]

    def typings(self) -> int:
        return self.anna.count(self.address, _COMPOSING)

    def break_next_send(self, *, retry_after_s: float = 0) -> None:
        raise NotImplementedError

    def cut_listening(self) -> None:
        self._relay.cut()

    async def answer_question(self, question: Question, answer: Answer) -> None:
        await self.write(f"{answer.value} {question.question_id}")

    def _seen(
        self, show: Callable[..., Awaitable[None]], count: Callable[[], int]
    ) -> Callable[..., Awaitable[None]]:
        async def shown(*arguments: object) -> None:
            before = count()
            await show(*arguments)
            await wait_until(lambda: count() > before)

        return shown
