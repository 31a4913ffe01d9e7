"""One browser's conversation with the agent: attached for as long as a page of it is open.

All pages of a browser share it, so that a question that one of them shows is answered once.
"""

import asyncio
import hashlib
import itertools
import secrets
from collections.abc import Callable

from msgspec import Struct, field

from agent.channels.attached import frames
from agent.channels.attached.lines import LineConnection
from agent.channels.console.frames import AttachFrame, encoded, is_denial
from agent.console.agent_client import AgentClient, NoAccess
from agent.errors import ChannelError, ChannelUnavailable, MessageRefused

# The agent takes a message as soon as it has it
TAKEN_TIMEOUT_S = 10.0
WELCOME_TIMEOUT_S = 10.0
# A page that is reloaded comes back within this; then the conversation is left
LINGER_S = 20.0
# Events that wait for one page; a page that reads slower is sent the whole anew
MAX_EVENTS = 64

Question = frames.ApprovalFrame | frames.QuestionFrame


class Draft(Struct, frozen=True):
    """An answer that grows, as far as it is known."""

    message_id: str
    text: str


class TalkChanged(Struct, frozen=True):
    """The conversation has one more message, or one answer."""


class QuestionsChanged(Struct, frozen=True):
    """A question is open that was not, or the other way round."""


Event = Draft | TalkChanged | QuestionsChanged


class _Attached(Struct):
    """A connection, and what the agent owes us over it."""

    wire: LineConnection
    taken: dict[str, asyncio.Future[None]] = field(default_factory=dict)
    drafts: dict[str, str] = field(default_factory=dict)
    writing: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def send(self, frame: frames.FromTerminal) -> None:
        async with self.writing:
            await self.wire.send(frames.encoded(frame))


