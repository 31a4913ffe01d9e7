"""Updates of `getUpdates` as typed values: only the fields that are used, each checked.

One update that is not as documented is left out; it must not hold up the others.
"""

import logging
from collections.abc import Iterator
from typing import Any

import msgspec

_log = logging.getLogger(__name__)

# Asked for by name: the platform remembers the last list, so it is always sent
ALLOWED_UPDATES = ("message", "callback_query")


class _Wire(msgspec.Struct, frozen=True, rename={"from_": "from", "kind": "type"}):
    """Fields that are not named here are passed over."""


class User(_Wire, frozen=True):
    """A person, or a bot."""

    id: int
    is_bot: bool = False
    first_name: str = ""
    last_name: str = ""
    username: str = ""


class Chat(_Wire, frozen=True):
    """Chat of a message: private, group, or channel."""

    id: int
    kind: str = "private"
    title: str = ""

    @property
    def is_private(self) -> bool:
        return self.kind == "private"


class Entity(_Wire, frozen=True):
    """A stretch of a text, counted in UTF-16 units."""

    kind: str
    offset: int
    length: int
    user: User | None = None


class File(_Wire, frozen=True):
    """A photo's size, a document, a voice note: what can be fetched by its id."""

    file_id: str
    file_size: int = 0
    mime_type: str = ""
    file_name: str = ""
    duration: int = 0


class Sticker(_Wire, frozen=True):
    """A picture that stands for a word."""

    emoji: str = ""


class Location(_Wire, frozen=True):
    """A place that somebody shared."""

    latitude: float
    longitude: float


class Contact(_Wire, frozen=True):
    """A card of somebody's."""

    phone_number: str = ""
    first_name: str = ""
    last_name: str = ""


class Quote(_Wire, frozen=True):
    """The words that an answer picked."""

    text: str = ""


class Message(_Wire, frozen=True):
    """Of a person, where `from_` is there and nothing else speaks through it."""

    message_id: int
    chat: Chat
    date: int = 0
    from_: User | None = None
    # Set on what a group, a channel or an anonymous administrator says
    sender_chat: Chat | None = None
    via_bot: User | None = None
    message_thread_id: int | None = None
    is_topic_message: bool = False
    is_automatic_forward: bool = False
    text: str = ""
    caption: str = ""
    entities: tuple[Entity, ...] = ()
    caption_entities: tuple[Entity, ...] = ()
    # Set on what somebody else wrote somewhere else
    forward_origin: dict[str, Any] | None = None
    reply_to_message: "Message | None" = None
    quote: Quote | None = None
    media_group_id: str = ""
    photo: tuple[File, ...] = ()
    document: File | None = None
    audio: File | None = None
    voice: File | None = None
    video: File | None = None
    video_note: File | None = None
    animation: File | None = None
    sticker: Sticker | None = None
    location: Location | None = None
    contact: Contact | None = None
    migrate_to_chat_id: int | None = None

    @property
    def words(self) -> str:
        return self.text or self.caption

    @property
    def marked(self) -> tuple[Entity, ...]:
        """The entities of `words`."""
        return self.entities if self.text else self.caption_entities

    @property
    def thread(self) -> str | None:
        """The topic; a thread that is none is only a chain of replies."""
        return str(self.message_thread_id) if self.is_topic_message else None


class Callback(_Wire, frozen=True):
    """A button that was pressed."""

    id: str
    from_: User
    message: Message | None = None
    data: str = ""


class Update(_Wire, frozen=True):
    """Something that happened; of one kind each."""

    update_id: int
    message: Message | None = None
    callback_query: Callback | None = None


def read_updates(result: object) -> tuple[tuple[Update, ...], int | None]:
    """Return the readable updates, and the highest id; None for an empty result."""
    told = result if isinstance(result, list) else []
    ids = list(_ids(told))
    return tuple(_readable(told)), max(ids, default=None)


def _ids(told: list[Any]) -> Iterator[int]:
    for one in told:
        if isinstance(one, dict) and isinstance(one.get("update_id"), int):
            yield one["update_id"]


def _readable(told: list[Any]) -> Iterator[Update]:
    for one in told:
        try:
            yield msgspec.convert(one, Update)
        except msgspec.ValidationError as err:
            # Its words stay out of the log: they are a person's
            _log.warning("an update of Telegram is not as documented: %s", err)
