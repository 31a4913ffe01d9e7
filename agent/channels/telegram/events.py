"""Updates of `getUpdates` as typed values: only the fields that are used, each checked.

One update that is not as documented is left out; it must not hold up the others.
"""

import logging
from collections.abc import Iterator
from typing import Any

import msgspec

_log = logging.getLogger(__name__)

# Asked for by name: the platform remembers the last list, so it is always sent
ALLOWED_UPDATES = ("message", "edited_message", "callback_query")
# What a chat tells of itself comes as a message of whoever changed it
_NOTICES = frozenset(
    {
        *("new_chat_members", "left_chat_member", "chat_owner_left", "chat_owner_changed"),
        *("new_chat_title", "new_chat_photo", "delete_chat_photo", "group_chat_created"),
        *("supergroup_chat_created", "channel_chat_created", "migrate_from_chat_id"),
        *("message_auto_delete_timer_changed", "pinned_message", "write_access_allowed"),
        *("connected_website", "proximity_alert_triggered", "boost_added", "chat_background_set"),
        *("forum_topic_created", "forum_topic_edited", "forum_topic_closed"),
        *("forum_topic_reopened", "general_forum_topic_hidden", "general_forum_topic_unhidden"),
        *("video_chat_scheduled", "video_chat_started", "video_chat_ended"),
        *("video_chat_participants_invited", "giveaway_created", "giveaway_completed"),
        *("checklist_tasks_done", "checklist_tasks_added", "poll_option_added"),
        *("poll_option_deleted", "paid_message_price_changed", "direct_message_price_changed"),
        *("community_chat_added", "community_chat_removed"),
    }
)


class _Wire(msgspec.Struct, frozen=True, rename={"from_": "from", "kind": "type"}):
    """Base of typed values; fields that are not named are ignored."""


class TelegramUser(_Wire, frozen=True):
    """Person or bot."""

    id: int
    is_bot: bool = False
    first_name: str = ""
    last_name: str = ""
    username: str = ""


class TelegramChat(_Wire, frozen=True):
    """Chat of a message: private, group, or channel."""

    id: int
    kind: str = "private"
    title: str = ""

    @property
    def is_private(self) -> bool:
        return self.kind == "private"


class TelegramEntity(_Wire, frozen=True):
    """A stretch of a text, counted in UTF-16 units."""

    kind: str
    offset: int
    length: int
    user: TelegramUser | None = None


class TelegramFile(_Wire, frozen=True):
    """File that can be fetched by its id."""

    file_id: str
    file_size: int = 0
    mime_type: str = ""
    file_name: str = ""
    duration: int = 0


class TelegramSticker(_Wire, frozen=True):
    """Sticker in a message."""

    emoji: str = ""


class TelegramLocation(_Wire, frozen=True):
    """Shared location."""

    latitude: float
    longitude: float


class TelegramContact(_Wire, frozen=True):
    """Shared contact."""

    phone_number: str = ""
    first_name: str = ""
    last_name: str = ""


class TelegramQuote(_Wire, frozen=True):
    """Quoted part of the answered message."""

    text: str = ""


class TelegramMessage(_Wire, frozen=True):
    """Message; written by a person if `from_` is there and nothing else speaks through it."""

    message_id: int
    chat: TelegramChat
    date: int = 0
    from_: TelegramUser | None = None
    # Set on what a group, a channel or an anonymous administrator says
    sender_chat: TelegramChat | None = None
    via_bot: TelegramUser | None = None
    message_thread_id: int | None = None
    is_topic_message: bool = False
    is_automatic_forward: bool = False
    text: str = ""
    caption: str = ""
    entities: tuple[TelegramEntity, ...] = ()
    caption_entities: tuple[TelegramEntity, ...] = ()
    # Set on what somebody else wrote somewhere else
    forward_origin: dict[str, Any] | None = None
    reply_to_message: "TelegramMessage | None" = None
    quote: TelegramQuote | None = None
    media_group_id: str = ""
    photo: tuple[TelegramFile, ...] = ()
    document: TelegramFile | None = None
    audio: TelegramFile | None = None
    voice: TelegramFile | None = None
    video: TelegramFile | None = None
    video_note: TelegramFile | None = None
    animation: TelegramFile | None = None
    sticker: TelegramSticker | None = None
    location: TelegramLocation | None = None
    contact: TelegramContact | None = None
    migrate_to_chat_id: int | None = None
    edit_date: int = 0
    # Set on what a person wrote to somebody else, whom the bot was lent to
    business_connection_id: str = ""
    poll: dict[str, Any] | None = None
    dice: dict[str, Any] | None = None
    story: dict[str, Any] | None = None

    @property
    def words(self) -> str:
        return self.text or self.caption

    @property
    def marked(self) -> tuple[TelegramEntity, ...]:
        """Return the entities of `words`."""
        return self.entities if self.text else self.caption_entities

    @property
    def is_of_another(self) -> bool:
        """Return true if somebody else, or a bot that was asked for it, wrote its words."""
        return self.forward_origin is not None or self.via_bot is not None

    @property
    def thread(self) -> str | None:
        """Return the topic; a mere chain of replies is none."""
        return str(self.message_thread_id) if self.is_topic_message else None


class TelegramCallback(_Wire, frozen=True):
    """Pressed button."""

    id: str
    from_: TelegramUser
    message: TelegramMessage | None = None
    data: str = ""


class TelegramUpdate(_Wire, frozen=True):
    """Update of one kind."""

    update_id: int
    message: TelegramMessage | None = None
    edited_message: TelegramMessage | None = None
    callback_query: TelegramCallback | None = None


def read_updates(result: object) -> tuple[tuple[TelegramUpdate, ...], int | None]:
    """Return the readable updates, and the highest id; None for an empty result."""
    told = result if isinstance(result, list) else []
    ids = list(_ids(told))
    return tuple(_readable(told)), max(ids, default=None)


def _ids(told: list[Any]) -> Iterator[int]:
    for one in told:
        if isinstance(one, dict) and isinstance(one.get("update_id"), int):
            yield one["update_id"]


def _readable(told: list[Any]) -> Iterator[TelegramUpdate]:
    for one in told:
        if _is_notice(one):
            continue
        try:
            yield msgspec.convert(one, TelegramUpdate)
        except msgspec.ValidationError as err:
            # Its words stay out of the log: they are a person's
            _log.warning("telegram: update skipped, not as documented (reason=%s)", err)


def _is_notice(update: object) -> bool:
    """Return true if nobody has written anything."""
    message = update.get("message") if isinstance(update, dict) else None
    return isinstance(message, dict) and not _NOTICES.isdisjoint(message)
