"""An answer that is still growing, shown as a message that is edited.

Signal tells people that a message was edited and takes few edits of one, so a draft begins late
and grows in larger and larger steps. It becomes the answer's first part, or is taken back.
"""

import asyncio
import logging
from dataclasses import dataclass, field

from agent.channels.signal.letters import Letters, first_part
from agent.channels.signal.places import parameters_of
from agent.clock import Clock
from agent.errors import ChannelError
from agent.messages import Inbound, Outbound

_log = logging.getLogger(__name__)

# An answer that is there by then was never a draft
FIRST_S = 3.0
# A message may be edited ten times within a day; the last edit is the answer
MAX_EDITS = 8
# The first steps are short, and eight of them reach beyond the longest turn
INTERVAL_S = 3.0
GROWTH = 1.6
# Answers that grow at the same time, and those whose turn was given up
MAX_DRAFTS = 64


@dataclass(slots=True)
class _Draft:
    inbound: Inbound
    next_s: float
    latest: str = ""
    shown: str = ""
    edits: int = 0
    # The message that is edited; 0 where there is none
    timestamp_ms: int = 0
    # A request is under way: it is waited for, or it would overtake the answer
    is_calling: bool = False
    is_over: bool = False
    task: "asyncio.Task[None] | None" = field(default=None)


class Drafts:
    """The drafts of one account, by what they answer."""

    def __init__(self, letters: Letters, clock: Clock) -> None:
        self._letters = letters
        self._clock = clock
        self._drafts: dict[tuple[str, str], _Draft] = {}

    def show(self, inbound: Inbound, text_so_far: str) -> None:
        """The text will be seen soon, or a later one instead of it."""
        key = (inbound.reply_target, inbound.message_id)
        draft = self._drafts.get(key)
        if draft is None:
            if len(self._drafts) >= MAX_DRAFTS:
                self._forget_oldest()
            draft = _Draft(inbound, self._clock.monotonic_s() + FIRST_S)
            self._drafts[key] = draft
        draft.latest = text_so_far
        if not draft.is_over and (draft.task is None or draft.task.done()):
            draft.task = asyncio.create_task(self._keep_up(draft))

    async def end(self, message: Outbound) -> int:
        """Show no more of it; the message that stands in the chat for it, or 0."""
        draft = self._drafts.get((message.recipient, message.in_reply_to))
        if draft is None:
            return 0
        draft.is_over = True
        if draft.task is not None and not draft.task.done():
            if not draft.is_calling:
                draft.task.cancel()
            await asyncio.wait([draft.task])
        return draft.timestamp_ms

    def forget(self, message: Outbound) -> None:
        """It is the answer by now, or is taken back."""
        self._drafts.pop((message.recipient, message.in_reply_to), None)

    async def aclose(self) -> None:
        for draft in self._drafts.values():
            if draft.task is not None:
                draft.task.cancel()
                await asyncio.wait([draft.task])
        self._drafts.clear()

    def _forget_oldest(self) -> None:
        draft = self._drafts.pop(next(iter(self._drafts)))
        if draft.task is not None:
            draft.task.cancel()

    async def _keep_up(self, draft: _Draft) -> None:
        while not draft.is_over and draft.latest != draft.shown and draft.edits < MAX_EDITS:
            wait_s = draft.next_s - self._clock.monotonic_s()
            if wait_s > 0:
                await self._clock.sleep(wait_s)
                continue
            await self._try(draft)
            draft.next_s = self._clock.monotonic_s() + INTERVAL_S * GROWTH**draft.edits
            draft.edits += 1

    async def _try(self, draft: _Draft) -> None:
        text = draft.latest
        place = parameters_of(draft.inbound.reply_target)
        draft.is_calling = True
        try:
            edited = {"editTimestamp": draft.timestamp_ms} if draft.timestamp_ms else {}
            timestamp_ms = await self._letters.put({**place, **edited}, first_part(text))
            draft.timestamp_ms = draft.timestamp_ms or timestamp_ms
        except ChannelError as err:
            _log.info("no draft is shown: %s", err)
            draft.is_over = True
        finally:
            draft.is_calling = False
        draft.shown = text
