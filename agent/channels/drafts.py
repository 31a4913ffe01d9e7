"""Drafts: answers that are shown while they grow, without slowing the turn.

Each is shown again when it has grown and the platform may be asked again. How it is shown, and how
often, is the platform's; a draft is a courtesy and is left out where it cannot be. One that a cut
has left goes on in the same message, and that becomes the answer.
"""

import asyncio
import logging
from abc import ABC, abstractmethod
from pathlib import Path

from msgspec import Struct

from agent.channels.started_drafts import Key, StartedDrafts
from agent.errors import ChannelError
from agent.messages import Inbound, Outbound
from agent.system.clock import Clock

_log = logging.getLogger(__name__)

# A model that writes for longer than this makes a person wait; a draft of an answer that is whole
# would be a request more, which the answer then waits for
FIRST_S = 0.3
# Answers that grow at the same time, and those whose turn was given up
MAX_DRAFTS = 64
# At the end: a message that the platform has by then is one that the next run knows of
LET_GO_S = 3.0
# Ahead of what a draft says: a message has room for its beginning
BROKEN_OFF = "(Broken off: this is no answer.)"
# In the folder of the channel
KEPT_NAME = "begun.json"


class AnswerDraft(Struct):
    """Draft of an answer, as written and as shown."""

    inbound: Inbound
    next_s: float
    latest: str = ""
    shown: str = ""
    edits: int = 0
    # The platform's id of the message that is edited; empty where there is none
    message_id: str = ""
    # An earlier run began it, or may have
    is_left: bool = False
    # A request is under way: it is waited for, or it would overtake the answer
    is_calling: bool = False
    is_over: bool = False
    task: "asyncio.Task[None] | None" = None


class Drafts(ABC):
    """The drafts of one channel, by what they answer.

    Args:
        folder: the channel's, for what has to outlive a restart.
    """

    # An answer that is there by then was never a draft
    first_s = FIRST_S
    # The platform takes a message of one name once, so that an id that was lost can be had again
    names_once = False

    def __init__(self, folder: Path, clock: Clock) -> None:
        self._clock = clock
        self._begun = StartedDrafts(folder / KEPT_NAME)
        self._drafts: dict[Key, AnswerDraft] = {}

    @abstractmethod
    async def _put(self, draft: AnswerDraft, text: str) -> None:
        """Show the draft; after a ChannelError it is not shown again."""

    @abstractmethod
    def _interval_s(self, draft: AnswerDraft) -> float:
        """Return the seconds until the draft may be shown again."""

    async def _named(self, message: Outbound) -> str:
        """Store the id of the message that shows the draft."""
        return ""

    def _is_shown_out(self, draft: AnswerDraft) -> bool:
        """Return true if the platform takes no more of the draft."""
        return False

    def _silence_s(self, draft: AnswerDraft) -> float:
        """Return the seconds of silence that the platform wants for its chat."""
        return 0.0

    def show(self, inbound: Inbound, text_so_far: str) -> None:
        """Show the text soon, or a later one instead."""
        key = _key(inbound)
        draft = self._drafts.get(key)
        if draft is None:
            if len(self._drafts) >= MAX_DRAFTS:
                self._forget_oldest()
            draft = AnswerDraft(inbound, self._clock.monotonic_s() + self.first_s)
            self._drafts[key] = draft
        draft.latest = text_so_far
        if not draft.is_over and (draft.task is None or draft.task.done()):
            draft.task = asyncio.create_task(self._keep_up(draft))

    async def end(self, message: Outbound) -> str:
        """Stop showing the draft; return the id of its message, if there is one.

        Raises:
            ChannelError: one may, and cannot be had now.
        """
        key = _answered_by(message)
        draft = await self._stopped(key)
        if draft is not None and draft.message_id:
            return draft.message_id
        left = await self._begun.left(key)
        return await self._named(message) if left == "" else left or ""

    def forget(self, message: Outbound) -> None:
        """Forget the draft: it became the answer or was deleted."""
        key = _answered_by(message)
        self._drafts.pop(key, None)
        self._begun.settle(key)

    async def break_off(self, inbound: Inbound) -> None:
        """Mark the draft as no answer, if there is one; it may become one after a restart."""
        draft = await self._stopped(_key(inbound)) or AnswerDraft(inbound, 0.0)
        self._drafts.pop(_key(inbound), None)
        draft.message_id = draft.message_id or await self._begun.left(_key(inbound)) or ""
        if not draft.message_id:
            return
        await self._clock.sleep(self._silence_s(draft))
        try:
            await self._put(draft, "\n\n".join(filter(None, (BROKEN_OFF, draft.shown))))
        except ChannelError as err:
            _log.info("channels: draft not marked as broken off (reason=%s)", err)

    async def aclose(self) -> None:
        drafts = list(self._drafts.values())
        for draft in drafts:
            draft.is_over = True
            if draft.task is not None and not draft.is_calling:
                draft.task.cancel()
        if tasks := [draft.task for draft in drafts if draft.task is not None]:
            _, late = await asyncio.wait(tasks, timeout=LET_GO_S)
            for task in late:
                task.cancel()
            if late:
                await asyncio.wait(late)
        self._drafts.clear()

    async def _stopped(self, key: Key) -> AnswerDraft | None:
        """Return the draft, of which nothing more is shown."""
        draft = self._drafts.get(key)
        if draft is not None:
            draft.is_over = True
            if draft.task is not None and not draft.task.done():
                if not draft.is_calling:
                    draft.task.cancel()
                await asyncio.wait([draft.task])
        return draft

    def _forget_oldest(self) -> None:
        draft = self._drafts.pop(next(iter(self._drafts)))
        if draft.task is not None:
            draft.task.cancel()

    async def _keep_up(self, draft: AnswerDraft) -> None:
        if not draft.message_id:
            left = await self._begun.left(_key(draft.inbound))
            draft.message_id, draft.is_left = left or "", left is not None
        while not (draft.is_over or draft.latest == draft.shown or self._is_shown_out(draft)):
            wait_s = max(draft.next_s - self._clock.monotonic_s(), self._silence_s(draft))
            if wait_s > 0:
                await self._clock.sleep(wait_s)
                continue
            await self._try(draft)
            draft.next_s = self._clock.monotonic_s() + self._interval_s(draft)
            draft.edits += 1

    async def _try(self, draft: AnswerDraft) -> None:
        text, before = draft.latest, draft.message_id
        draft.is_calling = True
        try:
            if self.names_once and not before:
                await self._begun.note(_key(draft.inbound), "")
            await self._put(draft, text)
            if draft.message_id != before:
                await self._begun.note(_key(draft.inbound), draft.message_id)
        except ChannelError as err:
            _log.info("channels: draft not shown (reason=%s)", err)
            draft.is_over = True
        finally:
            draft.is_calling = False
        draft.shown = text


def _key(inbound: Inbound) -> Key:
    return inbound.reply_target, inbound.thread, inbound.message_id


def _answered_by(message: Outbound) -> Key:
    return message.recipient, message.thread, message.in_reply_to
