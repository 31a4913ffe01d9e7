"""Receiver of posts: by the WebSocket, and missed ones by a request.

What stops the agent and what answers a question waits for no file.
"""

import asyncio
import contextlib
import logging
from functools import partial
from typing import Any, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from agent.channels.approvals import OpenApprovals
from agent.channels.base import Deliver, Pulse
from agent.channels.context import ChannelContext
from agent.channels.file_stream import downloaded
from agent.channels.incoming_files import IncomingFile, IncomingFiles, unfetched
from agent.channels.mattermost.client import MattermostApi, known_id, unknown_bot
from agent.channels.mattermost.cursor import MattermostCursor
from agent.channels.mattermost.events import (
    DIRECT,
    MAX_NAME_CHARS,
    Groups,
    MattermostEvent,
    MattermostFile,
    MattermostPost,
    MattermostPosted,
    MattermostPosts,
    MattermostRoom,
    MattermostSelf,
    calls,
    challenge,
    understood,
)
from agent.channels.received_files import too_large
from agent.channels.rest import AnswerTooLong
from agent.channels.urgency import is_for_everybody, is_urgent
from agent.channels.urgent_first import Frame, UrgentFirst
from agent.channels.websocket import WebSocket, opened
from agent.errors import ChannelRefused, ChannelUnavailable, MessageRefused
from agent.messages import Attachment, Inbound
from agent.system.clock import Clock
from agent.text.printable import printable_line

_log = logging.getLogger(__name__)

# The server's word on who we are
ENTER_TIMEOUT_S = 20.0
# All files of a post; until then what comes after it waits, but what cannot
FETCH_TIMEOUT_S = 45.0
# As many as a post holds
MAX_FILES = 10
# As many posts of a channel as the server tells at once, where they are short
MAX_MISSED = 1000
MAX_PAGE = 100
_T = TypeVar("_T")


class _Said(Struct, frozen=True):
    """Post with its place, which is not told with an edit."""

    post: MattermostPost
    kind: str
    sender_name: str = ""
    is_edit: bool = False


class _Line(Struct, frozen=True):
    """Connection: the bot's account, the events, and the receiver."""

    me: MattermostSelf
    coming: UrgentFirst[Frame]
    deliver: Deliver


