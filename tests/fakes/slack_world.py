"""A workspace of Slack as its documentation has it: one app, Anna, a private chat and a channel."""

import json
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]

ME, ANNA, BERT = "U0BARNACLE", "U0ANNA", "U0BERT"
DM, ROOM = "D0ANNA", "C0ROOM"
TEAM = "T0TEAM"
MAX_TEXT, MAX_UPDATED, MAX_BLOCKS, MAX_SECTION = 40_000, 4000, 50, 3000


class Refused(Exception):
    """A call that is not granted: `ok` is false."""

    def __init__(self, code: str, **more: Any) -> None:
        super().__init__(code)
        self.told = {"ok": False, "error": code, **more}


@dataclass
class World:
    """What is there, and what was not acknowledged yet.

    Args:
        members: the channels that the app is in.
    """

    members: set[str] = field(default_factory=lambda: {DM, ROOM})
    messages: dict[tuple[str, str], Json] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    shared: list[Json] = field(default_factory=list)
    reactions: list[tuple[str, str, str]] = field(default_factory=list)
    whispers: list[Json] = field(default_factory=list)
    waiting: dict[str, Json] = field(default_factory=dict)
    # Where envelopes go; the last is the newest connection
    lines: list[Callable[[Json], None]] = field(default_factory=list)
    files_url: str = ""
    _count: int = 0

    def stamp(self) -> str:
        self._count += 1
        return f"{int(time.time())}.{self._count:06d}"

    def post(self, channel: str, user: str, text: str, **more: Any) -> Json:
        """A person writes; the event as it is told to the app."""
        ts = self.stamp()
        kind = "im" if channel.startswith("D") else "channel"
        event = {"type": "message", "channel": channel, "user": user, "text": text, "ts": ts}
        event |= {"channel_type": kind, "client_msg_id": f"{ts}-of-the-client", **more}
        self.messages[channel, ts] = event
        self.tell("events_api", event_call(event))
        return event

    def edit(self, before: Json, text: str) -> Json:
        """A person edits a message; its new form. The app is told both."""
        edited = {"user": before["user"], "ts": self.stamp()}
        message = {**before, "text": text, "edited": edited}
        place = {"channel": before["channel"], "channel_type": before["channel_type"]}
        event = {"type": "message", "subtype": "message_changed", "hidden": True, **place}
        event |= {"ts": self.stamp(), "message": message, "previous_message": before}
        self.tell("events_api", event_call(event))
        return message

    def tell(self, kind: str, payload: Json) -> None:
        self._count += 1
        envelope = {"envelope_id": f"e{self._count:08d}", "type": kind, "payload": payload}
        envelope |= {"accepts_response_payload": kind != "events_api"}
        self.waiting[envelope["envelope_id"]] = envelope
        if self.lines:
            self.lines[-1](envelope)

    def press(self, message: Json, label: str, user: str = ANNA) -> None:
        [row] = [block for block in message["blocks"] if block["type"] == "actions"]
        [button] = [one for one in row["elements"] if one["text"]["text"] == label]
        pressed = {"type": "button", "action_id": button["action_id"], "value": button["value"]}
        known = {"ts": message["ts"]}
        if "thread_ts" in message:
            known["thread_ts"] = message["thread_ts"]
        place = {"channel": {"id": message["channel"], "name": "x"}, "message": known}
        who = {"user": {"id": user, "team_id": TEAM}}
        self.tell("interactive", {"type": "block_actions", **who, **place, "actions": [pressed]})

    def keep(self, content: bytes, name: str = "sheet.pdf") -> Json:
        known = f"F{len(self.files)}"
        self.files[known] = content
        url = f"{self.files_url}/{known}"
        told = {"id": known, "name": name, "mimetype": "application/pdf", "mode": "hosted"}
        return {**told, "size": len(content), "url_private": url, "url_private_download": url}

    def mine(self) -> list[Json]:
        return [one for one in self.messages.values() if one["user"] == ME]

    def call(self, method: str, body: Json) -> Json:
        """What a method answers.

        Raises:
            Refused: `ok` is false.
        """
        known = getattr(self, "_" + method.replace(".", "_"), None)
        if known is None:
            raise Refused("unknown_method")
        told = known(body) or {}
        return {"ok": True, **told}

    def _auth_test(self, _body: Json) -> Json:
        names = {"url": "https://lab.slack.com/", "team": "Lab", "user": "barnacle"}
        return {**names, "team_id": TEAM, "user_id": ME, "bot_id": "B0BARNACLE"}

    def _chat_postMessage(self, body: Json) -> Json:  # noqa: N802 - as Slack calls it
        self._check(body, MAX_TEXT)
        if metadata := body.get("metadata"):
            assert metadata["event_type"]
            assert isinstance(metadata["event_payload"], dict)
        ts = self.stamp()
        message = {**body, "user": ME, "ts": ts, "type": "message"}
        self.messages[body["channel"], ts] = message
        # The app hears itself, too
        self.tell("events_api", event_call({**message, "bot_id": "B0BARNACLE"}))
        return {"channel": body["channel"], "ts": ts, "message": message}

    def _conversations_history(self, body: Json) -> Json:
        return self._told_since(body, None)

    def _conversations_replies(self, body: Json) -> Json:
        return self._told_since(body, body["ts"])

    def _told_since(self, body: Json, thread: str | None) -> Json:
        """The newest first, of a thread the oldest; metadata only where it is asked for."""
        if body["channel"] not in self.members:
            raise Refused("not_in_channel")
        there = [
            one
            for one in self.messages.values()
            if one["channel"] == body["channel"]
            and thread in {one.get("thread_ts"), one["ts"] if thread else None}
            and float(one["ts"]) > float(body.get("oldest", 0))
        ]
        found = sorted(there, key=lambda one: float(one["ts"]), reverse=thread is None)
        hidden = set() if body.get("include_all_metadata") == "true" else {"metadata"}
        told = [{key: one[key] for key in one if key not in hidden} for one in found]
        return {"messages": told[: int(body.get("limit", 100))], "has_more": False}

    def _chat_update(self, body: Json) -> Json:
        self._check(body, MAX_UPDATED)
        message = self.messages.get((body["channel"], body["ts"]))
        if message is None:
            raise Refused("message_not_found")
        if message["user"] != ME:
            raise Refused("cant_update_message")
        message.pop("blocks", None)
        message |= body
        return {"channel": body["channel"], "ts": body["ts"], "text": body["text"]}

    def _chat_postEphemeral(self, body: Json) -> Json:  # noqa: N802 - as Slack calls it
        self._check(body, MAX_TEXT)
        self.whispers.append(body)
        return {"message_ts": self.stamp()}

    def _reactions_add(self, body: Json) -> None:
        known = (body["channel"], body["timestamp"], body["name"])
        if known[:2] not in self.messages:
            raise Refused("message_not_found")
        if known in self.reactions:
            raise Refused("already_reacted")
        self.reactions.append(known)

    def _reactions_remove(self, body: Json) -> None:
        known = (body["channel"], body["timestamp"], body["name"])
        if known not in self.reactions:
            raise Refused("no_reaction")
        self.reactions.remove(known)

    def _files_getUploadURLExternal(self, body: Json) -> Json:  # noqa: N802 - as Slack calls it
        if not body.get("filename") or int(body.get("length", 0)) <= 0:
            raise Refused("invalid_arguments")
        known = f"F{len(self.files)}"
        self.files[known] = b""
        return {"upload_url": f"{self.files_url}/upload/{known}", "file_id": known}

    def _files_completeUploadExternal(self, body: Json) -> Json:  # noqa: N802 - as Slack calls it
        self._check({"channel": body["channel_id"], "text": "a file"}, MAX_TEXT)
        if any(not self.files.get(file["id"]) for file in body["files"]):
            raise Refused("file_not_found")
        self.shared.append(body)
        return {"files": body["files"]}

    def _check(self, body: Json, most: int) -> None:
        if body["channel"] not in {DM, ROOM}:
            raise Refused("channel_not_found")
        if body["channel"] not in self.members:
            raise Refused("not_in_channel")
        blocks = body.get("blocks", [])
        if not body.get("text") and not blocks:
            raise Refused("no_text")
        if len(body.get("text", "")) > most:
            raise Refused("msg_too_long")
        sizes = [len(one["text"]["text"]) for one in blocks if one["type"] == "section"]
        if len(blocks) > MAX_BLOCKS or max(sizes, default=1) > MAX_SECTION:
            raise Refused("invalid_blocks")


def event_call(event: Json) -> Json:
    known = f"Ev{event['ts']}"
    told = {"token": "-", "team_id": TEAM, "api_app_id": "A0", "type": "event_callback"}
    return {**told, "event": event, "event_id": known, "event_time": int(time.time())}


def visible(text: str) -> str:
    """What a person sees of mrkdwn."""
    text = re.sub(r"<([^<>|]+)\|([^<>]+)>", r"\2", text)
    text = re.sub(r"(?<!\w)([*_~])(\S(?:.*?\S)?)\1(?!\w)", r"\2", text)
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def seen(message: Json) -> str:
    """What a person sees of a message: blocks stand instead of its text."""
    if "blocks" not in message:
        return visible(message["text"])
    return "".join(one["text"]["text"] for one in message["blocks"] if one["type"] == "section")


def dumped(told: Json) -> str:
    return json.dumps(told)
