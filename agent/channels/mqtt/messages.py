"""Messages over MQTT: JSON or plain text to the device, JSON from it."""

import re
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from agent.link.base import Board
from agent.link.manifest import Field
from agent.link.readings import Setting, settings
from agent.link.value_codec import range_of
from agent.messages import Inbound, Outbound, Provenance
from agent.text.printable import printable_line

# Who writes for the home: commands to pins come as if said by it
HOME = "home"
ONLINE, OFFLINE = "online", "offline"
# A level of a topic that is somebody's name; the rest of what MQTT allows is of no use in one
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9@._:-]{0,63}")


class MqttTopics(Struct, frozen=True):
    """Topics below `base`."""

    base: str

    @property
    def status(self) -> str:
        return f"{self.base}/status"

    @property
    def inbox(self) -> str:
        """Return the filter of messages."""
        return f"{self.base}/in/+"

    @property
    def stop(self) -> str:
        """Return the place of the emergency stop."""
        return f"{self.base}/estop"

    @property
    def stop_command(self) -> str:
        return f"{self.stop}/set"

    @property
    def health(self) -> str:
        return f"{self.base}/health"

    @property
    def update(self) -> str:
        return f"{self.base}/update"

    def watch(self, name: str) -> str:
        return f"{self.base}/watch/{name}"

    @property
    def commands(self) -> str:
        """Return the filter of commands for pins."""
        return f"{self.base}/board/+/+/set"

    def answers_for(self, sender: str) -> str:
        return f"{self.base}/out/{sender}"

    def board(self, board: str) -> str:
        return f"{self.base}/board/{board}"

    def value(self, board: str, name: str) -> str:
        return f"{self.board(board)}/{name}"

    def reading(self, name: str) -> str:
        return f"{self.base}/reading/{name}"

    def command(self, board: str, name: str) -> str:
        return f"{self.value(board, name)}/set"

    def sender_of(self, topic: str) -> str:
        """Return the writer of that topic; empty if it has no name."""
        levels = topic.removeprefix(f"{self.base}/in/").split("/")
        is_named = topic.startswith(f"{self.base}/in/") and len(levels) == 1
        return levels[0] if is_named and _NAME.fullmatch(levels[0]) else ""

    def pin_of(self, topic: str) -> tuple[str, str] | None:
        """Return the board and pin of a command."""
        if not topic.startswith(f"{self.base}/board/"):
            return None
        match topic.removeprefix(f"{self.base}/board/").split("/"):
            case [board, pin, "set"]:
                return board, pin
        return None


NAME = "mqtt"
# As of any message of a person
MAX_TEXT_CHARS = 64 * 1024
MAX_NAME_CHARS = 128
# What a switch is set to; nothing else is a command
_SWITCHED = {"on": "on", "off": "off", "true": "on", "false": "off", "1": "on", "0": "off"}
_MAX_NUMBER_CHARS = 24
# What is written to stop everything; nothing that is written there ends a stop
STOP = "stop"
_MOST = 1e9
# Of the year 5138: what is more counts thousandths of a second, or of those, or of those
_MOST_SECONDS = 1e11
_SCALES = (1e3, 1e6, 1e9)
# Of clocks that are set by the network now and then
_MAX_AHEAD_S = 120.0

Text = Annotated[str, Meta(min_length=1, max_length=MAX_TEXT_CHARS)]
Name = Annotated[str, Meta(pattern=rf"^[^\x00-\x20\x7f]{{1,{MAX_NAME_CHARS}}}\Z")]


class MqttInbound(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Message in JSON.

    Args:
        id: the same message twice has the same one.
        sent_at: when it was written, since the epoch; any number may stand there.
    """

    text: Text
    id: Name = ""
    name: Annotated[str, Meta(max_length=MAX_NAME_CHARS)] = ""
    thread: Name | None = None
    sent_at: float | None = None


class MqttOutbound(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Message of the device; a repetition has the same id."""

    id: str
    text: str
    answers: str = ""
    thread: str | None = None
    part: int = 0


def read(payload: bytes) -> MqttInbound | None:
    """Read a message; None if it is none."""
    if payload.lstrip()[:1] == b"{":
        try:
            return msgspec.json.decode(payload, type=MqttInbound)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            # Any other JSON is text like any other
            pass
    text = payload.decode("utf-8", "replace").strip()
    return MqttInbound(text=text) if 0 < len(text) <= MAX_TEXT_CHARS else None


def inbound_of(letter: MqttInbound, sender: str, message_id: str, now_s: float) -> Inbound:
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
        sent_at_s=_written_at_s(letter.sent_at, now_s),
    )


def _written_at_s(told: float | None, now_s: float) -> float | None:
    """Return when it was written; None where nobody knows, such as for a time to come."""
    if told is None:
        return None
    if told > _MOST_SECONDS:
        scale = next((one for one in _SCALES if told / one <= _MOST_SECONDS), 1.0)
        told /= scale
    if told > now_s + _MAX_AHEAD_S:
        return None
    # Before the epoch nobody wrote, and not every number is a time to the system
    return min(max(told, 0.0), now_s)


def told_by(message: Outbound, known: str) -> bytes:
    from agent.channels.render.plain import to_plain  # noqa: PLC0415 - an answer needs it, no start

    return msgspec.json.encode(
        MqttOutbound(
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
    if not (is_within and abs(number) < _MOST):
        return ""
    # No order is said with an exponent: it would not be understood
    return f"{number:.6f}".rstrip("0").rstrip(".")


def stop_of(payload: bytes, message_id: str, now_s: float) -> Inbound | None:
    """Return the emergency stop as a message of the home; None if the payload is none."""
    said = payload[:_MAX_NUMBER_CHARS].decode("ascii", "replace").strip().casefold()
    return _of_home("/estop", "estop", message_id, now_s) if said == STOP else None


def command_of(order: str, board: str, pin: str, message_id: str, now_s: float) -> Inbound:
    """Return a command as a message of the home; the access rules decide who that is."""
    return _of_home(order, f"{board}/{pin}", message_id, now_s)


def _of_home(text: str, thread: str, message_id: str, now_s: float) -> Inbound:
    return Inbound(
        message_id=message_id,
        channel=NAME,
        sender=HOME,
        reply_target=HOME,
        text=text,
        received_at_s=now_s,
        provenance=Provenance.WEB,
        thread=thread,
    )
