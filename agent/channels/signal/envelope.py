"""Envelopes of the daemon as typed values: only the fields that are used, checked.

The documentation promises more than older releases send, and null stands for absent.
"""

import json
import logging
from typing import Any

import msgspec

_log = logging.getLogger(__name__)


class _Wire(msgspec.Struct, frozen=True, rename="camel"):
    """Fields that are not named here are passed over."""


class Mention(_Wire, frozen=True):
    """A stretch of the text that stands for a person, counted in UTF-16 units."""

    number: str | None = None
    uuid: str | None = None
    start: int = 0
    length: int = 0


class File(_Wire, frozen=True):
    """File that can be fetched by its id."""

    id: str | None = None
    content_type: str | None = None
    filename: str | None = None
    size: int | None = None


class Quote(_Wire, frozen=True):
    """The message that is answered to."""

    author_number: str | None = None
    author_uuid: str | None = None
    text: str | None = None


class Group(_Wire, frozen=True):
    """Group of a message; absent between two people."""

    group_id: str | None = None


class Sticker(_Wire, frozen=True):
    """A picture that stands for a feeling."""

    emoji: str | None = None


class DataMessage(_Wire, frozen=True):
    """Words, files, or one of the many things that are neither."""

    message: str | None = None
    timestamp: int = 0
    group_info: Group | None = None
    quote: Quote | None = None
    mentions: tuple[Mention, ...] | None = None
    attachments: tuple[File, ...] | None = None
    sticker: Sticker | None = None
    contacts: tuple[dict[str, Any], ...] | None = None
    reaction: dict[str, Any] | None = None
    remote_delete: dict[str, Any] | None = None
    story_context: dict[str, Any] | None = None

    @property
    def group_id(self) -> str:
        return (self.group_info.group_id or "") if self.group_info is not None else ""


class SentMessage(DataMessage, frozen=True):
    """Message that the account's owner wrote on another device."""

    destination_number: str | None = None
    destination_uuid: str | None = None
    edit_message: dict[str, Any] | None = None


class SyncMessage(_Wire, frozen=True):
    """Event on another device of the account."""

    sent_message: SentMessage | None = None


class Envelope(_Wire, frozen=True):
    """Envelope; edits, receipts, typing and calls are ignored."""

    source_number: str | None = None
    source_uuid: str | None = None
    source_name: str | None = None
    timestamp: int = 0
    server_received_timestamp: int = 0
    data_message: DataMessage | None = None
    sync_message: SyncMessage | None = None


class Failure(_Wire, frozen=True):
    """Reason why an arrival cannot be read."""

    message: str | None = None
    type: str | None = None


class Arrival(_Wire, frozen=True):
    """One event; `account` is whose it is."""

    account: str | None = None
    envelope: Envelope | None = None
    exception: Failure | None = None


def read_arrival(data: str) -> Arrival | None:
    """The event; None, and a line in the log, where it is not as documented."""
    try:
        return msgspec.convert(json.loads(data), Arrival)
    except (ValueError, RecursionError) as err:
        # A ValidationError's words name places, never what somebody wrote
        reason = str(err) if isinstance(err, msgspec.ValidationError) else type(err).__name__
        _log.warning("an event of signal-cli is not as documented: %s", reason)
        return None
