"""Messages over MQTT: JSON or plain text to the device, JSON from it."""

from typing import Annotated

import msgspec
from msgspec import Meta

from agent.channels.mqtt.topics import HOME
from agent.link.base import Board
from agent.link.manifest import Field
from agent.link.packing import range_of
from agent.link.readings import Setting, settings
from agent.messages import Inbound, Outbound, Provenance
from agent.printable import printable_line

NAME = "mqtt"
# As of any message of a person
MAX_TEXT_CHARS = 64 * 1024
MAX_NAME_CHARS = 128
# What a switch is set to; nothing else is a command
_SWITCHED = {"on": "on", "off": "off", "true": "on", "false": "off", "1": "on", "0": "off"}
_MAX_NUMBER_CHARS = 24
_MOST = 1e9

Text = Annotated[str, Meta(min_length=1, max_length=MAX_TEXT_CHARS)]
Name = Annotated[str, Meta(pattern=rf"^[^\x00-\x20\x7f]{{1,{MAX_NAME_CHARS}}}\Z")]


class Letter(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Message in JSON.

    Args:
        id: the same message twice has the same one.
        sent_at: when it was written, seconds since the epoch.
    """

    text: Text
    id: Name = ""
    name: Annotated[str, Meta(max_length=MAX_NAME_CHARS)] = ""
    thread: Name | None = None
    sent_at: float | None = None


class Told(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Message of the device; a repetition has the same id."""

    id: str
    text: str
    answers: str = ""
    thread: str | None = None
    part: int = 0


def read(payload: bytes) -> Letter | None:
    """Return the message; None if a person would not say that."""
    if payload.lstrip()[:1] == b"{":
        try:
            return msgspec.json.decode(payload, type=Letter)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            # Any other JSON is text like any other
            pass
    text = payload.decode("utf-8", "replace").strip()
    return Letter(text=text) if 0 < len(text) <= MAX_TEXT_CHARS else None


def inbound_of(letter: Letter, sender: str, message_id: str, now_s: float) -> Inbound:
    return Inbound(
        message_id=message_id,
        channel=NAME,
        sender=sender,
        reply_target=sender,
        text=letter.text,
        received_at_s=now_s,
        provenance=Provenance.WEB,
        thread=letter.thread,
        sender_name=printable_line(letter.name, MAX_NAME_CHARS),
        sent_at_s=letter.sent_at,
    )


def told_by(message: Outbound, known: str) -> bytes:
    from agent.channels.render import to_plain  # noqa: PLC0415 - an answer needs it, no start

    return msgspec.json.encode(
        Told(
            id=known,
            text=to_plain(message.text),
            answers=message.in_reply_to,
            thread=message.thread,
            part=message.part,
        )
    )


def order_of(board: Board, pin: str, payload: bytes, *, is_only: bool) -> str:
    """Return the sentence that sets the pin so; empty if the payload is no such command.

    Nothing of the payload but a switch's two values or a number gets into the sentence.
    """
    wanted = next((one for one in _settings(board) if one.pin.name == pin), None)
    if wanted is None or len(payload) > _MAX_NUMBER_CHARS:
        return ""
    value = _value(wanted.field, payload.decode("ascii", "replace").strip().casefold())
    if not value:
        return ""
    of = "" if is_only else f" of {board.name}"
    if wanted.field.choices:
        return f"turn the {pin}{of} {value}"
    return f"set the {pin}{of} to {value} {wanted.field.unit}".strip()


def _settings(board: Board) -> tuple[Setting, ...]:
    return settings(board.manifest) if board.manifest else ()


def _value(field: Field, said: str) -> str:
    if field.choices:
        chosen = _SWITCHED.get(said, "")
        return chosen if chosen in field.choices else ""
    try:
        number = float(said)
    except ValueError:
        return ""
    least, most = range_of(field)
    is_within = (least is None or number >= least) and (most is None or number <= most)
    # What is no number at all is not less than anything either
    return f"{number:g}" if is_within and abs(number) < _MOST else ""


def command_of(order: str, board: str, pin: str, message_id: str, now_s: float) -> Inbound:
    """The order as a message of the home; who that is to us, the door decides."""
    return Inbound(
        message_id=message_id,
        channel=NAME,
        sender=HOME,
        reply_target=HOME,
        text=order,
        received_at_s=now_s,
        provenance=Provenance.WEB,
        thread=f"{board}/{pin}",
    )
