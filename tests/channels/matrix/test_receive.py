"""A homeserver that has trouble with others, and the receiver that listens to it."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from agent.channels.approvals import OpenApprovals
from agent.channels.base import Pulse
from agent.channels.incoming_files import IncomingFiles
from agent.channels.matrix.client import MatrixApi
from agent.channels.matrix.cursor import MatrixCursor
from agent.channels.matrix.receive import MatrixReceiver, MatrixReceiverParts
from agent.channels.matrix.rooms import MatrixRooms
from agent.channels.matrix.send import MatrixSender
from agent.channels.received_files import ReceivedFiles
from agent.errors import ChannelUnavailable
from agent.messages import Inbound
from tests.fakes.clock import SteppedClock
from tests.waits import wait_until

US, ANNA, BERT = "@barnacle:x.org", "@anna:x.org", "@bert:far.org"
CHAT, FAR = "!chat:x.org", "!room:far.org"


def said(text: str, number: int) -> dict[str, Any]:
    return {
        "type": "m.room.message",
        "event_id": f"${number}",
        "sender": ANNA,
        "content": {"msgtype": "m.text", "body": text},
    }


def joined(*events: dict[str, Any]) -> dict[str, Any]:
    return {"join": {CHAT: {"timeline": {"events": list(events)}}}}


def invited() -> dict[str, Any]:
    mine = {
        "type": "m.room.member",
        "sender": BERT,
        "state_key": US,
        "content": {"membership": "invite", "is_direct": True},
    }
    return {"invite": {FAR: {"invite_state": {"events": [mine]}}}}


class Homeserver:
    """Server that tells these rooms one after another, and then nothing for ever."""

    device = ""

    def __init__(self, *told: dict[str, Any]) -> None:
        self._told = list(told)
        self.members = [US, ANNA]
        self.is_far_server_away = False
        self.asked: list[str] = []

    async def whoami(self) -> str:
        return US

    async def call(self, method: str, path: str, *_: object, **query: object) -> dict[str, Any]:
        self.asked.append(path)
        if path == "/sync":
            if not self._told:
                await asyncio.Event().wait()
            return {"next_batch": f"s{len(self.asked)}", "rooms": self._told.pop(0)}
        if path.endswith("/join") and self.is_far_server_away:
            raise ChannelUnavailable("the Matrix server is in trouble (502 Failed to make_join)")
        if path.endswith("/members"):
            content = {"membership": "join"}
            kind = "m.room.member"
            return {
                "chunk": [
                    {"type": kind, "state_key": one, "content": content} for one in self.members
                ]
            }
        return {}


class Receiving:
    """A receiver that listens to such a server."""

    def __init__(self, server: Homeserver, folder: Path) -> None:
        self.clock = SteppedClock()
        self.heard: list[Inbound] = []
        self.position = MatrixCursor(folder / "position.json")
        self._server = server
        api, pulse = cast(MatrixApi, server), Pulse(self.clock)
        rooms = MatrixRooms(api)
        sending = MatrixSender(api, rooms, self.position, None, self.clock)
        ears = MatrixReceiverParts(
            OpenApprovals(),
            IncomingFiles(None, pulse.beat, 1.0),
            ReceivedFiles(folder / "inbox"),
            lambda _: True,
            "all",
        )
        self._receiver = MatrixReceiver(api, ears, sending, pulse, self.clock)

    async def until(self, is_so: Callable[[], bool]) -> None:
        async def keep(inbound: Inbound) -> None:
            self.heard.append(inbound)

        task = asyncio.ensure_future(self._receiver.run(keep))
        try:
            await wait_until(lambda: is_so() or task.done())
            if task.done():
                task.result()
        finally:
            task.cancel()
            await asyncio.wait([task])


async def test_an_invitation_of_a_server_in_trouble_holds_up_nothing(tmp_path: Path) -> None:
    """Anybody may send one, and make it impossible to follow."""
    server = Homeserver({}, invited(), joined(said("hello", 1)), joined(said("again", 2)))
    server.is_far_server_away = True
    receiving = Receiving(server, tmp_path)
    await receiving.until(lambda: len(receiving.heard) == 2)
    assert [one.text for one in receiving.heard] == ["hello", "again"]
    assert sum(path.endswith("/join") for path in server.asked) == 1


async def test_an_invitation_is_followed_when_its_server_is_back(tmp_path: Path) -> None:
    server = Homeserver({}, invited(), joined(said("hello", 1)))
    server.is_far_server_away = True
    receiving = Receiving(server, tmp_path)
    await receiving.until(lambda: len(receiving.heard) == 1)
    receiving.clock.advance(3600)
    server.is_far_server_away = False
    server._told.append({})
    server.asked.clear()
    await receiving.until(lambda: any(path.endswith("/join") for path in server.asked))


async def test_who_came_while_the_place_was_forgotten_is_seen(tmp_path: Path) -> None:
    server = Homeserver({}, joined(said("in private", 1)))
    receiving = Receiving(server, tmp_path)
    await receiving.until(lambda: len(receiving.heard) == 1)
    assert not receiving.heard[0].is_group
    await receiving.position.advance("")
    server.members.append(BERT)
    server._told += [{}, joined(said("now", 2))]
    await receiving.until(lambda: len(receiving.heard) == 2)
    assert receiving.heard[1].is_group
