"""Changes of an open page, as server-sent events: the parts that are other than before."""

import asyncio
import contextlib
import hashlib
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from agent.console import pages
from agent.console.agent_client import AgentClient, NoAccess, NotForVisitor
from agent.console.conversation import (
    BrowserConversation,
    Draft,
    Event,
    QuestionsChanged,
    TalkChanged,
)
from agent.console.pages import Visitor
from agent.console.wording import Wording
from agent.errors import ChannelError

# A pin that changes is on the page within two looks
BOARD_LOOK_S = 0.1
# The first page, and whether the visitor still has access
HOME_LOOK_S = 2.0
# An agent that is away is looked for; pages go on as soon as it is back
AWAY_LOOK_S = 1.0
# A page that hears nothing for twice as long says that it is lost
ALIVE_S = 5.0
# Drafts are drawn together: a person reads no faster
DRAFT_S = 0.12
# Events that wait for one slow browser
_MAX_WAITING = 100


class PageStream:
    """Events of one open page, until its browser goes or has no access any more."""

    def __init__(
        self,
        client: AgentClient,
        conversation: BrowserConversation,
        session: str,
        visitor: Visitor,
        wording: Wording,
    ) -> None:
        self._client = client
        self._conversation = conversation
        self._session = session
        self._visitor = visitor
        self._wording = wording
        self._out: asyncio.Queue[bytes | None] = asyncio.Queue(_MAX_WAITING)
        self._shown: dict[str, str] = {}
        self._page = ""
        # Names of sensors that the page may show
        self._read: dict[str, None] = {}

    async def events(
        self, page: str, shape: str = "", *, is_again: bool = False
    ) -> AsyncIterator[bytes]:
        """Yield events; the caller stops when the browser has gone.

        Args:
            shape: of the boards, or of the chat, as the page was made; it may be over by now.
            is_again: the page lost a stream, and may have missed what was said meanwhile.
        """
        self._page = page
        seen = shape if page == "chat" else ""
        if shape and not seen:
            self._shown["shape"] = shape
        queue = self._conversation.open_page()
        works = (self._hear(queue, seen, is_again=is_again), self._look(page), self._live())
        tasks = [asyncio.ensure_future(work) for work in works]
        try:
            yield b": open\n\n"
            while (event := await self._out.get()) is not None:
                yield event
        finally:
            # First what must be: whoever is cancelled again waits for nothing any more
            self._conversation.close_page(queue)
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)

    def rest(self) -> None:
        """End it: its browser has newer pages open, and too few connections for all."""
        while not self._out.empty():
            self._out.get_nowait()
        self._out.put_nowait(b"event: rest\ndata: \n\n")
        self._out.put_nowait(None)

    async def _live(self) -> None:
        """Tell that the stream lives, whatever else is told: a page hears only its own parts."""
        while True:
            await asyncio.sleep(ALIVE_S)
            await self._send("alive", "")

    async def _look(self, page: str) -> None:
        """Look at the page's data again and again, as long as the visitor has access."""
        read = self._board if page == "board" else self._home
        pause_s = BOARD_LOOK_S if page == "board" else HOME_LOOK_S
        while True:
            try:
                await self._conversation.attach()
                await read()
            except NoAccess:
                await self._send("out", "")
                await self._out.put(None)
                return
            except NotForVisitor:
                return
            except ChannelError:
                await self._show("link", pages.rendered("_gone", self._wording))
                await asyncio.sleep(AWAY_LOOK_S)
                continue
            await self._show("link", "")
            await asyncio.sleep(pause_s)

    async def _home(self) -> None:
        told = await self._client.view(self._session, "home")
        await self._show("state", self._rendered("_state", home=told))
        await self._show("home", self._rendered("_home", home=told, troubles=pages.troubles(told)))
        if told["turns"] == 0:
            await self._show("draft", "")
        if self._page == "home":
            await self._readings(told.get("readings", ()))

    async def _readings(self, newest: Sequence[Mapping[str, Any]]) -> None:
        """Show each sensor as it is, and a dash where nothing has come of it for long."""
        now = {one["name"]: one for one in newest}
        self._read.update(dict.fromkeys(now))
        for name in self._read:
            one = now.get(name, {"value": None, "unit": ""})
            await self._show(f"reading-{name}", self._rendered("_reading", one=one))

    async def _board(self) -> None:
        told = await self._client.view(self._session, "board")
        await self._show("state", self._rendered("_state", home=told))
        shape = shape_of(told)
        if self._shown.setdefault("shape", shape) != shape:
            # Another board, other pins: the whole page is another one
            self._shown["shape"] = shape
            await self._send("anew", "")
        for number, board in enumerate(told["boards"]):
            for pin in board["pins"]:
                name = f"pin-{number}-{pin['name']}"
                await self._show(name, self._rendered("_pin", pin=pin))

    async def _hear(self, queue: "asyncio.Queue[Event]", seen: str, *, is_again: bool) -> None:
        await self._tell_questions()
        if is_again or await self._is_past(seen):
            queue.put_nowait(TalkChanged())
        while True:
            drawn = ""
            for event in await _waiting(queue):
                match event:
                    case Draft(_, text):
                        drawn = text
                    case TalkChanged():
                        with contextlib.suppress(NoAccess, NotForVisitor, ChannelError):
                            drawn = drawn if await self._tell_talk() else ""
                    case QuestionsChanged():
                        await self._tell_questions()
            if drawn:
                await self._show("draft", self._rendered("_draft", text=drawn))
                await asyncio.sleep(DRAFT_S)

    async def _is_past(self, seen: str) -> bool:
        """Return true if something was said while the page was on its way to the browser."""
        if not seen:
            return False
        try:
            return shape_of_talk(await self._client.view(self._session, "talk")) != seen
        except (NoAccess, NotForVisitor, ChannelError):
            return True

    async def _tell_talk(self) -> bool:
        """Show the conversation; return true if an answer is still to come."""
        talk = await self._client.view(self._session, "talk")
        is_open = any(one["is_open"] for one in talk["messages"])
        if not is_open:
            await self._show("draft", "")
        await self._show("talk", self._rendered("_talk", talk=talk))
        return is_open

    async def _tell_questions(self) -> None:
        asked = sorted(self._conversation.questions.items())
        await self._show("questions", self._rendered("_questions", questions=asked))

    def _rendered(self, name: str, **values: Any) -> str:
        return pages.rendered(name, self._wording, visitor=self._visitor, **values)

    async def _show(self, name: str, text: str) -> None:
        """Send a part of the page if it is another one than before."""
        if self._shown.get(name) != text:
            self._shown[name] = text
            await self._send(name, text)

    async def _send(self, name: str, text: str) -> None:
        lines = "".join(f"data: {line}\n" for line in (text or " ").splitlines())
        await self._out.put(f"event: {name}\n{lines}\n".encode())


async def _waiting(queue: "asyncio.Queue[Event]") -> list[Event]:
    """Return all events that wait, at least one."""
    events = [await queue.get()]
    while not queue.empty():
        events.append(queue.get_nowait())
    return events


def shape_of(told: Mapping[str, Any]) -> str:
    """Return a name for the boards and pins that a page shows, whatever their values are."""
    boards = [
        [board["name"], board["state"], board["trouble"], [pin["name"] for pin in board["pins"]]]
        for board in told["boards"]
    ]
    return hashlib.sha256(str(boards).encode()).hexdigest()[:16]


def shape_of_talk(talk: Mapping[str, Any]) -> str:
    """Return a name for a conversation as it is now."""
    return hashlib.sha256(str(talk).encode()).hexdigest()[:16]
