"""Conversion of Slack messages and commands.

Who sent it is the platform's id, never a name. What a bot, an app or the agent itself says is not
a person's at all. Slack's spelling of names, links and signs is taken back to what was written.
"""

import html
import re
from typing import Literal

import msgspec
from msgspec.structs import replace

from agent.channels.slack.events import SlackCommand, SlackEvent
from agent.channels.urgency import is_for_everybody, is_urgent
from agent.messages import Inbound, Provenance
from agent.text.printable import printable_text

NAME = "slack"
MAX_TEXT_CHARS = 12_000
MAX_SHARED = 10
FORWARDED = "[a forwarded message]"
# In private, with one person; everything else is read by others
PRIVATE = "im"
# Kinds of messages that a person has written
_WRITTEN = frozenset({None, "file_share", "thread_broadcast", "me_message"})
_SLACKBOT = "USLACKBOT"
_ID = re.compile(r"[A-Z0-9]{2,40}")
_TS = re.compile(r"[0-9]{1,12}\.[0-9]{6}")
_SPELLED = re.compile(r"<([^<>\n]{1,4000})>")

Groups = Literal["mention", "all", "off"]


def is_for_us(event: SlackEvent, me: str, groups: Groups) -> bool:
    """Return true if a person writes to the app."""
    if event.type not in {"message", "app_mention"} or event.subtype not in _WRITTEN:
        return False
    if event.bot_id or event.user in {me, _SLACKBOT} or not _is_whole(event):
        return False
    if event.channel_type == PRIVATE:
        return True
    calls = event.type == "app_mention" or calls_us(event, me)
    return groups == "all" or (groups == "mention" and calls)


def calls_us(event: SlackEvent, me: str) -> bool:
    """Return true for a mention, an answer to the app, or what stops it."""
    text = event.text or ""
    return f"<@{me}" in text or event.parent_user_id == me or is_for_everybody(written(text, me))


def understood(event: SlackEvent, me: str, now_s: float) -> Inbound:
    """Convert the message, without its files."""
    channel, thread = str(event.channel), event.thread_ts
    words, passed_on = written(event.text or "", me), _passed_on(event)
    is_below = thread is not None and thread != event.ts and is_ts(thread)
    return Inbound(
        message_id=f"{channel}:{event.ts}",
        channel=NAME,
        sender=str(event.user),
        reply_target=channel,
        text=words or (FORWARDED if passed_on else ""),
        received_at_s=now_s,
        provenance=Provenance.WEB,
        thread=thread if is_below else None,
        is_group=event.channel_type != PRIVATE,
        sent_at_s=float(event.ts),
        quoted=passed_on,
        # With words of the sender's own only what is quoted is somebody else's
        is_forwarded=bool(passed_on) and not words,
    )


def stop_by_edit(event: SlackEvent, me: str, groups: Groups, now_s: float) -> Inbound | None:
    """Convert a message that its writer has edited into a stop; nothing comes of other edits."""
    if event.subtype != "message_changed":
        return None
    now, before = _form(event.message), _form(event.previous_message)
    if now is None or now.edited is None:
        return None
    # A preview changes a message, too
    is_new = before is None or before.text != now.text
    if not is_new or not is_ts(now.edited.ts) or not is_urgent(written(now.text or "", me)):
        return None
    edited = replace(now, channel=event.channel, channel_type=event.channel_type)
    if not is_for_us(edited, me, groups):
        return None
    inbound, at = understood(edited, me, now_s), now.edited.ts
    return replace(inbound, message_id=f"{inbound.message_id}:edited-{at}", sent_at_s=float(at))


def _form(told: msgspec.Raw) -> SlackEvent | None:
    """Return a form of a changed message; None if it is not there, or not as documented."""
    try:
        return msgspec.json.decode(told, type=SlackEvent | None)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _passed_on(event: SlackEvent) -> str:
    """Return the messages shared with it; the sender did not write them."""
    shared = [one for one in event.attachments or () if one.is_share is True][:MAX_SHARED]
    told = [one.text or one.fallback for one in shared]
    return "\n".join(written(text, "") for text in told if isinstance(text, str))[:MAX_TEXT_CHARS]


def commanded(told: SlackCommand, number: str, now_s: float) -> Inbound | None:
    """Return the text after a slash command of the app, as if it had been typed."""
    if not (_ID.fullmatch(told.channel_id) and _ID.fullmatch(told.user_id)):
        return None
    typed = written(told.text, "").lstrip("/") or "help"
    return Inbound(
        message_id=f"command:{number}",
        channel=NAME,
        sender=told.user_id,
        reply_target=told.channel_id,
        text=f"/{typed}",
        received_at_s=now_s,
        provenance=Provenance.WEB,
        # Where it was typed: private ones with the app begin so
        is_group=not told.channel_id.startswith("D"),
    )


def place_of(message_id: str) -> tuple[str, str] | None:
    """Return the channel and message of an id of ours; None for other ids."""
    channel, _, ts = message_id.partition(":")
    return (channel, ts) if _ID.fullmatch(channel) and is_ts(ts) else None


def is_ts(text: str) -> bool:
    """Return true if the text is a message number of Slack."""
    return _TS.fullmatch(text) is not None


def written(text: str, me: str) -> str:
    """Return the person's text without Slack's markup and without our name."""
    if me:
        text = re.sub(rf"^\s*<@{re.escape(me)}(\|[^<>]*)?>[\s,:]*", "", text)
    return printable_text(html_free(_SPELLED.sub(_said, text)), MAX_TEXT_CHARS).strip()


def html_free(text: str) -> str:
    """Decode Slack's three entities, and only these, once."""
    return re.sub("&(amp|lt|gt);", lambda found: html.unescape(found[0]), text)


def _said(found: re.Match[str]) -> str:
    target, _, label = found[1].partition("|")
    kind, rest = target[:1], target[1:]
    if kind in "@#":
        return kind + (label or rest).lstrip("@#")
    if kind == "!":
        return label or f"@{rest.partition('^')[0]}"
    address = target.removeprefix("mailto:")
    return target if not label or label in {target, address} else f"{label} ({target})"


def _is_whole(event: SlackEvent) -> bool:
    return bool(
        isinstance(event.channel, str)
        and isinstance(event.user, str)
        and _ID.fullmatch(event.channel)
        and _ID.fullmatch(event.user)
        and is_ts(event.ts)
    )
