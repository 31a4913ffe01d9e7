"""The methods of Discord's REST API that are used, as its documentation describes them."""

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

from tests.fakes.discord_world import APPLICATION, BOT, Json, World

MAX_CHARS = 2000
_FORUM = 15
_COMMAND = re.compile(r"[-_'a-z0-9]{1,32}")


class Refused(Exception):
    """An answer that is no success, with Discord's own code."""

    def __init__(self, status: int, code: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.told = {"message": message, "code": code}


class Rest:
    """Answers calls; `gateway_url` is where the other door is."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.gateway_url = ""
        # How many sessions may still be begun today
        self.starts_left = 1000
        # Chats where the bot may not put signs
        self.without_signs: set[str] = set()
        self._routes: list[tuple[str, re.Pattern[str], Callable[..., Any]]] = [
            (method, re.compile(pattern), act)
            for method, pattern, act in (
                ("GET", "/gateway/bot", self._gateway),
                ("GET", "/users/@me", lambda _body: BOT),
                ("GET", "/oauth2/applications/@me", self._application),
                ("GET", "/applications/@me", self._application),
                ("GET", "/channels/([0-9]+)", lambda _body, channel: self._channel(channel)),
                ("POST", "/channels/([0-9]+)/messages", self._create),
                ("PATCH", "/channels/([0-9]+)/messages/([0-9]+)", self._edit),
                ("POST", "/channels/([0-9]+)/typing", self._type),
                ("PUT", "/channels/([0-9]+)/messages/([0-9]+)/reactions/([^/]+)/@me", self._sign),
                (
                    "DELETE",
                    "/channels/([0-9]+)/messages/([0-9]+)/reactions/([^/]+)/@me",
                    self._unsign,
                ),
                ("PUT", "/applications/([0-9]+)/commands", self._commands),
                ("POST", "/interactions/([0-9]+)/([^/]+)/callback", self._callback),
            )
        ]

    def call(self, method: str, path: str, body: Any, files: list[tuple[str, bytes]]) -> Any:
        """What is told; None for an answer without a body."""
        for known, pattern, act in self._routes:
            found = pattern.fullmatch(path)
            if known == method and found is not None:
                words = [unquote(word) for word in found.groups()]
                return act(body, *words, files) if act == self._create else act(body, *words)
        raise Refused(404, 0, "404: Not Found")

    def _gateway(self, _body: Any) -> Json:
        limit = {"total": 1000, "remaining": self.starts_left, "reset_after": 14_400_000}
        start = {**limit, "max_concurrency": 1}
        return {"url": self.gateway_url, "shards": 1, "session_start_limit": start}

    def _application(self, _body: Any) -> Json:
        return {
            "id": APPLICATION,
            "name": "barnacle",
            "icon": None,
            "description": "",
            "bot_public": False,
            "bot_require_code_grant": False,
            "verify_key": "00",
            "owner": BOT,
            "team": None,
            "flags": 1 << 19 if self._world.allows_content else 0,
            "interactions_endpoint_url": None,
        }

    def _channel(self, channel: str) -> Json:
        if channel not in self._world.channels:
            raise Refused(404, 10003, "Unknown Channel")
        return self._world.channels[channel]

    def _message(self, channel: str, number: str) -> Json:
        self._channel(channel)
        found = self._world.messages.get(number)
        if found is None or found["channel_id"] != channel:
            raise Refused(404, 10008, "Unknown Message")
        return found

    def _create(self, body: Any, channel: str, files: list[tuple[str, bytes]]) -> Json:
        self._open(channel)
        content = body.get("content") or ""
        _check(content, body.get("components") or [])
        if not content and not files:
            raise Refused(400, 50006, "Cannot send an empty message")
        nonce = str(body.get("nonce") or "")
        if len(nonce) > 25:
            raise Refused(400, 50035, "Invalid Form Body")
        if body.get("enforce_nonce") and nonce in self._world.nonces:
            return self._world.messages[self._world.nonces[nonce]]
        kept = [self._world.keep(content, name) for name, content in files]
        more = {"components": body.get("components") or [], "flags": body.get("flags", 0)}
        more |= {"attachments": kept, "asked": body} | self._referenced(channel, body)
        message = self._world.post(channel, BOT, content, **more)
        if nonce:
            self._world.nonces[nonce] = message["id"]
        return message

    def _referenced(self, channel: str, body: Any) -> Json:
        reference = body.get("message_reference")
        if reference is None:
            return {}
        found = self._world.messages.get(str(reference["message_id"]))
        if found is not None and found["channel_id"] == channel:
            return {"referenced_message": found, "message_reference": reference}
        if reference.get("fail_if_not_exists", True):
            raise Refused(400, 50035, "Invalid Form Body")
        return {}

    def _open(self, channel: str) -> None:
        """Take a message there: a thread that is archived and not locked is opened by it."""
        place = self._channel(channel)
        if place["type"] == _FORUM:
            raise Refused(400, 40058, "Cannot send a message in a forum channel")
        if "thread_metadata" in place and not place["thread_metadata"]["locked"]:
            place["thread_metadata"]["archived"] = False
        self._check_open(channel)

    def _check_open(self, channel: str) -> None:
        state = self._channel(channel).get("thread_metadata", {})
        if state.get("archived"):
            raise Refused(400, 50083, "Thread is archived")
        if state.get("locked"):
            raise Refused(400, 160005, "Thread is locked")

    def _edit(self, body: Any, channel: str, number: str) -> Json:
        message = self._message(channel, number)
        self._check_open(channel)
        if message["author"]["id"] != BOT["id"]:
            raise Refused(403, 50005, "Cannot edit a message authored by another user")
        _check(body.get("content") or "", body.get("components") or [])
        message |= {name: body[name] for name in ("content", "components") if name in body}
        message["edited_timestamp"] = "2026-11-20T10:00:01.000000+00:00"
        return message

    def _type(self, _body: Any, channel: str) -> None:
        self._channel(channel)
        self._world.typings.append(channel)

    def _sign(self, _body: Any, channel: str, number: str, sign: str) -> None:
        self._message(channel, number)
        if channel in self.without_signs:
            raise Refused(403, 50013, "Missing Permissions")
        self._world.reacted += 1
        self._world.reactions.add((number, sign))

    def _unsign(self, _body: Any, channel: str, number: str, sign: str) -> None:
        self._message(channel, number)
        if (number, sign) not in self._world.reactions:
            raise Refused(404, 10014, "Unknown Emoji")
        self._world.reactions.remove((number, sign))

    def _commands(self, body: Any, application: str) -> list[Json]:
        if application != APPLICATION:
            raise Refused(403, 20012, "You are not authorized to perform this action")
        for one in body:
            if not _COMMAND.fullmatch(one["name"]) or not 1 <= len(one["description"]) <= 100:
                raise Refused(400, 50035, "Invalid Form Body")
        self._world.commands = list(body)
        kept = {"application_id": APPLICATION, "version": "1", "default_member_permissions": None}
        return [{**one, **kept, "id": self._world.snowflake()} for one in body]

    def _callback(self, body: Any, number: str, token: str) -> Json:
        known, answered = self._world.interactions.get(number, ("", None))
        if known != token:
            raise Refused(404, 10062, "Unknown interaction")
        if answered is not None:
            raise Refused(400, 40060, "Interaction has already been acknowledged.")
        self._world.interactions[number] = (token, body)
        return {"interaction": {"id": number, "type": 3, "response_message_ephemeral": False}}


def _check(content: str, components: list[Json]) -> None:
    ids = [one["custom_id"] for row in components for one in row["components"]]
    is_bad = any(not 1 <= len(one) <= 100 for one in ids) or len(set(ids)) < len(ids)
    if len(content) > MAX_CHARS or is_bad:
        raise Refused(400, 50035, "Invalid Form Body")