class MattermostReceiver:
    """Receiver of one bot."""

    def __init__(
        self, api: MattermostApi, place: ChannelContext, groups: Groups, pulse: Pulse, clock: Clock
    ) -> None:
        self._api = api
        self._place = place
        self._groups = groups
        self._pulse = pulse
        self._clock = clock
        self._position = MattermostCursor(place.folder / "position.json")
        self._files = IncomingFiles(place.recogniser, pulse.beat, FETCH_TIMEOUT_S)
        self.questions = OpenApprovals()
        self.me: MattermostSelf | None = None

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

            line = _Line(me, UrgentFirst(socket, self._pulse.beat, hurry), deliver)
            # What is written meanwhile waits in the socket
            await self._catch_up(line)
            _log.info(
                "mattermost: listening (account=%s)", printable_line(me.username, MAX_NAME_CHARS)
            )
            async with contextlib.aclosing(line.coming.messages()) as messages:
                async for message in messages:
                    if (said := _said(message)) is not None:
                        await self._take(said, line)

    async def _enter(self, socket: WebSocket) -> None:
        await socket.send(challenge(self._api.token.reveal()))
        try:
            async with asyncio.timeout(ENTER_TIMEOUT_S):
                while (event := _event(await socket.receive())).seq_reply != 1:
                    pass
        except TimeoutError as err:
            raise ChannelUnavailable(
                "Mattermost did not confirm the login of the WebSocket"
            ) from err
        if event.status != "OK":
            raise unknown_bot()

    async def _rooms(self) -> tuple[MattermostRoom, ...]:
        return _read(await self._api.call("GET", "/users/me/channels"), tuple[MattermostRoom, ...])

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

    async def _posts(self, room: MattermostRoom, since_ms: int) -> list[MattermostPost]:
        try:
            path = f"/channels/{known_id(room.id)}/posts"
            try:
                # The server takes zero for no time at all
                told = await self._listed(f"{path}?since={max(since_ms, 1)}")
            except AnswerTooLong:
                return await self._in_pages(path, since_ms)
            return _posts_in(told)
        except MessageRefused as err:
            # Closed to us meanwhile; it must not hold up the others
            _log.warning("mattermost: cannot read the missed posts of a channel (reason=%s)", err)
            return []

    async def _in_pages(self, path: str, since_ms: int) -> list[MattermostPost]:
        """Return the posts of a channel that are too long to be told at once."""
        found: list[MattermostPost] = []
        left, page, before = MAX_MISSED, MAX_PAGE, ""
        while left > 0:
            try:
                told = await self._listed(f"{path}?per_page={page}{before}")
            except AnswerTooLong:
                if page == 1:
                    raise
                page //= 2
                continue
            self._pulse.beat()
            new = [one for one in _posts_in(told) if one.create_at > since_ms]
            found += new
            if not (new and told.order):
                return found
            before = f"&before={known_id(told.order[-1])}"
            left -= page
        _log.warning("mattermost: too many posts in a channel to fetch; the oldest are lost")
        return found

    async def _listed(self, path: str) -> MattermostPosts:
        return _read(await self._api.call("GET", path), MattermostPosts)

    async def _take(self, said: _Said, line: _Line) -> None:
        post = said.post
        if self._position.has_seen(post.id):
            return
        inbound = await self._heard(said, line.me)
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

    async def _hurry(self, message: Frame, me: MattermostSelf, deliver: Deliver) -> None:
        said = _said(message)
        if said is None or self._position.has_seen(said.post.id):
            return
        inbound = await self._heard(said, me)
        if inbound is not None:
            if not is_urgent(inbound.text):
                return
            await deliver(inbound)
        self._position.note_ahead(said.post.id)

    async def _placed(self, said: _Said, me: MattermostSelf) -> _Said | None:
        """Return an edit with the kind of its channel; nothing comes of one but a stop."""
        post = said.post
        if not is_urgent(understood(post, me, said.kind, "", 0.0).text) or post.user_id == me.id:
            return None
        path = f"/channels/{known_id(post.channel_id)}"
        return replace(said, kind=_read(await self._api.call("GET", path), MattermostRoom).kind)

    async def _heard(self, said: _Said, me: MattermostSelf) -> Inbound | None:
        """Convert a post; None if it is not for us or has answered a question."""
        placed = await self._placed(said, me) if said.is_edit else said
        if placed is None:
            return None
        post, kind = placed.post, placed.kind
        if not post.is_of_a_person or post.user_id == me.id:
            return None
        inbound = understood(post, me, kind, placed.sender_name, self._clock.wall_s())
        if self.questions.answer(inbound, has_files=bool(post.file_ids)):
            return None
        return inbound if self._is_for_us(post, kind, me) else None

    def _is_for_us(self, post: MattermostPost, kind: str, me: MattermostSelf) -> bool:
        if kind == DIRECT or self._groups == "all":
            return True
        is_meant = calls(post, me.username) or is_for_everybody(post.message)
        return self._groups == "mention" and is_meant

    async def _with_files(self, inbound: Inbound, post: MattermostPost) -> Inbound:
        if not post.file_ids:
            return inbound
        if not self._place.knows(inbound):
            # A stranger fills no disk
            return unfetched(inbound, ["a file"])
        try:
            files = await self._files_of(post)
        except MessageRefused as err:
            return replace(inbound, notes=(f"I could not fetch a file: {err}.",))
        coming = [
            IncomingFile("a file", partial(self._fetch, one), is_speech=False) for one in files
        ]
        return await self._files.added_to(inbound, coming[:MAX_FILES])

    async def _files_of(self, post: MattermostPost) -> tuple[MattermostFile, ...]:
        """Return the files of a post; older servers do not send them with it."""
        if post.metadata is not None and post.metadata.files is not None:
            return post.metadata.files
        path = f"/posts/{known_id(post.id)}/files/info"
        return _read(await self._api.call("GET", path), tuple[MattermostFile, ...])

    async def _fetch(self, file: MattermostFile) -> Attachment | str:
        if reason := too_large(file.size):
            return reason
        kind = printable_line(file.mime_type, MAX_NAME_CHARS) or "application/octet-stream"
        async with self._api.download(file.id) as answer:
            return await self._place.keeping.keep(
                downloaded(answer, self._pulse.beat), kind, file.name
            )


async def who(api: MattermostApi) -> MattermostSelf:
    """Return the token's account.

    Raises:
        ChannelError: nobody's, or that is not to be had now.
    """
    try:
        return _read(await api.call("GET", "/users/me"), MattermostSelf)
    except MessageRefused as err:
        raise ChannelRefused(
            f"the bot may not read its own account ({err}): check channels.mattermost"
        ) from err


def _event(message: str | bytes) -> MattermostEvent:
    """Decode an event; empty if it is none."""
    try:
        return msgspec.json.decode(message, type=MattermostEvent)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return MattermostEvent()


def _said(message: Frame) -> _Said | None:
    """Decode a post; None if it is none."""
    event = _event(message)
    if event.event not in {"posted", "post_edited"}:
        return None
    try:
        told = msgspec.json.decode(event.data, type=MattermostPosted)
        post = msgspec.json.decode(told.post, type=MattermostPost)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as err:
        # Its words stay out of the log: they are a person's
        _log.warning("mattermost: post skipped, not as documented (reason=%s)", err)
        return None
    if event.event == "posted":
        return _Said(post, told.channel_type, told.sender_name)
    # A preview changes a post, too
    return _Said(post.as_edited(), "", is_edit=True) if post.edit_at else None


def _posts_in(told: MattermostPosts) -> list[MattermostPost]:
    found = []
    for raw in told.posts.values():
        try:
            found.append(msgspec.convert(raw, MattermostPost))
        except msgspec.ValidationError as err:
            _log.warning("mattermost: post skipped, not as documented (reason=%s)", err)
    return found


def _read(told: Any, kind: type[_T]) -> _T:
    try:
        return msgspec.convert(told, kind)
    except msgspec.ValidationError as err:
        raise ChannelUnavailable(
            "no Mattermost server answers: check channels.mattermost.base_url"
        ) from err
