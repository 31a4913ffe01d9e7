import asyncio
import json
from collections.abc import AsyncIterator

import pytest

from agent.errors import BrowserFailed
from agent.tools.browser import devtools
from agent.tools.browser.devtools import BrowserMessage, DevTools
from tests.waits import wait_until


class Peer:
    """The browser's end of the connection."""

    def __init__(self) -> None:
        self.heard: list[BrowserMessage] = []
        self.orders: list[dict[str, object]] = []

    async def open(self) -> None:
        taken = asyncio.get_running_loop().create_future()
        self.server = await asyncio.start_server(
            lambda reader, writer: taken.set_result((reader, writer)), "127.0.0.1", 0
        )
        port = self.server.sockets[0].getsockname()[1]
        ours = await asyncio.open_connection("127.0.0.1", port, limit=4096)
        self.reader, self.writer = await taken
        self.tools = DevTools(*ours, self.heard.append)
        self.listening = asyncio.create_task(self.tools.listen())

    async def order(self) -> dict[str, object]:
        line = await self.reader.readuntil(b"\0")
        found: dict[str, object] = json.loads(line[:-1])
        return found

    def say(self, raw: bytes) -> None:
        self.writer.write(raw + b"\0")

    async def close(self) -> None:
        self.writer.close()
        self.server.close()
        await self.listening


@pytest.fixture
async def peer() -> AsyncIterator[Peer]:
    made = Peer()
    await made.open()
    yield made
    await made.close()


async def test_an_order_gets_its_own_answer_and_events_are_heard(peer: Peer) -> None:
    asked = asyncio.create_task(peer.tools.call("Page.enable", {"a": 1}, "page"))
    order = await peer.order()
    assert order == {"id": 1, "method": "Page.enable", "params": {"a": 1}, "sessionId": "page"}
    peer.say(b'{"id": 7, "result": {}}')
    peer.say(b'{"method": "Page.loaded", "sessionId": "page", "params": {"x": 2}}')
    peer.say(b'{"id": 1, "result": {"ok": true}}')
    assert await asked == {"ok": True}
    assert [(one.method, one.session_id, one.params) for one in peer.heard] == [
        ("Page.loaded", "page", {"x": 2})
    ]


async def test_a_refusal_and_a_silence_become_failures(peer: Peer) -> None:
    asked = asyncio.create_task(peer.tools.call("Page.go"))
    await peer.order()
    peer.say(b'{"id": 1, "error": {"message": "no\\u001b[31m such page"}}')
    with pytest.raises(BrowserFailed, match="refuses: no"):
        await asked
    assert not peer.tools.is_closed
    with pytest.raises(BrowserFailed, match="did not answer"):
        await peer.tools.call("Page.go", limit_s=0.01)
    assert peer.tools.is_closed


@pytest.mark.parametrize(
    "raw", [b"no json", b"[1]", b'{"id": "x"}', b"[" * 3000, b"x" * 10_000], ids=range(5)
)
async def test_what_no_browser_says_ends_the_connection(peer: Peer, raw: bytes) -> None:
    asked = asyncio.create_task(peer.tools.call("Page.go"))
    await peer.order()
    peer.say(raw)
    with pytest.raises(BrowserFailed, match="ended"):
        await asked
    with pytest.raises(BrowserFailed, match="ended"):
        await peer.tools.call("Page.go")
    peer.tools.tell("Page.go")
    await wait_until(peer.listening.done)


def test_a_message_has_room_for_a_screenshot_and_no_more() -> None:
    assert 4 * 1024**2 <= devtools.MAX_MESSAGE_BYTES <= 32 * 1024**2
