"""A homeserver that has trouble with others, and the receiver that listens to it."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from agent.channels.approvals import OpenApprovals
from agent.channels.base import Pulse
from agent.channels.incoming_files import IncomingFiles
from agent.channels.matrix.client import MatrixApi, MatrixRefused
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


def invited(room: str = FAR) -> dict[str, Any]:
    mine = {
        "type": "m.room.member",
        "sender": BERT,
        "state_key": US,
        "content": {"membership": "invite", "is_direct": True},
    }
    return {"invite": {room: {"invite_state": {"events": [mine]}}}}


def replaced(sender: str, **more: object) -> dict[str, Any]:
    return {
        "type": "m.room.tombstone",
        "event_id": "$end",
        "sender": sender,
        "state_key": "",
        "content": {"body": "moved", "replacement_room": FAR},
        **more,
    }


class Homeserver:
    """Server that tells these rooms one after another, and then nothing for ever."""

    device = ""

    def __init__(self, *told: dict[str, Any]) -> None:
        self._told = list(told)
        self.members = [US, ANNA]
        self.is_far_server_away = False
        self.is_far_room_closed = False
        self.is_quiet = False
        self._batch = ""
        self.asked: list[str] = []
        self.joined_by: list[dict[str, object]] = []

    async def whoami(self) -> str:
        return US

    async def call(self, method: str, path: str, *_: object, **query: object) -> dict[str, Any]:
        self.asked.append(path)
        if path == "/sync":
            if not self._told:
                await asyncio.Event().wait()
            self._batch = self._batch if self.is_quiet else f"s{len(self.asked)}"
            return {"next_batch": self._batch, "rooms": self._told.pop(0)}
        if path.startswith("/join/"):
            self.joined_by.append(query)
        if "/join" in path and self.is_far_server_away:
            raise ChannelUnavailable("the Matrix server is in trouble (502 Failed to make_join)")
        if "/join" in path and self.is_far_room_closed:
            raise MatrixRefused(403, "M_FORBIDDEN", "You are not invited to this room.")
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
        self.known = {ANNA, BERT}
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
            lambda inbound: inbound.sender in self.known,
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


@pytest.mark.parametrize("asked", [invited(), joined(replaced(BERT))], ids=["invited", "replaced"])
async def test_an_invitation_that_waits_outlives_a_restart(
    tmp_path: Path, asked: dict[str, Any]
) -> None:
    server = Homeserver({}, asked, joined(said("hello", 1)))
    server.is_far_server_away = True
    first = Receiving(server, tmp_path)
    await first.until(lambda: len(first.heard) == 1)
    tried = [path for path in server.asked if "/join" in path]
    server.is_far_server_away = False
    server._told += [{}, joined(said("again", 2))]
    server.asked.clear()
    second = Receiving(server, tmp_path)
    await second.until(lambda: len(second.heard) == 1)
    assert [path for path in server.asked if "/join" in path] == tried


async def test_an_invitation_that_no_file_takes_holds_up_nothing(tmp_path: Path) -> None:
    server = Homeserver({}, invited("!\ud800"), joined(said("hello", 1)))
    server.is_far_server_away = True
    receiving = Receiving(server, tmp_path)
    await receiving.until(lambda: len(receiving.heard) == 1)


async def test_an_invitation_that_was_answered_is_not_answered_after_a_restart(
    tmp_path: Path,
) -> None:
    """Whoever left the room meanwhile would stand in it again."""
    server = Homeserver({}, invited(), joined(said("hello", 1)))
    server.is_far_server_away = True
    first = Receiving(server, tmp_path)
    await first.until(lambda: len(first.heard) == 1)
    first.clock.advance(3600)
    server.is_far_server_away = False
    # What tells nothing new need not move the position
    server.is_quiet = True
    server._told += [{}, joined(said("again", 2))]
    await first.until(lambda: len(first.heard) == 2)
    server._told += [{}, joined(said("at last", 3))]
    server.asked.clear()
    second = Receiving(server, tmp_path)
    await second.until(lambda: len(second.heard) == 1)
    assert not any("/join" in path for path in server.asked)


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


async def test_a_replacement_is_joined_by_the_server_of_whoever_replaced_the_room(
    tmp_path: Path,
) -> None:
    server = Homeserver({}, joined(replaced(BERT), said("bye", 1)))
    server.members.append(BERT)
    receiving = Receiving(server, tmp_path)
    await receiving.until(lambda: len(receiving.heard) == 1)
    assert server.joined_by == [{"via": "far.org", "server_name": "far.org"}]


async def test_a_replacement_is_joined_when_its_server_is_back(tmp_path: Path) -> None:
    server = Homeserver({}, joined(replaced(BERT), said("bye", 1)))
    server.is_far_server_away = True
    receiving = Receiving(server, tmp_path)
    await receiving.until(lambda: len(receiving.heard) == 1)
    receiving.clock.advance(3600)
    server.is_far_server_away = False
    server._told.append({})
    server.joined_by.clear()
    await receiving.until(lambda: bool(server.joined_by))


async def test_the_room_of_two_that_a_stranger_replaces_is_followed(tmp_path: Path) -> None:
    """They may invite it to a chat of two as well."""
    server = Homeserver({}, joined(replaced(ANNA), said("bye", 1)))
    receiving = Receiving(server, tmp_path)
    receiving.known.clear()
    await receiving.until(lambda: len(receiving.heard) == 1)
    assert len(server.joined_by) == 1


@pytest.mark.parametrize(
    "told",
    [
        replaced("@eve:evil.org"),
        # Whoever may write can send this, while state needs a right
        replaced(BERT, state_key=None),
        replaced(BERT, content={"replacement_room": "#alias:evil.org"}),
        replaced(BERT, content={"replacement_room": ["!x"]}),
        replaced(BERT, content={}),
    ],
    ids=["stranger", "no state", "alias", "no text", "nothing"],
)
async def test_nobody_else_leads_it_into_another_room(tmp_path: Path, told: dict[str, Any]) -> None:
    server = Homeserver({}, joined(told, said("on", 1)))
    server.members += [BERT, "@eve:evil.org"]
    receiving = Receiving(server, tmp_path)
    await receiving.until(lambda: len(receiving.heard) == 1)
    assert not server.joined_by


async def test_a_replacement_that_cannot_be_joined_is_told_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    server = Homeserver({}, joined(replaced(BERT), said("bye", 1)))
    server.is_far_room_closed = True
    receiving = Receiving(server, tmp_path)
    await receiving.until(lambda: len(receiving.heard) == 1)
    assert f"replacement room not joined (room={FAR}" in caplog.text
