"""Events of Mattermost as typed values, and its posts as our messages.

What is not as documented is left out; it must not hold up the others.
"""

import json
import re
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from agent.messages import Inbound, Provenance
from agent.text.printable import printable_line, printable_text

NAME = "mattermost"
# A person may write 16383; servers that were set up otherwise take more
MAX_TEXT_CHARS = 32_000
MAX_NAME_CHARS = 64
# A private chat of two
DIRECT = "D"

Groups = Literal["mention", "all", "off"]


class MattermostFile(msgspec.Struct, frozen=True):
    """File of a post."""

    id: str
    name: str = ""
    size: int = 0
    mime_type: str = ""


class MattermostMetadata(msgspec.Struct, frozen=True):
    """Additions of the server to a post."""

    files: tuple[MattermostFile, ...] | None = None


class MattermostPost(msgspec.Struct, frozen=True, rename={"kind": "type"}):
    """Post; written by a person if `kind` is empty and `props` say nothing else."""

    id: str
    channel_id: str
    user_id: str
    create_at: int
    edit_at: int = 0
    delete_at: int = 0
    root_id: str = ""
    message: str = ""
    kind: str = ""
    props: dict[str, Any] | None = None
    file_ids: tuple[str, ...] | None = None
    metadata: MattermostMetadata | None = None

    def as_edited(self) -> "MattermostPost":
        """Return an edit as a post of its own."""
        return replace(self, id=f"{self.id}:{self.edit_at}", create_at=self.edit_at)

    @property
    def is_of_a_person(self) -> bool:
        told = self.props or {}
        is_machine = any(told.get(key) for key in ("from_bot", "from_webhook", "from_plugin"))
        return not (self.kind or self.delete_at or is_machine)


class MattermostSelf(msgspec.Struct, frozen=True):
    """Account of the token."""

    id: str
    username: str


class MattermostRoom(msgspec.Struct, frozen=True, rename={"kind": "type"}):
    """A channel that the bot is in."""

    id: str
    kind: str = ""
    last_post_at: int = 0


class MattermostPosts(msgspec.Struct, frozen=True):
    """Several posts, the newest first."""

    order: tuple[str, ...] = ()
    posts: dict[str, Any] = msgspec.field(default_factory=dict)


class MattermostPosted(msgspec.Struct, frozen=True):
    """Announcement of a new post; `post` is JSON in itself."""

    post: str = ""
    channel_type: str = ""
    sender_name: str = ""


class MattermostEvent(msgspec.Struct, frozen=True):
    """Event of the WebSocket, or the answer to a request there."""

    event: str = ""
    data: msgspec.Raw = msgspec.Raw(b"{}")
    status: str = ""
    seq_reply: int = 0


def challenge(token: str) -> str:
    """Return the login of the WebSocket."""
    told = {"seq": 1, "action": "authentication_challenge", "data": {"token": token}}
    return json.dumps(told)


def calls(post: MattermostPost, username: str) -> bool:
    """Return true if the post has our name in it, as the platform marks names."""
    return _calling(username).search(post.message) is not None


def understood(
    post: MattermostPost, me: MattermostSelf, kind: str, sender_name: str, now_s: float
) -> Inbound:
    """Convert the message, without its files.

    Args:
        kind: of the channel that it stands in.
    """
    called = re.compile(rf"\s*{_calling(me.username).pattern}[\s,:]*", re.IGNORECASE)
    begins = called.match(post.message)
    told = post.message[begins.end() :] if begins is not None else post.message
    text = printable_text(told, MAX_TEXT_CHARS).strip()
    return Inbound(
        message_id=post.id,
        channel=NAME,
        sender=post.user_id,
        reply_target=post.channel_id,
        text=text if text or post.file_ids else "[something that cannot be read here]",
        received_at_s=now_s,
        provenance=Provenance.WEB,
        thread=post.root_id or None,
        is_group=kind != DIRECT,
        sender_name=printable_line(sender_name, MAX_NAME_CHARS).strip().removeprefix("@"),
        sent_at_s=post.create_at / 1000 if post.create_at > 0 else None,
    )


def _calling(username: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w@])@{re.escape(username)}(?![\w-]|\.\w)", re.IGNORECASE)
