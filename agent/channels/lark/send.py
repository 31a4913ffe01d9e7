"""Sender of answers, files and questions to Lark.

What the platform was asked to take twice, because its word was lost on the way, is taken once: each
message has a number of ours that it knows for an hour.
"""

import hashlib
import json
import re
from typing import Any

from agent.channels import approvals
from agent.channels.approvals import OpenApprovals, question_text
from agent.channels.base import Answer, Question
from agent.channels.delivery_steps import DeliverySteps, unsendable
from agent.channels.lark.client import LarkApi, LarkRefused, text_in
from agent.channels.lark.events import NAME, LarkEventBody
from agent.errors import MessageRefused
from agent.messages import Address, Attachment, Outbound

# It takes 150 KB; a screen shows less, and escaped characters need more
MAX_PART_BYTES = 8000
# What the platform takes of one file
MAX_FILE_BYTES = 30 * 1024 * 1024
# A card holds 30 KB; what takes more to show is asked about at the terminal
MAX_QUESTION_CHARS = 6000
_LABELS = {
    Answer.YES: ("Yes", "primary"),
    Answer.NO: ("No", "danger"),
    Answer.ALWAYS: ("Always", "default"),
}
_PRESSED = {answer.value: answer for answer in _LABELS}
# In a text these are mentions: a model may not call people
_TAG = re.compile(r"<(?=/?at\b)", re.IGNORECASE)


class LarkSender:
    """Sender of one app."""

    def __init__(self, api: LarkApi, questions: OpenApprovals) -> None:
        self._api = api
        self._questions = questions
        self._unfinished = DeliverySteps()
        # Where the open questions were put: a press does not tell the thread
        self._threads: dict[str, str | None] = {}

    async def send(self, message: Outbound) -> None:
        """Return when the platform has all of it.

        Raises:
            ChannelError: it has not.
        """
        await self._unfinished.go_on(message, self._say, self._give)

    async def ask(self, address: Address, question: Question) -> Answer:
        """Ask, and wait for the answer until cancelled.

        Raises:
            ChannelError: the question could not be put.
        """
        text = question_text(question)
        if len(text) > MAX_QUESTION_CHARS:
            return Answer.NONE

        async def put(message: Outbound) -> None:
            await self._put(message, "interactive", _card(text, question), question.question_id)

        self._threads[question.question_id] = address.thread
        try:
            return await approvals.ask(self._questions, address, question, put)
        finally:
            del self._threads[question.question_id]

    def pressed(self, event: LarkEventBody) -> None:
        """Handle a pressed button; only the person who was asked answers by it."""
        value = event.action.value
        known, said = text_in(value, "question"), text_in(value, "answer")
        if said in _PRESSED:
            chat, person = event.context.open_chat_id, event.operator.open_id
            address = Address(NAME, chat, person, self._threads.get(known))
            self._questions.press(address, known, _PRESSED[said])

    async def _say(self, message: Outbound) -> None:
        from agent.channels.render.plain import to_plain  # noqa: PLC0415 - an answer needs it, no start

        await self._put_text(message, to_plain(message.text))

    async def _put_text(self, message: Outbound, text: str) -> None:
        await self._put(message, "text", {"text": _TAG.sub("< ", text)}, text)

    async def _give(self, message: Outbound, file: Attachment) -> None:
        if trouble := unsendable(file, MAX_FILE_BYTES, "Lark takes"):
            await self._put_text(message, trouble)
            return
        fields = {"file_type": "stream", "file_name": file.name or "file"}
        try:
            key = await self._api.upload(fields, file)
        except OSError as err:
            raise MessageRefused(f"cannot read the file: {err.strerror}") from err
        await self._put(message, "file", {"file_key": key}, file.path)

    async def _put(self, message: Outbound, kind: str, content: object, what: str) -> None:
        told = json.dumps(content, ensure_ascii=False)
        body: dict[str, Any] = {"msg_type": kind, "content": told, **_numbered(message, what)}
        if not await self._answer(message, body):
            path = "/im/v1/messages?receive_id_type=chat_id"
            await self._api.call("POST", path, {**body, "receive_id": message.recipient})

    async def _answer(self, message: Outbound, body: dict[str, Any]) -> bool:
        """Answer what the thread hangs on, or what is answered; return false if neither is there.

        Raises:
            LarkRefused: both were recalled meanwhile, and a thread cannot be left.
        """
        body = {**body, "reply_in_thread": message.thread is not None}
        refused: LarkRefused | None = None
        for answered in dict.fromkeys(filter(None, (message.thread, message.in_reply_to))):
            try:
                await self._api.call("POST", f"/im/v1/messages/{answered}/reply", body)
            except LarkRefused as err:
                refused = refused or err
            else:
                return True
        if message.thread and refused is not None:
            raise refused
        return False


def parts(text: str) -> tuple[str, ...]:
    from agent.channels.render.splitter import split  # noqa: PLC0415 - no start needs them
    from agent.channels.render.styled import utf8_bytes  # noqa: PLC0415 - as above

    return split(text, MAX_PART_BYTES, utf8_bytes)


def _card(text: str, question: Question) -> dict[str, object]:
    """Return a card with the text byte for byte: nothing in it is Markdown."""
    answers = [Answer.YES, Answer.NO, *([Answer.ALWAYS] if question.always else [])]
    buttons = [
        {
            "tag": "button",
            "text": {"tag": "plain_text", "content": _LABELS[answer][0]},
            "type": _LABELS[answer][1],
            "value": {"question": question.question_id, "answer": answer.value},
        }
        for answer in answers
    ]
    words = {"tag": "div", "text": {"tag": "plain_text", "content": text}}
    return {
        "config": {"wide_screen_mode": True},
        "elements": [words, {"tag": "action", "actions": buttons}],
    }


def _numbered(message: Outbound, what: str) -> dict[str, str]:
    """Return the same number for the same words, which the platform then accepts once."""
    if message.outbox_id <= 0:
        return {}
    told = "\0".join((str(message.outbox_id), str(message.part), message.recipient, what))
    return {"uuid": hashlib.sha256(told.encode("utf-8", "replace")).hexdigest()[:40]}
