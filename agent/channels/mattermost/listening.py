"""Posts on their way in: by the WebSocket, and those of the time without one by asking.

What stops the agent and what answers a question waits for no file.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import msgspec

from agent.channels.answers import OpenQuestions
from agent.channels.base import Deliver, Pulse
from agent.channels.incoming import Coming, IncomingFiles
from agent.channels.keeping import MAX_FILE_BYTES
from agent.channels.mattermost.api import MattermostApi, known_id, unknown_bot
from agent.channels.mattermost.events import (
    DIRECT,
    MAX_NAME_CHARS,
    Event,
    File,
    Groups,
    Me,
    Post,
    Posted,
    Posts,
    Room,
    calls,
    challenge,
    understood,
)
from agent.channels.mattermost.position import Position
from agent.channels.overtaking import Frame, Overtaking
from agent.channels.place import Place
from agent.channels.socket import Socket, opened
from agent.channels.urgency import is_urgent
from agent.clock import Clock
from agent.errors import ChannelRefused, ChannelUnavailable, MessageRefused, NetworkError
from agent.http import HttpAnswer
from agent.messages import Attachment, Inbound
from agent.printable import printable_line

_log = logging.getLogger(__name__)

# The server's word on who we are
ENTER_TIMEOUT_S = 20.0
# All files of a post; until then what comes after it waits, but what cannot
FETCH_TIMEOUT_S = 45.0
# As many as a post holds
MAX_FILES = 10
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class _Said:
    """A post, and where it stands."""

    post: Post
    kind: str
    sender_name: str = ""


@dataclass(frozen=True, slots=True)
class _Line:
    """A connection: who the bot is there, what comes, and who is told."""

    me: Me
    coming: Overtaking
    deliver: Deliver


class Listening:
    """Hears for one bot."""

    def __init__(
        self, api: MattermostApi, place: Place, groups: Groups, pulse: Pulse, clock: Clock
    ) -> None:
        self._api = api
        self._place = place
        self._groups = groups
        self._pulse = pulse
        self._clock = clock
        self._position = Position(place.folder / "position.json")
        self._files = IncomingFiles(place.transcriber, pulse.beat, FETCH_TIMEOUT_S)
        self.questions = OpenQuestions()
        self.me: Me | None = None

    async def run(self, deliver: Deliver) -> None:
        """Until cancelled.

        Raises:
            ChannelError: the server is not reached, or does not let this bot listen.
        """
        me = self.me = await who(self._api)
        account = f"{self._api.base_url} {me.id}"
        if not await self._position.load(account):
            latest_ms = max((room.last_post_at for room in await self._rooms()), default=0)
            await self._position.begin(account, latest_ms)
        async with opened(self._api.socket_url) as socket:
            await self._enter(socket)
            self._pulse.beat()

            async def hurry(message: Frame) -> None:
                await self._hurry(message, me, deliver)

            line = _Line(me, Overtaking(socket, self._pulse.beat, hurry), deliver)
            # What is written meanwhile waits in the socket
            await self._catch_up(line)
            _log.info("on Mattermost as %s", printable_line(me.username, MAX_NAME_CHARS))
            async with contextlib.aclosing(line.coming.messages()) as messages:
                async for message in messages:
                    if (said := _said(message)) is not None:
                        await self._take(said, line)

    async def _enter(self, socket: Socket) -> None:
        await socket.send(challenge(self._api.token.reveal()))
        try:
            async with asyncio.timeout(ENTER_TIMEOUT_S):
                while (event := _event(await socket.receive())).seq_reply != 1:
                    pass
        except TimeoutError as err:
            raise ChannelUnavailable("Mattermost does not say whether we may listen") from err
        if event.status != "OK":
            raise unknown_bot()

    async def _rooms(self) -> tuple[Room, ...]:
        return _read(await self._api.call("GET", "/users/me/channels"), tuple[Room, ...])

    async def _catch_up(self, line: _Line) -> None:
        since_ms = self._position.since_ms
        found: list[_Said] = []
        for room in await self._rooms():
            if room.last_post_at > since_ms:
                found += [_Said(post, room.kind) for post in await self._posts(room, since_ms)]
                self._pulse.beat()
        for said in sorted(found, key=lambda one: one.post.create_at):
            # Older ones were changed since then, or stand there as what a thread began with
            if said.post.create_at > since_ms:
                await self._take(said, line)

    async def _posts(self, room: Room, since_ms: int) -> list[Post]:
        try:
            # The server takes zero for no time at all
            path = f"/channels/{known_id(room.id)}/posts?since={max(since_ms, 1)}"
            return _posts_in(_read(await self._api.call("GET", path), Posts))
        except MessageRefused as err:
            # Closed to us meanwhile; it must not hold up the others
            _log.warning("what came in a channel of Mattermost is not heard: %s", err)
            return []

    async def _take(self, said: _Said, line: _Line) -> None:
        post = said.post
        if self._position.has_seen(post.id):
            return
        inbound = self._heard(said, line.me)
        if inbound is not None:
            if post.file_ids and not is_urgent(inbound.text):
                async with line.coming.watched():
                    inbound = await self._with_files(inbound, post)
            await line.deliver(inbound)
        self._position.note(post.id, post.create_at)
        if inbound is not None:
            # What is nobody's order is kept with the next one that is
            await self._position.save()
        self._pulse.beat()

    async def _hurry(self, message: Frame, me: Me, deliver: Deliver) -> None:
        said = _said(message)
        if said is None or self._position.has_seen(said.post.id):
            return
        inbound = self._heard(said, me)
        if inbound is not None:
            if not is_urgent(inbound.text):
                return
            await deliver(inbound)
        self._position.note_ahead(said.post.id)

    def _heard(self, said: _Said, me: Me) -> Inbound | None:
        """None of what is nobody's order, or has answered a question by now."""
        post, kind = said.post, said.kind
        if not post.is_of_a_person or post.user_id == me.id:
            return None
        inbound = understood(post, me, kind, said.sender_name, self._clock.wall_s())
        if self.questions.answer(inbound) or not self._is_for_us(post, kind, me):
            return None
        return inbound

    def _is_for_us(self, post: Post, kind: str, me: Me) -> bool:
        if kind == DIRECT or self._groups == "all":
            return True
        return self._groups == "mention" and calls(post, me.username)

    async def _with_files(self, inbound: Inbound, post: Post) -> Inbound:
        if not post.file_ids:
            return inbound
        if not self._place.knows(inbound):
            # A stranger fills no disk
            return replace(inbound, text=f"{inbound.text}\n[a file that was not fetched]".strip())
        try:
            files = await self._files_of(post)
        except MessageRefused as err:
            line = f"[a file that could not be fetched: {err}]"
            return replace(inbound, text=f"{inbound.text}\n{line}".strip())
        coming = [Coming("a file", partial(self._fetch, one), _is_speech) for one in files]
        return await self._files.added_to(inbound, coming[:MAX_FILES])

    async def _files_of(self, post: Post) -> tuple[File, ...]:
        """Older servers do not tell them with the post."""
        if post.metadata is not None and post.metadata.files is not None:
            return post.metadata.files
        path = f"/posts/{known_id(post.id)}/files/info"
        return _read(await self._api.call("GET", path), tuple[File, ...])

    async def _fetch(self, file: File) -> Attachment | str:
        if file.size > MAX_FILE_BYTES:
            return f"it is larger than {MAX_FILE_BYTES // 1024 // 1024} MB"
        kind = printable_line(file.mime_type, MAX_NAME_CHARS) or "application/octet-stream"
        async with self._api.download(file.id) as answer:
            return await self._place.keeping.keep(self._pieces(answer), kind, file.name)

    async def _pieces(self, answer: HttpAnswer) -> AsyncIterator[bytes]:
        try:
            while piece := await answer.read():
                self._pulse.beat()
                yield piece
        except NetworkError as err:
            raise ChannelUnavailable(str(err)) from err


