"""An answer that is still growing, shown in its chat without slowing down whoever writes it.

In private chats as a draft of the platform's own, elsewhere as a message that is edited; that
message becomes the answer's first part. A draft is a courtesy: it is left out where it cannot be.
"""

import asyncio
import logging
from dataclasses import dataclass, field

from agent.channels.telegram.api import ApiRefused
from agent.channels.telegram.silence import Silence
from agent.channels.telegram.understanding import number_of
from agent.channels.telegram.words import Words, answering, first_part
from agent.clock import Clock
from agent.errors import ChannelError, ChannelUnavailable
from agent.messages import Inbound, Outbound

_log = logging.getLogger(__name__)

# The platform counts edits as messages: about one a second in a chat
INTERVAL_S = 1.0
# Twenty a minute in a group, and the answer itself is one
GROUP_INTERVAL_S = 4.0
# Answers that grow at the same time, and those whose turn was given up
MAX_DRAFTS = 64


@dataclass(slots=True)
class _Draft:
    inbound: Inbound
    latest: str = ""
    shown: str = ""
    next_s: float = 0.0
    # The message that is edited; 0 where there is none
    message_id: int = 0
    # A request is under way: it is waited for, or it would overtake the answer
    is_calling: bool = False
    is_over: bool = False
    task: "asyncio.Task[None] | None" = field(default=None)


class Drafts:
    """The drafts of one bot, by what they answer."""

    def __init__(self, words: Words, silence: Silence, clock: Clock) -> None:
        self._words = words
        self._silence = silence
        self._clock = clock
        self._drafts: dict[tuple[str, str | None, str], _Draft] = {}
        # Servers of one's own may be older than drafts
        self._has_drafts = True

    def show(self, inbound: Inbound, text_so_far: str) -> None:
        """The text will be seen soon, or a later one instead of it."""
        key = (inbound.reply_target, inbound.thread, inbound.message_id)
        draft = self._drafts.get(key)
        if draft is None:
            if len(self._drafts) >= MAX_DRAFTS:
                self._forget_oldest()
            draft = self._drafts[key] = _Draft(inbound)
        draft.latest = text_so_far
        if not draft.is_over and (draft.task is None or draft.task.done()):
            draft.task = asyncio.create_task(self._keep_up(draft))

    async def end(self, message: Outbound) -> int:
        """Show no more of it; the message that stands in the chat for it, or 0."""
        draft = self._drafts.get((message.recipient, message.thread, message.in_reply_to))
        if draft is None:
            return 0
        draft.is_over = True
        await _ended(draft)
        return draft.message_id

    def forget(self, message: Outbound) -> None:
        """Its answer is in the chat."""
        self._drafts.pop((message.recipient, message.thread, message.in_reply_to), None)

    async def aclose(self) -> None:
        for draft in list(self._drafts.values()):
            if draft.task is not None:
                draft.task.cancel()
                await asyncio.wait([draft.task])
        self._drafts.clear()

    def _forget_oldest(self) -> None:
        draft = self._drafts.pop(next(iter(self._drafts)))
        if draft.task is not None:
            draft.task.cancel()

    async def _keep_up(self, draft: _Draft) -> None:
        chat = draft.inbound.reply_target
        while not draft.is_over and draft.latest != draft.shown:
            wait_s = max(draft.next_s - self._clock.monotonic_s(), self._silence.left_s(chat))
            if wait_s > 0:
                await self._clock.sleep(wait_s)
                continue
            await self._try(draft)
            interval_s = GROUP_INTERVAL_S if draft.inbound.is_group else INTERVAL_S
            draft.next_s = self._clock.monotonic_s() + interval_s

    async def _try(self, draft: _Draft) -> None:
        text = draft.latest
        draft.is_calling = True
        try:
            await self._put(draft, first_part(text))
        except ChannelUnavailable as err:
            self._silence.note(draft.inbound.reply_target, err)
        except ChannelError as err:
            _log.info("no draft is shown: %s", err)
            draft.is_over = True
        finally:
            draft.is_calling = False
        draft.shown = text

    async def _put(self, draft: _Draft, text: str) -> None:
        parameters = self._words.place(draft.inbound.reply_target, draft.inbound.thread)
        if draft.message_id:
            where = {"chat_id": parameters["chat_id"], "message_id": draft.message_id}
            await self._words.put("editMessageText", where, text)
        elif self._has_drafts and not draft.inbound.is_group:
            await self._put_draft(draft, parameters, text)
        else:
            if draft.inbound.is_group:
                parameters |= answering(draft.inbound.message_id)
            told = await self._words.put("sendMessage", parameters, text)
            draft.message_id = _message_id(told)

    async def _put_draft(self, draft: _Draft, parameters: dict[str, object], text: str) -> None:
        # The same number animates the same draft; 0 is none
        number = number_of(draft.inbound.message_id) or 1
        try:
            await self._words.put("sendMessageDraft", {**parameters, "draft_id": number}, text)
        except ApiRefused as err:
            if not err.says("method"):
                raise
            _log.info("this server has no drafts; a message is edited instead")
            self._has_drafts = False
            await self._put(draft, text)


async def _ended(draft: _Draft) -> None:
    task = draft.task
    if task is None or task.done():
        return
    if not draft.is_calling:
        task.cancel()
    await asyncio.wait([task])


def _message_id(told: object) -> int:
    number = told.get("message_id") if isinstance(told, dict) else None
    return number if isinstance(number, int) else 0