class BrowserConversation:
    """Conversation of the browser with this session; `pages` are told of what happens."""

    def __init__(self, client: AgentClient, session: str, ended: Callable[[], None]) -> None:
        self._client = client
        self._session = session
        self._ended = ended
        self._pages: set[asyncio.Queue[Event]] = set()
        self._attached: _Attached | None = None
        self._attaching = asyncio.Lock()
        self._reading: asyncio.Task[None] | None = None
        self._leaving: asyncio.TimerHandle | None = None
        self._numbers = itertools.count(1)
        # Ids are ours to choose, and must not be those of the process before
        self._prefix = secrets.token_hex(6)
        self.questions: dict[int, Question] = {}

    def open_page(self) -> asyncio.Queue[Event]:
        """Return the queue of events for one page."""
        queue: asyncio.Queue[Event] = asyncio.Queue(MAX_EVENTS)
        self._pages.add(queue)
        if self._leaving is not None:
            self._leaving.cancel()
            self._leaving = None
        return queue

    def close_page(self, queue: asyncio.Queue[Event]) -> None:
        self._pages.discard(queue)
        self._leave_later()

    async def attach(self) -> None:
        """Be attached.

        Raises:
            NoAccess: the browser has no session.
            ChannelError: no agent is there.
        """
        async with self._attaching:
            if self._attached is None:
                self._attached = await self._begun()
                self._reading = asyncio.ensure_future(self._read(self._attached))

    async def say(self, text: str, files: tuple[str, ...] = (), form: str = "") -> None:
        """Return when the agent has the message, with the files of these names.

        Args:
            form: that it comes by; the same words of one form are one message.

        Raises:
            NoAccess: the browser has no session.
            MessageRefused: it is not taken, and why.
            ChannelError: no agent is there.
        """
        try:
            await self._say(text, files, form)
        finally:
            # Also where no agent was there: a cookie may be nobody's
            self._leave_later()
        self._tell(TalkChanged())

    async def _say(self, text: str, files: tuple[str, ...], form: str) -> None:
        await self.attach()
        attached = self._attached
        if attached is None:
            raise ChannelUnavailable("the agent is gone")
        message_id = self._message_id(text, files, form)
        if message_id in attached.taken:
            raise MessageRefused("it is on its way already")
        taken = attached.taken[message_id] = asyncio.get_running_loop().create_future()
        try:
            sendable = frames.sendable(text, frames.MAX_SAID_CHARS)
            await attached.send(frames.SayFrame(message_id, sendable, files))
            async with asyncio.timeout(TAKEN_TIMEOUT_S):
                await taken
        except TimeoutError as err:
            raise ChannelUnavailable("the agent does not answer") from err
        except ChannelUnavailable:
            # It may have ended because the visitor's access has
            await self.attach()
            raise
        finally:
            attached.taken.pop(message_id, None)

    async def stop(self) -> None:
        """Break off the answer that is being made."""
        if self._attached is not None:
            await self._attached.send(frames.StopFrame())

    async def answer(self, number: int, text: str) -> bool:
        """Answer an open question; return false if it is not open."""
        if self._attached is None or self.questions.pop(number, None) is None:
            return False
        await self._attached.send(frames.AnswerFrame(number, text))
        self._tell(QuestionsChanged())
        return True

    async def aclose(self) -> None:
        if self._leaving is not None:
            self._leaving.cancel()
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.wait([self._reading])

    def _message_id(self, text: str, files: tuple[str, ...], form: str) -> str:
        if not form:
            return f"{self._prefix}-{next(self._numbers)}"
        return hashlib.sha256("\n".join((form, *files, text)).encode()).hexdigest()[:32]

    async def _begun(self) -> _Attached:
        wire = await self._client.connect()
        is_begun = False
        try:
            async with asyncio.timeout(WELCOME_TIMEOUT_S):
                await wire.send(encoded(AttachFrame(self._session)))
                _check_welcome(await wire.receive())
            is_begun = True
        except TimeoutError as err:
            raise ChannelUnavailable("the agent does not answer") from err
        finally:
            if not is_begun:
                wire.close()
        return _Attached(wire)

    async def _read(self, attached: _Attached) -> None:
        try:
            while (line := await attached.wire.receive()) is not None:
                await self._obey(attached, frames.from_agent(line))
        except ChannelError:
            # The pages notice, and attach anew
            pass
        finally:
            attached.wire.close()
            self._attached = None
            self.questions.clear()
            for taken in attached.taken.values():
                if not taken.done():
                    taken.set_exception(ChannelUnavailable("the agent is gone"))
            self._tell(QuestionsChanged())

    async def _obey(self, attached: _Attached, frame: frames.FromAgent) -> None:
        match frame:
            case frames.AcceptedFrame(message_id):
                _settle(attached.taken.get(message_id), None)
            case frames.RefusedFrame(message_id, why):
                _settle(attached.taken.get(message_id), MessageRefused(why))
            case frames.DraftFrame(message_id, at, text):
                whole = attached.drafts.get(message_id, "")[:at] + text
                attached.drafts[message_id] = whole
                self._tell(Draft(message_id, whole))
            case frames.MessageFrame(number, _, message_id):
                attached.drafts.pop(message_id, None)
                # It is in the journal, from which every page shows it
                await attached.send(frames.ShownFrame(number))
                _settle(attached.taken.get(message_id), None)
                self._tell(TalkChanged())
            case frames.ApprovalFrame(number) | frames.QuestionFrame(number):
                self.questions[number] = frame
                self._tell(QuestionsChanged())
            case frames.WithdrawFrame(number):
                self.questions.pop(number, None)
                self._tell(QuestionsChanged())
            case frames.ByeFrame(text=text):
                raise ChannelUnavailable(text)

    def _tell(self, event: Event) -> None:
        for queue in self._pages:
            if queue.full():
                # A draft is told as a whole: the oldest event is the least loss
                queue.get_nowait()
            queue.put_nowait(event)

    def _leave_later(self) -> None:
        if self._pages or self._leaving is not None:
            return
        loop = asyncio.get_running_loop()
        self._leaving = loop.call_later(LINGER_S, self._leave)

    def _leave(self) -> None:
        self._leaving = None
        if self._pages:
            return
        if self._reading is not None:
            self._reading.cancel()
        self._ended()


def _check_welcome(line: bytes | None) -> None:
    if line is None:
        raise ChannelUnavailable("the agent closed the connection")
    if is_denial(line):
        raise NoAccess
    if not isinstance(frames.from_agent(line), frames.WelcomeFrame):
        raise ChannelUnavailable("the agent does not take this browser now")


def _settle(taken: "asyncio.Future[None] | None", refusal: Exception | None) -> None:
    if taken is None or taken.done():
        return
    if refusal is None:
        taken.set_result(None)
    else:
        taken.set_exception(refusal)


class Conversations:
    """Conversations of all browsers that are there, by their session."""

    def __init__(self, client: AgentClient) -> None:
        self._client = client
        self._of: dict[str, BrowserConversation] = {}

    def of(self, session: str) -> BrowserConversation:
        found = self._of.get(session)
        if found is None:
            found = BrowserConversation(self._client, session, lambda: self._forget(session))
            self._of[session] = found
        return found

    def find(self, session: str) -> BrowserConversation | None:
        """Return the conversation of a browser that has a page open, or had lately."""
        return self._of.get(session)

    def __len__(self) -> int:
        return len(self._of)

    async def end(self, session: str) -> None:
        """End one browser's conversation, as its session has ended."""
        if (found := self._of.pop(session, None)) is not None:
            await found.aclose()

    async def aclose(self) -> None:
        for session in list(self._of):
            await self.end(session)

    def _forget(self, session: str) -> None:
        self._of.pop(session, None)
