"""Discord as it is behind its two doors: people, places, messages, and sessions of the gateway.

Written from the documentation; `tests/oracles` lets a library of others live in it.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]

EPOCH_MS = 1_420_070_400_000
GUILD_MESSAGES, DIRECT_MESSAGES, CONTENT = 1 << 9, 1 << 12, 1 << 15
GUILD = "100000000000000001"
# A text channel of the guild, a thread in it, and Anna's private chat with the bot
ROOM, THREAD, DM = "100000000000000010", "100000000000000011", "100000000000000012"
APPLICATION = "100000000000000099"


def _user(number: str, name: str, **more: Any) -> Json:
    told = {"id": number, "username": name, "global_name": None, "discriminator": "0"}
    return {**told, "avatar": None, **more}


BOT = _user("100000000000000099", "barnacle", bot=True)
ANNA = _user("100000000000000101", "anna", global_name="Anna")
BEN = _user("100000000000000102", "ben")
OTHER_BOT = _user("100000000000000103", "parrot", bot=True)


@dataclass
class Session:
    """One bot's view: what was dispatched to it, and what it wants to hear of."""

    session_id: str
    intents: int
    events: list[Json] = field(default_factory=list)
    # Where it is connected now
    send: Callable[[Json], None] | None = None

    def dispatch(self, name: str, told: Json) -> None:
        event = {"op": 0, "t": name, "s": len(self.events) + 1, "d": told}
        self.events.append(event)
        if self.send is not None:
            self.send(event)


