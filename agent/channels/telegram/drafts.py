"""Drafts on Telegram, by its draft method or as messages that are edited.

In private chats as a draft of the platform's own, elsewhere as a message that is edited; that
message becomes the answer's first part. A draft is a courtesy: it is left out where it cannot be.
"""

import logging
from pathlib import Path

from agent.channels.drafts import AnswerDraft, Drafts
from agent.channels.telegram.client import TelegramRefused
from agent.channels.telegram.inbound import number_of
from agent.channels.telegram.markup import TelegramTexts, answering, first_part
from agent.channels.telegram.rate_limits import TelegramRateLimits
from agent.errors import ChannelUnavailable
from agent.system.clock import Clock

_log = logging.getLogger(__name__)

# The platform counts edits as messages: about one a second in a chat
INTERVAL_S = 1.0
# Twenty a minute in a group, and the answer itself is one
GROUP_INTERVAL_S = 4.0


class TelegramDrafts(Drafts):
    """Drafts of one bot."""

    def __init__(
        self, words: TelegramTexts, silence: TelegramRateLimits, folder: Path, clock: Clock
    ) -> None:
        super().__init__(folder, clock)
        self._words = words
        self._silence = silence
        # Servers of one's own may be older than drafts
        self._has_drafts = True

    def _silence_s(self, draft: AnswerDraft) -> float:
        return self._silence.left_s(draft.inbound.reply_target)

    def _interval_s(self, draft: AnswerDraft) -> float:
        return GROUP_INTERVAL_S if draft.inbound.is_group else INTERVAL_S

    async def _put(self, draft: AnswerDraft, text: str) -> None:
        try:
            await self._show(draft, first_part(text))
        except ChannelUnavailable as err:
            # The next one may come through
            self._silence.note(draft.inbound.reply_target, err)

    async def _show(self, draft: AnswerDraft, text: str) -> None:
        parameters = self._words.place(draft.inbound.reply_target, draft.inbound.thread)
        if draft.message_id:
            where = {"chat_id": parameters["chat_id"], "message_id": int(draft.message_id)}
            await self._words.put("editMessageText", where, text)
        elif self._has_drafts and not draft.inbound.is_group:
            await self._put_draft(draft, parameters, text)
        else:
            if draft.inbound.is_group:
                parameters |= answering(draft.inbound.message_id)
            told = await self._words.put("sendMessage", parameters, text)
            draft.message_id = _message_id(told)

    async def _put_draft(
        self, draft: AnswerDraft, parameters: dict[str, object], text: str
    ) -> None:
        # The same number animates the same draft; 0 is none
        number = number_of(draft.inbound.message_id) or 1
        try:
            await self._words.put("sendMessageDraft", {**parameters, "draft_id": number}, text)
        except TelegramRefused as err:
            if not err.says("method"):
                raise
            _log.info("telegram: server has no drafts; editing a message instead")
            self._has_drafts = False
            await self._show(draft, text)


def _message_id(told: object) -> str:
    number = told.get("message_id") if isinstance(told, dict) else None
    return str(number) if isinstance(number, int) else ""
