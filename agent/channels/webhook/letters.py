"""The bodies of the webhook channel: what a program may say, and what it is told."""

from typing import Annotated

import msgspec
from msgspec import Meta

from agent.messages import Inbound, Outbound, Provenance
from agent.printable import printable_line

NAME = "webhook"
# As of any message of a person
MAX_TEXT_CHARS = 64 * 1024
# Names of people, groups and threads
MAX_NAME_CHARS = 128

Text = Annotated[str, Meta(min_length=1, max_length=MAX_TEXT_CHARS)]
Name = Annotated[str, Meta(pattern=rf"^[^\x00-\x20\x7f]{{1,{MAX_NAME_CHARS}}}\Z")]


class Letter(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Message of a program.

    Args:
        sender: its own stable name of whoever speaks; who that is to us, the door decides.
        group: where others read the answer; without it the sender alone does.
    """

    sender: Name
    text: Text
    sender_name: Annotated[str, Meta(max_length=MAX_NAME_CHARS)] = ""
    group: Name | None = None
    thread: Name | None = None


class Told(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Message to a program; `to` is a sender or a group.

    Args:
        answers: the id of the message that this is the answer to.
    """

    to: str
    text: str
    thread: str | None = None
    answers: str = ""
    part: int = 0


def read(body: bytes) -> Letter:
    """Return the message in the body.

    Raises:
        ValueError: it is none; the text says why and repeats nothing of it.
    """
    try:
        return msgspec.json.decode(body, type=Letter)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as err:
        raise ValueError(f"the body is no message: {printable_line(str(err), 200)}") from err


def inbound_of(letter: Letter, message_id: str, now_s: float) -> Inbound:
    return Inbound(
        message_id=message_id,
        channel=NAME,
        sender=letter.sender,
        reply_target=letter.group or letter.sender,
        text=letter.text,
        received_at_s=now_s,
        provenance=Provenance.WEB,
        thread=letter.thread,
        is_group=letter.group is not None,
        sender_name=printable_line(letter.sender_name, MAX_NAME_CHARS),
    )


def told_by(message: Outbound) -> bytes:
    return msgspec.json.encode(
        Told(
            to=message.recipient,
            text=message.text,
            thread=message.thread,
            answers=message.in_reply_to,
            part=message.part,
        )
    )