@dataclass
class World:
    """Everything that happens goes through here."""

    # Whether the page Bot allows the bot to read every message
    allows_content: bool = True
    channels: dict[str, Json] = field(default_factory=dict)
    messages: dict[str, Json] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    files_url: str = ""
    # What a bot has put on messages and not taken away, and how often it put something
    reactions: set[tuple[str, str]] = field(default_factory=set)
    reacted: int = 0
    typings: list[str] = field(default_factory=list)
    commands: list[Json] = field(default_factory=list)
    # By id: its token, and how the bot has answered
    interactions: dict[str, tuple[str, Json | None]] = field(default_factory=dict)
    sessions: dict[str, Session] = field(default_factory=dict)
    # Numbers of the bot's own, and the messages that have them
    nonces: dict[str, str] = field(default_factory=dict)
    _count: int = 0

    def __post_init__(self) -> None:
        guild = {"guild_id": GUILD, "position": 0, "permission_overwrites": [], "nsfw": False}
        self.channels[ROOM] = {"id": ROOM, "type": 0, "name": "lab", "parent_id": None, **guild}
        self.channels[THREAD] = {
            "id": THREAD,
            "type": 11,
            "name": "a topic",
            "parent_id": ROOM,
            "guild_id": GUILD,
            "owner_id": ANNA["id"],
            "message_count": 1,
            "member_count": 2,
            "thread_metadata": {
                "archived": False,
                "auto_archive_duration": 1440,
                "archive_timestamp": "2026-11-20T10:00:00+00:00",
                "locked": False,
            },
        }
        self.channels[DM] = {"id": DM, "type": 1, "recipients": [ANNA], "last_message_id": None}

    def snowflake(self) -> str:
        """A number that is later than every one before."""
        self._count += 1
        return str(((time.time_ns() // 1_000_000 - EPOCH_MS) << 22) + self._count)

    def post(self, channel: str, author: Json, content: str, **more: Any) -> Json:
        """A message stands in a channel; who listens is told."""
        number = self.snowflake()
        place = self.channels[channel]
        guild = {"guild_id": GUILD, "member": _member()} if "guild_id" in place else {}
        message = {
            "id": number,
            "channel_id": channel,
            "author": author,
            "content": content,
            "type": 19 if "referenced_message" in more else 0,
            "flags": 0,
            "tts": False,
            "timestamp": "2026-11-20T10:00:00.000000+00:00",
            "edited_timestamp": None,
            "mention_everyone": False,
            "mentions": _mentioned(content),
            "mention_roles": [],
            "attachments": [],
            "embeds": [],
            "components": [],
            "pinned": False,
            **more,
        }
        self.messages[number] = message
        self.dispatch("MESSAGE_CREATE", {**message, **guild})
        return message

    def edit(self, message: Json, content: str) -> None:
        """Whoever wrote it edits it; who listens is told."""
        guild = {"guild_id": GUILD} if "guild_id" in self.channels[message["channel_id"]] else {}
        edited = f"2026-11-20T10:00:{len(self.messages):02d}.000000+00:00"
        message |= {"content": content, "edited_timestamp": edited}
        self.dispatch("MESSAGE_UPDATE", {**message, **guild})

    def answer(self, to: Json, author: Json, content: str) -> Json:
        """A message that answers another; whoever wrote that is mentioned by it."""
        reference = {"type": 0, "message_id": to["id"], "channel_id": to["channel_id"]}
        more = {"message_reference": reference, "referenced_message": to}
        return self.post(to["channel_id"], author, content, **more)

    def keep(self, content: bytes, name: str = "data.pdf", kind: str = "application/pdf") -> Json:
        """A file of a message."""
        number = self.snowflake()
        self.files[number] = content
        url = f"{self.files_url}/{number}/{name}"
        told = {"id": number, "filename": name, "size": len(content), "content_type": kind}
        return {**told, "url": url, "proxy_url": url}

    def press(self, message: Json, label: str, person: Json = ANNA) -> str:
        """Somebody presses a button."""
        row = message["components"][0]["components"]
        pressed = next(one for one in row if one["label"] == label)
        data = {"component_type": 2, "custom_id": pressed["custom_id"], "id": 2}
        return self.interact(3, message["channel_id"], person, data, message=message)

    def choose(self, name: str, words: str = "", *, channel: str = DM, person: Json = ANNA) -> str:
        """Somebody chooses a command."""
        options = [{"name": "words", "type": 3, "value": words}] if words else []
        data = {"id": self.snowflake(), "name": name, "type": 1, "options": options}
        return self.interact(2, channel, person, data)

    def interact(self, kind: int, channel: str, person: Json, data: Json, **more: Any) -> str:
        number, token = self.snowflake(), f"interaction-{self._count}"
        self.interactions[number] = (token, None)
        place = self.channels[channel]
        by = (
            {"guild_id": GUILD, "member": {**_member(), "user": person}}
            if "guild_id" in place
            else {"user": person}
        )
        told = {
            "id": number,
            "token": token,
            "type": kind,
            "version": 1,
            "data": data,
            "application_id": APPLICATION,
            "channel_id": channel,
            "channel": place,
            "locale": "en-GB",
            "entitlements": [],
            "authorizing_integration_owners": {},
            "attachment_size_limit": 10485760,
            "app_permissions": "0",
            "context": 1,
        }
        self.dispatch("INTERACTION_CREATE", {**told, **by, **more})
        return number

    def dispatch(self, name: str, told: Json) -> None:
        for session in self.sessions.values():
            if (seen := _as_seen(session.intents, name, told)) is not None:
                session.dispatch(name, seen)

    def begin(self, intents: int) -> Session:
        session = Session(f"session-{self.snowflake()}", intents)
        self.sessions[session.session_id] = session
        return session

    def guild(self) -> Json:
        everyone = {"id": GUILD, "name": "@everyone", "permissions": "8", "position": 0}
        role = {**everyone, "color": 0, "hoist": False, "managed": False, "mentionable": False}
        return {
            "id": GUILD,
            "name": "the lab's",
            "owner_id": ANNA["id"],
            "member_count": 3,
            "roles": [role],
            "channels": [self.channels[ROOM]],
            "emojis": [],
            "features": [],
            "threads": [self.channels[THREAD]],
            "members": [{**_member(), "user": BOT}],
            "presences": [],
            "voice_states": [],
            "stickers": [],
            "large": False,
            "verification_level": 0,
            "default_message_notifications": 0,
            "mfa_level": 0,
            "explicit_content_filter": 0,
            "afk_timeout": 300,
            "premium_tier": 0,
            "system_channel_flags": 0,
            "preferred_locale": "en-GB",
            "nsfw_level": 0,
            "stage_instances": [],
            "guild_scheduled_events": [],
            "unavailable": False,
        }


def _member() -> Json:
    joined = "2026-11-01T10:00:00.000000+00:00"
    return {"roles": [], "joined_at": joined, "deaf": False, "mute": False, "flags": 0}


def _mentioned(content: str) -> list[Json]:
    everybody = (BOT, ANNA, BEN, OTHER_BOT)
    return [one for one in everybody if f"<@{one['id']}>" in content]


def _as_seen(intents: int, name: str, told: Json) -> Json | None:
    """What a session with these intents is told of it."""
    if name not in {"MESSAGE_CREATE", "MESSAGE_UPDATE"}:
        return told
    is_private = "guild_id" not in told
    if not intents & (DIRECT_MESSAGES if is_private else GUILD_MESSAGES):
        return None
    concerns = any(one["id"] == BOT["id"] for one in (*told["mentions"], told["author"]))
    if is_private or concerns or intents & CONTENT:
        return told
    return {**told, "content": "", "attachments": [], "embeds": [], "components": []}
