"""Somebody at the device: a button whose press says yes to the question that is open.

A press counts when it was made after the question was asked and held long enough to be no glitch
on a wire; it answers one question, the one that has waited longest. A press of three seconds that
answered none is a sign of its own, which no hurried yes gives.
"""

import asyncio
from collections import deque
from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from agent.link.events import BoardEvent, BoardSubscription, EventSource, Watch
from agent.link.settings import BoardSettings
from agent.messages import Effect
from agent.system.clock import Clock

# Contacts have settled by then
BOUNCE_MS = 20
# Quicker than any finger, slower than what a motor induces in a long wire
HELD_S = 0.04
# Nobody presses so long for a yes
LONG_S = 3.0
_DOWN, _UP = "on", "off"


class Presence(Protocol):
    """Seam to the proof that a person is at the device."""

    @property
    def trouble(self) -> str:
        """Return why nobody can prove it; empty if somebody can."""

    async def pressed(self) -> None:
        """Return at a press that was made from now on and that answers nobody else."""

    async def held(self) -> None:
        """Return after a press of `LONG_S` that was made from now on and answered no question."""


class NoButton:
    """Nothing to press."""

    trouble = "no button is configured in board.approve_button"

    async def pressed(self) -> None:
        await asyncio.Event().wait()

    async def held(self) -> None:
        await asyncio.Event().wait()

    async def run(self) -> None:
        """There is nothing to listen to."""


class PresenceRule(Struct):
    """The button, and the effects for which nothing else is a yes; those may change at work."""

    button: Presence
    demanded_for: frozenset[Effect] = frozenset()


class _Waiting(Struct, frozen=True):
    asked_s: float
    answered: asyncio.Future[None]


class _Press(Struct):
    """A button that is down; `is_spent` once it has said yes to somebody."""

    began: BoardEvent
    is_settled: bool = False
    is_spent: bool = False


class Button:
    """The button, on as many boards as have one; `run` has to be at work.

    Args:
        places: each board with the pin of its button.
    """

    def __init__(self, places: Sequence[tuple[EventSource, str]], clock: Clock) -> None:
        self._clock = clock
        self._listened = [
            board.subscribe(Watch(pin, least_interval_ms=BOUNCE_MS)) for board, pin in places
        ]
        self._asked: deque[_Waiting] = deque()
        self._asked_long: deque[_Waiting] = deque()

    @property
    def trouble(self) -> str:
        troubles = [events.trouble for events in self._listened]
        return next(iter(troubles), NoButton.trouble) if all(troubles) else ""

    async def pressed(self) -> None:
        await self._wait(self._asked)

    async def held(self) -> None:
        await self._wait(self._asked_long)

    async def _wait(self, asked: deque[_Waiting]) -> None:
        answered: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        waiting = _Waiting(self._clock.monotonic_s(), answered)
        asked.append(waiting)
        try:
            await waiting.answered
        finally:
            asked.remove(waiting)

    async def run(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as group:
            for events in self._listened:
                group.create_task(self._listen(events))

    async def _listen(self, events: BoardSubscription) -> None:
        press: _Press | None = None
        while True:
            is_settling = press is not None and not press.is_settled
            try:
                async with asyncio.timeout(HELD_S if is_settling else None):
                    event = await anext(events)
            except TimeoutError:
                # Only what is down has a timeout
                assert press is not None
                self._settle(press)
                continue
            if event.value == _UP and press:
                self._end(press, event.monotonic_s - press.began.monotonic_s)
            press = _Press(event) if event.value == _DOWN else None

    def _settle(self, press: _Press) -> None:
        press.is_settled = True
        press.is_spent = _answer(self._asked, press.began)

    def _end(self, press: _Press, held_s: float) -> None:
        if held_s >= HELD_S and not press.is_settled:
            self._settle(press)
        # By the board's own times: a link that is silent holds no button down
        if held_s >= LONG_S and not press.is_spent:
            _answer(self._asked_long, press.began)


def open_button(
    boards: Sequence[EventSource], every: Sequence[BoardSettings], clock: Clock
) -> Button | NoButton:
    """Return the button of the boards whose settings name its pin."""
    wanted = zip(boards, every, strict=True)
    places = [(board, one.approve_button) for board, one in wanted if one.approve_button]
    return Button(places, clock) if places else NoButton()


def _answer(asked: deque[_Waiting], press: BoardEvent) -> bool:
    for waiting in asked:
        # One that was answered or given up is still here until its task turns
        if not waiting.answered.done() and waiting.asked_s <= press.monotonic_s:
            waiting.answered.set_result(None)
            return True
    return False
