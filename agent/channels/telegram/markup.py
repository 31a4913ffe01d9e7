"""Text format of Telegram: HTML, or plain text if that is refused.

A text is never lost to its looks: what Telegram cannot parse goes as plain text, what is too long
in smaller pieces, what was for a closed topic to the chat, and a chat that has moved is followed.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from msgspec.structs import replace

from agent.channels.telegram.client import TelegramApi, TelegramRefused
from agent.channels.telegram.inbound import number_of
from agent.messages import Address

# What Telegram takes in one message, in UTF-16 units of the text without its tags
MAX_UNITS = 4096
# A preview has the platform fetch an address that the person has not opened
NO_PREVIEW: Mapping[str, object] = {"link_preview_options": {"is_disabled": True}}
_PREVIEWING = frozenset({"sendMessage", "editMessageText"})
# Each repair is made once at most
MAX_REPAIRS = 5
_NOT_PARSED = ("can't parse", "unsupported start tag", "can't find end", "entity_", "entities_")
_TOO_LONG = ("message is too long", "message_too_long", "text is too long")
_NO_TOPIC = ("message thread not found", "topic_closed", "topic_deleted")


class TelegramTexts:
    """Sender of texts, which knows the chats that have moved."""

    def __init__(self, api: TelegramApi) -> None:
        self._api = api
        # Groups that became supergroups have a new id
        self._moved: dict[int, int] = {}

    def chat_of(self, target: str) -> int | str:
        """Return the platform's form of a chat."""
        try:
            number = int(target)
        except ValueError:
            return target
        return self._moved.get(number, number)

    def place(self, target: str, thread: str | None) -> dict[str, object]:
        """Return the target as parameters of a method."""
        place: dict[str, object] = {"chat_id": self.chat_of(target)}
        if thread is not None and thread.isdigit():
            place["message_thread_id"] = int(thread)
        return place

    async def put(self, method: str, parameters: Mapping[str, object], markdown: str) -> Any:
        """Send the text and return the method's result for it, or for its first piece.

        Raises:
            ChannelError: it was not taken.
        """
        wanted, as_html = dict(parameters), True
        if method in _PREVIEWING:
            wanted |= NO_PREVIEW
        for _ in range(MAX_REPAIRS):
            try:
                return await self._api.call(method, {**wanted, **_text(markdown, as_html=as_html)})
            except TelegramRefused as err:
                if err.says("message is not modified"):
                    return None
                if err.says(*_TOO_LONG):
                    return await self._in_pieces(method, wanted, markdown)
                if as_html and err.says(*_NOT_PARSED):
                    as_html = False
                elif not self._repaired(wanted, err):
                    raise
        raise TelegramRefused(method, "whatever is changed")

    async def at(
        self, place: Mapping[str, object], send: Callable[[Mapping[str, object]], Awaitable[Any]]
    ) -> Any:
        """Send what is no text to that place, or to where it is by now; raises as `put` does."""
        wanted = dict(place)
        for _ in range(MAX_REPAIRS):
            try:
                return await send(wanted)
            except TelegramRefused as err:
                refusal = err
                if not self._repaired(wanted, err):
                    raise
        raise refusal

    def elsewhere(self, address: Address, refusal: TelegramRefused) -> Address | None:
        """Return where that address is by now; None if `refusal` is about something else."""
        place = self.place(address.target, address.thread)
        if not self._repaired(place, refusal):
            return None
        thread = address.thread if "message_thread_id" in place else None
        return replace(address, target=str(place["chat_id"]), thread=thread)

    def _repaired(self, wanted: dict[str, object], refusal: TelegramRefused) -> bool:
        """Return true if another try has a chance."""
        chat = wanted.get("chat_id")
        if refusal.migrated_to is not None and isinstance(chat, int):
            self._moved[chat] = refusal.migrated_to
            wanted["chat_id"] = refusal.migrated_to
            # Numbers of messages and topics were the old chat's
            wanted.pop("reply_parameters", None)
            return True
        return refusal.says(*_NO_TOPIC) and wanted.pop("message_thread_id", None) is not None

    async def _in_pieces(self, method: str, wanted: Mapping[str, object], markdown: str) -> Any:
        from agent.channels.render.splitter import split  # noqa: PLC0415 - no start needs it
        from agent.channels.render.styled import utf16_units  # noqa: PLC0415 - as above

        pieces = split(markdown, max(utf16_units(markdown) // 2, 1), utf16_units)
        if len(pieces) < 2:  # noqa: PLR2004 - nothing was divided
            raise TelegramRefused(method, "message is too long, and cannot be split")
        first, *others = pieces
        result = await self.put(method, wanted, first)
        rest = {key: wanted[key] for key in ("chat_id", "message_thread_id") if key in wanted}
        for piece in others:
            await self.put("sendMessage", rest, piece)
        return result


def answering(message_id: str) -> dict[str, object]:
    """Return the fields that make a message an answer; empty if it answers none."""
    number = number_of(message_id)
    if number is None:
        return {}
    # A message may be deleted meanwhile
    return {"reply_parameters": {"message_id": number, "allow_sending_without_reply": True}}


def parts(markdown: str) -> tuple[str, ...]:
    """Split the text into messages."""
    from agent.channels.render.splitter import split  # noqa: PLC0415 - no start needs it
    from agent.channels.render.styled import utf16_units  # noqa: PLC0415 - as above

    return split(markdown, MAX_UNITS, utf16_units)


def first_part(markdown: str) -> str:
    """Return as much of a draft as one message shows."""
    # Marks of Markdown are not counted by the platform; twice as much is more than enough
    return parts(markdown[: 2 * MAX_UNITS])[0]


def _text(markdown: str, *, as_html: bool) -> dict[str, object]:
    from agent.channels.render.html import to_html_telegram  # noqa: PLC0415 - no start needs it
    from agent.channels.render.plain import to_plain  # noqa: PLC0415 - as above

    if not as_html:
        return {"text": to_plain(markdown)}
    return {"text": to_html_telegram(markdown), "parse_mode": "HTML"}
