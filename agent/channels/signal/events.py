"""Envelopes of the daemon as typed values: only the fields that are used, checked.

The documentation promises more than older releases send, and null stands for absent.
"""

import json
import logging
from typing import Any

import msgspec

_log = logging.getLogger(__name__)


class _Wire(msgspec.Struct, frozen=True, rename="camel"):
    """Base of typed values; fields that are not named are ignored."""


class SignalMention(_Wire, frozen=True):
    """Mention of a person in the text, counted in UTF-16 units."""

    number: str | None = None
    uuid: str | None = None
    start: int = 0
    length: int = 0


class SignalFile(_Wire, frozen=True):
    """File that can be fetched by its id."""

    id: str | None = None
    content_type: str | None = None
    filename: str | None = None
    size: int | None = None
    # None from a signal-cli that does not tell (before autumn 2026)
    is_voice_note: bool | None = None


class SignalQuote(_Wire, frozen=True):
    """Answered message."""

    author_number: str | None = None
    author_uuid: str | None = None
    text: str | None = None


class SignalGroup(_Wire, frozen=True):
    """Group of a message; absent between two people."""

    group_id: str | None = None


class SignalSticker(_Wire, frozen=True):
    """Sticker in a message."""

    emoji: str | None = None


class SignalDataMessage(_Wire, frozen=True):
    """Text, files, or another kind of message."""

    message: str | None = None
    timestamp: int = 0
    group_info: SignalGroup | None = None
    quote: SignalQuote | None = None
    mentions: tuple[SignalMention, ...] | None = None
    attachments: tuple[SignalFile, ...] | None = None
    sticker: SignalSticker | None = None
    contacts: tuple[dict[str, Any], ...] | None = None
    reaction: dict[str, Any] | None = None
    remote_delete: dict[str, Any] | None = None
    story_context: dict[str, Any] | None = None
    view_once: bool | None = None

    @property
    def group_id(self) -> str:
        return (self.group_info.group_id or "") if self.group_info is not None else ""


class SignalSentMessage(SignalDataMessage, frozen=True):
    """Message that the account's owner wrote on another device."""

    destination_number: str | None = None
    destination_uuid: str | None = None
    edit_message: dict[str, Any] | None = None


class SignalSyncMessage(_Wire, frozen=True):
    """Event on another device of the account."""

    sent_message: SignalSentMessage | None = None


class SignalEdit(_Wire, frozen=True):
    """New text of a message that is there already."""

    data_message: SignalDataMessage | None = None


class SignalEnvelope(_Wire, frozen=True):
    """Envelope; receipts, typing and calls are ignored."""

    source_number: str | None = None
    source_uuid: str | None = None
    source_name: str | None = None
    timestamp: int = 0
    server_received_timestamp: int = 0
    data_message: SignalDataMessage | None = None
    edit_message: SignalEdit | None = None
    sync_message: SignalSyncMessage | None = None


class SignalFailure(_Wire, frozen=True):
    """Reason why an arrival cannot be read."""

    message: str | None = None
    type: str | None = None


class SignalEvent(_Wire, frozen=True):
    """Event; `account` is its receiver."""

    account: str | None = None
    envelope: SignalEnvelope | None = None
    exception: SignalFailure | None = None


def read_arrival(data: str) -> SignalEvent | None:
    """Decode an event; None and a log line if it is not as documented."""
    try:
        return msgspec.convert(json.loads(data), SignalEvent)
    except (ValueError, RecursionError) as err:
        # A ValidationError's words name places, never what somebody wrote
        reason = str(err) if isinstance(err, msgspec.ValidationError) else type(err).__name__
        _log.warning("signal: event skipped, not as documented (reason=%s)", reason)
        return None
