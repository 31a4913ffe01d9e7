"""Questions to people at attached terminals: where the message came from, else where they are.

A question whose terminal goes away stays open for a moment, for the next one of the same person.
"""

import asyncio
import itertools
import secrets
from collections.abc import Callable, Collection

from msgspec import Struct, field

from agent.channels.attached.frames import ApprovalFrame, QuestionFrame, WithdrawFrame
from agent.channels.attached.session import TerminalSession

# The first question's number is one of so many, and is no other one's after a restart
_FIRST_NUMBERS = 2**29
# A question waits for so long for a terminal that was cut off; then it is put elsewhere, or not
AWAY_S = 30.0

Framed = Callable[[int], ApprovalFrame | QuestionFrame]


class _Open(Struct):
    """A question that waits; `shown_at` is None while nobody is there."""

    target: str
    frame: ApprovalFrame | QuestionFrame
    answered: asyncio.Future[str | None]
    shown_at: TerminalSession | None = None
    # Set when it is shown anew, or not any more
    moved: asyncio.Event = field(default_factory=asyncio.Event)

    def show(self, session: TerminalSession | None) -> None:
        self.shown_at = session
        self.moved.set()
        if session is not None:
            session.post(self.frame)

    async def wait(self) -> str | None:
        while not self.answered.done():
            self.moved.clear()
            moving = asyncio.ensure_future(self.moved.wait())
            try:
                done, _ = await asyncio.wait(
                    (self.answered, moving),
                    timeout=AWAY_S if self.shown_at is None else None,
                    return_when=asyncio.FIRST_COMPLETED,
                )
            finally:
                moving.cancel()
            if not done:
                return None
        return self.answered.result()


class TerminalQuestions:
    """The open questions of all terminals."""

    def __init__(self, sessions: Collection[TerminalSession]) -> None:
        self._sessions = sessions
        self._numbers = itertools.count(secrets.randbelow(_FIRST_NUMBERS) + 1)
        self._open: dict[int, _Open] = {}

    async def put(self, target: str, asker: TerminalSession | None, framed: Framed) -> str | None:
        """Ask and return the person's answer; None if nobody is there. Waits until cancelled."""
        number = next(self._numbers)
        answered: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        question = self._open[number] = _Open(target, framed(number), answered)
        try:
            self._show(question, asker)
            return await question.wait()
        finally:
            del self._open[number]
            if question.shown_at is not None and not answered.done():
                question.shown_at.post(WithdrawFrame(number))

    def answer(self, session: TerminalSession, number: int, text: str | None) -> None:
        """Only from the terminal that shows it; anything else is nobody's word."""
        question = self._open.get(number)
        if question is None or question.shown_at is not session or question.answered.done():
            return
        question.answered.set_result(text)

    def came(self, session: TerminalSession) -> None:
        """Somebody is there: what is open is theirs."""
        for question in self._open.values():
            if question.shown_at is None and question.target == session.visitor.target:
                self._show(question, session)

    def left(self, session: TerminalSession) -> None:
        for question in self._open.values():
            if question.shown_at is session:
                question.show(None)
                self._show(question, None)

    def _show(self, question: _Open, asker: TerminalSession | None) -> None:
        there = [asker] if asker is not None else list(self._sessions)[::-1]
        for session in there:
            fits = session.visitor.target == question.target and not session.plain
            if fits and session.is_open:
                question.show(session)
                return
        if asker is not None:
            self._show(question, None)
