"""Approval questions with inline buttons in Telegram."""

import logging

from msgspec.structs import replace

from agent.channels import approval_buttons
from agent.channels.approval_buttons import ApprovalButtons
from agent.channels.approvals import OpenApprovals
from agent.channels.base import Answer, Question
from agent.channels.telegram.client import TelegramApi, TelegramRefused
from agent.channels.telegram.events import TelegramCallback
from agent.channels.telegram.inbound import NAME
from agent.channels.telegram.markup import MAX_REPAIRS, MAX_UNITS, TelegramTexts
from agent.channels.telegram.rate_limits import TelegramRateLimits
from agent.errors import ChannelError, ChannelUnavailable
from agent.messages import Address

_log = logging.getLogger(__name__)

# A call that takes more messages than this to show is asked about at the terminal
MAX_MESSAGES = 4
# A chat that wants to be left alone for longer is passed over: another may be asked meanwhile
MOST_WAITED_S = 30.0
# Two units for each character at most, and room for the outcome
PIECE_CHARS = MAX_UNITS // 2 - 100
_LABELS = {Answer.YES: "Yes", Answer.NO: "No", Answer.ALWAYS: "Always"}


class TelegramApprovals(ApprovalButtons):
    """Approval questions in Telegram chats."""

    def __init__(
        self,
        api: TelegramApi,
        words: TelegramTexts,
        questions: OpenApprovals,
        silence: TelegramRateLimits,
    ) -> None:
        super().__init__(questions)
        self._api = api
        self._words = words
        self._silence = silence

    async def ask(self, address: Address, question: Question) -> Answer:
        # An answer comes from where the question stands
        there = replace(address, target=str(self._words.chat_of(address.target)))
        refusal: ChannelError
        for _ in range(MAX_REPAIRS):
            for chat in {address.target, there.target}:
                await self._silence.wait_out(chat, MOST_WAITED_S)
            try:
                return await super().ask(there, question)
            except ChannelUnavailable as err:
                refusal = err
                if err.retry_after_s is None:
                    raise
            except TelegramRefused as err:
                refusal, moved = err, self._words.elsewhere(there, err)
                if moved is None:
                    raise
                there = moved
        raise refusal

    async def press(self, callback: TelegramCallback) -> None:
        """Handle a pressed button, and end its waiting state."""
        text = "" if self._is_theirs(callback) else approval_buttons.NOT_OPEN
        body: dict[str, object] = {"callback_query_id": callback.id}
        try:
            await self._api.call("answerCallbackQuery", {**body, "text": text} if text else body)
        except ChannelError as err:
            _log.info("telegram: button press not confirmed (reason=%s)", err)

    def _is_theirs(self, callback: TelegramCallback) -> bool:
        message = callback.message
        if message is None:
            return False
        person, chat = str(callback.from_.id), str(message.chat.id)
        return self._is_taken(Address(NAME, chat, person, message.thread), callback.data)

    def _fits(self, question: Question) -> bool:
        return len(pieces(question)) <= MAX_MESSAGES

    async def _put(self, address: Address, question: Question) -> str:
        place = self._words.place(address.target, address.thread)
        *before, last = pieces(question)
        try:
            for text in before:
                await self._api.call("sendMessage", {**place, "text": text})
            shown = await self._api.call(
                "sendMessage", {**place, "text": last, "reply_markup": keyboard(question)}
            )
        except ChannelUnavailable as err:
            self._silence.note(address.target, err)
            raise
        number = shown.get("message_id") if isinstance(shown, dict) else None
        return str(number) if isinstance(number, int) else "0"

    async def _close(
        self, address: Address, question: Question, message_id: str, outcome: str
    ) -> None:
        place = {"chat_id": self._words.chat_of(address.target), "message_id": int(message_id)}
        told = {**place, "text": f"{pieces(question)[-1]}\n\n{outcome}"}
        await self._api.call("editMessageText", told)


def pieces(question: Question) -> list[str]:
    """Split the question into messages."""
    return approval_buttons.pieces(question, PIECE_CHARS)


def keyboard(question: Question) -> dict[str, object]:
    """Return one row of buttons."""
    row = [
        {"text": _LABELS[answer], "callback_data": known}
        for answer, known in approval_buttons.button_values(question).items()
    ]
    return {"inline_keyboard": [row]}