async def who(api: MattermostApi) -> Me:
    """Return the token's account.

    Raises:
        ChannelError: nobody's, or that is not to be had now.
    """
    try:
        return _read(await api.call("GET", "/users/me"), Me)
    except MessageRefused as err:
        raise ChannelRefused(
            f"the bot may not ask who it is; look at channels.mattermost: {err}"
        ) from err


def _event(message: str | bytes) -> Event:
    """Empty where it is none."""
    try:
        return msgspec.json.decode(message, type=Event)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return Event()


def _said(message: Frame) -> _Said | None:
    """None where it is no post."""
    event = _event(message)
    if event.event != "posted":
        return None
    try:
        told = msgspec.json.decode(event.data, type=Posted)
        post = msgspec.json.decode(told.post, type=Post)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as err:
        # Its words stay out of the log: they are a person's
        _log.warning("a post of Mattermost is not as documented: %s", err)
        return None
    return _Said(post, told.channel_type, told.sender_name)


def _posts_in(told: Posts) -> list[Post]:
    found = []
    for raw in told.posts.values():
        try:
            found.append(msgspec.convert(raw, Post))
        except msgspec.ValidationError as err:
            _log.warning("a post of Mattermost is not as documented: %s", err)
    return found


def _is_speech(kept: Attachment) -> bool:
    return kept.media_type.startswith("audio/")


def _read(told: Any, kind: type[_T]) -> _T:
    try:
        return msgspec.convert(told, kind)
    except msgspec.ValidationError as err:
        raise ChannelUnavailable(
            "what answers is no Mattermost server: look at channels.mattermost.base_url"
        ) from err
