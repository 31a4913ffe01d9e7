"""Sender of answers, files and questions to WhatsApp."""

import logging
from collections.abc import Mapping

from agent.channels import approvals
from agent.channels.approvals import OpenApprovals, question_text
from agent.channels.base import Answer, Question
from agent.channels.delivery_steps import DeliverySteps, unsendable
from agent.channels.whatsapp.client import WhatsAppApi
from agent.channels.whatsapp.errors import WhatsAppWindowClosed
from agent.channels.whatsapp.reply_windows import WhatsAppWindows
from agent.errors import MessageRefused
from agent.messages import Address, Attachment, Outbound

_log = logging.getLogger(__name__)

# What a message may hold; counted as the strictest reading of the documentation would
MAX_UNITS = 4096
# The same of a message with buttons
MAX_BODY_CHARS = 1024
# What the platform takes of any kind
MAX_FILE_BYTES = 100 * 1024 * 1024
_MAX_PICTURE_BYTES = 5 * 1024 * 1024
_MAX_SOUND_BYTES = 16 * 1024 * 1024
# By what it is: the type of its message, and how large it may be as that
_KINDS: Mapping[str, tuple[str, int]] = {
    "image/jpeg": ("image", _MAX_PICTURE_BYTES),
    "image/png": ("image", _MAX_PICTURE_BYTES),
    "audio/aac": ("audio", _MAX_SOUND_BYTES),
    "audio/amr": ("audio", _MAX_SOUND_BYTES),
    "audio/mpeg": ("audio", _MAX_SOUND_BYTES),
    "audio/mp4": ("audio", _MAX_SOUND_BYTES),
    "audio/ogg": ("audio", _MAX_SOUND_BYTES),
    "video/mp4": ("video", _MAX_SOUND_BYTES),
    "video/3gpp": ("video", _MAX_SOUND_BYTES),
}
# What text is called where its own kind is none that the platform takes
_AS_TEXT = frozenset({"application/json", "text/csv", "text/markdown", "text/html"})
# A call that takes more messages than this to show is asked about at the terminal
MAX_MESSAGES = 4
# Three buttons is what a message may have
_LABELS = {Answer.YES: "Yes", Answer.NO: "No", Answer.ALWAYS: "Always"}
_PRESSED = {answer.value: answer for answer in _LABELS}


class WhatsAppSender:
    """Sender to people, in the order of the calls."""

    def __init__(
        self, api: WhatsAppApi, windows: WhatsAppWindows, questions: OpenApprovals
    ) -> None:
        self._api = api
        self._windows = windows
        self._questions = questions
        self._unfinished = DeliverySteps()

    async def send(self, message: Outbound) -> None:
        """Return when the platform has all of it.

        Raises:
            ChannelError: it has not.
        """
        await self._unfinished.go_on(message, self._say, self._give)

    async def say(self, person: str, text: str) -> None:
        """Send plain text."""
        body = {"body": text, "preview_url": False}
        await self._put(person, {"type": "text", "text": body})

    async def ask(self, address: Address, question: Question) -> Answer:
        """Ask, and wait for the answer until cancelled.

        Raises:
            ChannelError: the question could not be put.
        """
        told = _pieces(question_text(question))
        if len(told) > MAX_MESSAGES:
            return Answer.NONE

        async def put(_message: Outbound) -> None:
            for text in told[:-1]:
                await self.say(address.target, text)
            await self._put(address.target, _with_buttons(told[-1], question))

        return await approvals.ask(self._questions, address, question, put)

    def press(self, address: Address, pressed: str) -> bool:
        """Return true if the right person pressed a button of an open question."""
        name, _, known = pressed.partition(":")
        return name in _PRESSED and self._questions.press(address, known, _PRESSED[name])

    async def _say(self, message: Outbound) -> None:
        from agent.channels.render.plain import to_plain  # noqa: PLC0415 - an answer needs it, no start

        await self.say(message.recipient, to_plain(message.text))

    async def _give(self, message: Outbound, file: Attachment) -> None:
        if trouble := unsendable(file, MAX_FILE_BYTES, "WhatsApp takes"):
            await self.say(message.recipient, trouble)
            return
        kind, most_bytes = _KINDS.get(file.media_type, ("document", MAX_FILE_BYTES))
        if file.size_bytes > most_bytes:
            kind = "document"
        try:
            known = await self._api.upload(file, _taken_as(file.media_type))
        except OSError as err:
            raise MessageRefused(f"cannot read the file: {err.strerror}") from err
        except MessageRefused as err:
            _log.warning("whatsapp: file refused (reason=%s)", err)
            name = file.name or "The file"
            await self.say(message.recipient, f"({name} is of a kind that WhatsApp does not take.)")
            return
        about = {"id": known, **({"filename": file.name or "file"} if kind == "document" else {})}
        await self._put(message.recipient, {"type": kind, kind: about})

    async def _put(self, person: str, body: Mapping[str, object]) -> None:
        try:
            await self._api.send({**to(person), **body})
        except WhatsAppWindowClosed:
            await self._windows.close(person)
            raise


def to(person: str) -> dict[str, object]:
    """Return the target of a message: a number, or the id of a hidden one."""
    place = {"to": person} if person.isdigit() else {"recipient": person}
    return {"recipient_type": "individual", **place}


def parts(text: str) -> tuple[str, ...]:
    from agent.channels.render.splitter import split  # noqa: PLC0415 - no start needs them
    from agent.channels.render.styled import utf16_units  # noqa: PLC0415 - as above

    return split(text, MAX_UNITS, utf16_units)


def _pieces(text: str) -> list[str]:
    """Split the text into messages, unchanged: nothing in it is Markdown."""
    size = MAX_BODY_CHARS // 2
    return [text[start : start + size] for start in range(0, len(text), size)]


def _with_buttons(text: str, question: Question) -> dict[str, object]:
    answers = [Answer.YES, Answer.NO, *([Answer.ALWAYS] if question.always else [])]
    buttons = [
        {
            "type": "reply",
            "reply": {"id": f"{one.value}:{question.question_id}", "title": _LABELS[one]},
        }
        for one in answers
    ]
    shown = {"type": "button", "body": {"text": text}, "action": {"buttons": buttons}}
    return {"type": "interactive", "interactive": shown}


def _taken_as(media_type: str) -> str:
    return "text/plain" if media_type in _AS_TEXT else media_type
