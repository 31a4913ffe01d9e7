"""People on prosody, which keeps an archive."""

import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from xml.etree.ElementTree import Element

from agent.access.people import PersonAccount
from scripts.lib.bench.correspondents.base import Correspondents, Line
from tests.fakes import prosody
from tests.fakes.prosody import PASSWORD, Prosody
from tests.fakes.xmpp_person import Person, present
from tests.fakes.xmpp_platform import new_room
from tests.waits import wait_until

_CLIENT = "{jabber:client}"
_REPLACED = "{urn:xmpp:message-correct:0}replace"
_PATIENCE_S = 60.0


class XmppPeople(Correspondents):
    """People in one room, who write in private."""

    name = "xmpp"

    def __init__(self, server: Prosody, line: Line, people: Sequence[Person], room: str) -> None:
        self.lines = (line,)
        self._people = people
        self._agent = server.account("barnacle")
        self._nick = f"{room}/{self._agent.partition('@')[0]}"
        # What stands at a message of the agent, corrections in their places
        self._standing: dict[tuple[int, str], str] = {}
        self.table = (
            f'[channels.xmpp]\naddress = "{self._agent}"\npassword = "{PASSWORD}"\n'
            f'server = "xmpp://127.0.0.1:{line.relay.port}"\n'
            f'ca_file = "{server.certificate}"\nrooms = ["{room}"]\n'
        )
        self.accounts = [
            PersonAccount(channel="xmpp", sender=one.address, target=one.address) for one in people
        ]

    async def ready(self) -> None:
        await wait_until(lambda: self._people[0].sees(self._nick), _PATIENCE_S)

    async def write(self, person: int, text: str) -> None:
        self._people[person].say(self._agent, text)

    async def answers(self) -> Counter[str]:
        for number, person in enumerate(self._people):
            came, person.messages = person.messages, []
            for one in came:
                self._take(number, one)
        return Counter(self._standing.values())

    def _take(self, person: int, message: Element) -> None:
        body, replaced = message.find(f"{_CLIENT}body"), message.find(_REPLACED)
        is_ours = message.get("from", "").partition("/")[0] == self._agent
        if is_ours and body is not None and message.get("type") != "error":
            key = (message if replaced is None else replaced).get("id", "")
            self._standing[person, key] = body.text or ""


@contextlib.asynccontextmanager
async def on_prosody(folder: Path, people: int) -> AsyncIterator[XmppPeople]:
    room = new_room()
    with prosody.running(folder) as server:
        line = Line(server.port)
        await line.relay.start()
        async with contextlib.AsyncExitStack() as stack:
            stack.push_async_callback(line.relay.stop)
            there = [
                await stack.enter_async_context(present(server, f"anna{number}", room))
                for number in range(people)
            ]
            yield XmppPeople(server, line, there, room)
