"""Receiver by `/sync`: resumes after a cut, and confirms what is committed.

The first time nothing that was said before is answered. Who invites the agent to a chat of two is
joined; other rooms are joined where somebody invites whom the agent knows. Who may invite may also
replace a room by another.
"""

import json
import logging
from collections.abc import Mapping
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from agent.channels.approvals import OpenApprovals
from agent.channels.base import Deliver, Pulse
from agent.channels.context import GroupMoved, nothing_follows
from agent.channels.file_stream import downloaded
from agent.channels.incoming_files import IncomingFile, IncomingFiles, unfetched
from agent.channels.matrix.client import (
    HOLD_MS,
    MAX_ANSWER_BYTES,
    MatrixApi,
    MatrixRefused,
    quoted,
)
from agent.channels.matrix.encrypted_events import EncryptedEvents
from agent.channels.matrix.events import (
    MatrixEvent,
    MatrixJoinedRoom,
    MatrixSync,
    MatrixTimeline,
    events_in,
    sync_in,
)
from agent.channels.matrix.inbound import (
    NAME,
    Groups,
    MatrixContext,
    MatrixFile,
    MatrixSelf,
    file_of,
    is_for_us,
    is_message,
    is_sealed,
    membership,
    replacement,
    understood,
)
from agent.channels.matrix.invitations import MatrixInvitations
from agent.channels.matrix.send import MatrixSender
from agent.channels.received_files import Knows, ReceivedFiles
from agent.channels.rest import AnswerTooLong
from agent.errors import ChannelRefused, ChannelUnavailable
from agent.messages import Attachment, Inbound, Provenance
from agent.system.clock import Clock

_log = logging.getLogger(__name__)

# Of one room at a time; what was left out is fetched
MAX_EVENTS = 50
# A device that was away for a night in a busy room; more is told to be lost
MAX_MISSED = 1000
MAX_PAGE = 100
# A hundred messages of devices are in a sync whatever it is asked for, and so are all invitations
MAX_BARE_SYNC_BYTES = 24 * 1024 * 1024
_BAD_REQUEST = 400
_NOTHING = {"not_types": ["*"]}
_EVENTS = {
    "types": [
        "m.room.message",
        "m.room.encrypted",
        "m.room.member",
        "m.room.encryption",
        "m.room.tombstone",
    ],
    "limit": MAX_EVENTS,
}


def _filter(timeline: Mapping[str, object]) -> str:
    rooms = {"state": _NOTHING, "ephemeral": _NOTHING, "account_data": _NOTHING}
    about = {"presence": _NOTHING, "account_data": _NOTHING}
    return json.dumps({**about, "room": {**rooms, "timeline": timeline}})


class MatrixReceiverParts(Struct, frozen=True):
    """Parts that an event passes on its way in.

    Args:
        knows: whose files are fetched, and whose invitations to groups are followed.
        group_moved: is told of a room that took the place of another.
    """

    questions: OpenApprovals
    files: IncomingFiles
    keeping: ReceivedFiles
    knows: Knows
    groups: Groups
    group_moved: GroupMoved = nothing_follows


class MatrixReceiver:
    """Receiver of one account."""

    def __init__(
        self,
        api: MatrixApi,
        ears: MatrixReceiverParts,
        sending: MatrixSender,
        pulse: Pulse,
        clock: Clock,
    ) -> None:
        self._api = api
        self._ears = ears
        self._sending = sending
        self._rooms = sending.rooms
        self._position = sending.position
        self._crypt = sending.crypt
        self._invitations = MatrixInvitations(api, sending.position, clock)
        self._secrecy = EncryptedEvents(sending.crypt, sending, clock)
        self._pulse = pulse
        self._clock = clock
        self._me = MatrixSelf("", "")

    async def run(self, deliver: Deliver) -> None:
        """Until cancelled.

        Raises:
            ChannelError: the server is not there, or does not know the account.
        """
        await self._introduce()
        while True:
            sync = await self._sync()
            self._pulse.beat()
            if self._crypt is not None:
                await self._late(deliver, has_keys=await self._crypt.learn(sync))
            for room, invited in sync.rooms.invite.items():
                self._invited(room, events_in(invited.invite_state.events))
            await self._invitations.answer()
            if self._position.after:
                for room, joined in sync.rooms.join.items():
                    try:
                        await self._happened(room, joined, deliver)
                    except MatrixRefused as err:
                        _log.warning("matrix: cannot join a room (reason=%s)", err)
            await self._position.advance(sync.next_batch)

    async def _introduce(self) -> None:
        account = await self._sending.introduce()
        if not self._position.after:
            # Who came or went meanwhile is not told
            self._rooms.forget_all()
        if self._crypt is not None and not self._position.after:
            await self._crypt.forget_devices()
        name = ""
        try:
            told = await self._api.call("GET", f"/profile/{quoted(account)}/displayname")
            name = str(told.get("displayname") or "")
        except MatrixRefused as err:
            _log.info("matrix: account has no display name (reason=%s)", err)
        self._me = MatrixSelf(account, name)
        _log.info("matrix: listening (account=%s)", account)

    async def _sync(self) -> MatrixSync:
        """Return what is new; if it is more than an answer may be, with each room to be fetched."""
        if not self._position.after:
            # What was said before is left alone
            return await self._synced(_NOTHING, 0, MAX_BARE_SYNC_BYTES)
        try:
            return await self._synced(_EVENTS, HOLD_MS)
        except AnswerTooLong:
            _log.info("matrix: too much is new for one answer; fetching it room by room")
        sync = await self._synced(_NOTHING, 0, MAX_BARE_SYNC_BYTES)
        told = await self._api.call("GET", "/joined_rooms")
        gap = MatrixJoinedRoom(MatrixTimeline(limited=True, prev_batch=sync.next_batch))
        joined = {str(room): gap for room in told.get("joined_rooms") or ()}
        return replace(sync, rooms=replace(sync.rooms, join=joined))

    async def _synced(
        self, timeline: Mapping[str, object], hold_ms: int, max_bytes: int = MAX_ANSWER_BYTES
    ) -> MatrixSync:
        after = self._position.after
        query: dict[str, str | int] = {"filter": _filter(timeline), "timeout": hold_ms}
        if after:
            query["since"] = after
        try:
            told = await self._api.call("GET", "/sync", None, max_bytes, **query)
        except MatrixRefused as err:
            if after and err.status == _BAD_REQUEST:
                _log.warning(
                    "matrix: server forgot the cursor; messages since the last connection are lost"
                )
                await self._position.advance("")
                raise ChannelUnavailable(str(err)) from err
            raise ChannelRefused(str(err)) from err
        sync = sync_in(told)
        if sync is None or not sync.next_batch:
            raise ChannelUnavailable("unreadable answer from the Matrix server")
        return sync

    def _invited(self, room: str, state: list[MatrixEvent]) -> None:
        mine = [one for one in state if one.state_key == self._me.account]
        inviter = mine[-1].sender if mine else ""
        is_direct = bool(mine) and mine[-1].content.get("is_direct") is True
        may_join = is_direct or self._ears.knows(self._nothing_said(room, inviter))
        self._invitations.note(room, is_accepted=may_join)

    def _nothing_said(self, room: str, sender: str) -> Inbound:
        now_s = self._clock.wall_s()
        return Inbound("", NAME, sender, room, "", now_s, Provenance.WEB, is_group=True)

    async def _happened(self, room: str, joined: MatrixJoinedRoom, deliver: Deliver) -> None:
        events, is_new = self._since_asked(events_in(joined.timeline.events))
        if joined.timeline.limited and not is_new:
            missed = await self._missed(room, joined.timeline.prev_batch)
            known = {one.event_id for one in events}
            events = [one for one in missed if one.event_id not in known] + events
        if any(one.type == "m.room.member" for one in events):
            self._rooms.forget(room)
        if is_new and (old := await self._rooms.before(room)):
            await self._moved(old, room)
        for event in events:
            if new_room := replacement(event):
                await self._replaced(room, event.sender, new_room)
        if events and (useless := await self._useless(room)):
            _log.warning("matrix: left a room (reason=%s)", useless)
            await self._api.call("POST", f"/rooms/{quoted(room)}/leave", {})
            return
        if self._crypt is not None and any(one.type == "m.room.encryption" for one in events):
            self._crypt.forget_rules(room)
        for event in events:
            read = await self._read(room, event)
            if read is not None:
                await self._heard(room, read, deliver)

    async def _replaced(self, room: str, sender: str, new_room: str) -> None:
        """Follow the room to its replacement, if its sender may lead us into one."""
        may_lead = self._ears.knows(self._nothing_said(room, sender)) or await self._is_chat(room)
        if not may_lead:
            _log.warning("matrix: replaced room not followed (room=%s, by=%s)", room, sender)
            return
        _log.info(
            "matrix: following a room (room=%s, replacement=%s, by=%s)", room, new_room, sender
        )
        self._invitations.follow(new_room, sender.partition(":")[2])
        await self._invitations.answer()

    async def _moved(self, old: str, room: str) -> None:
        """Listen in a room that took the place of another, before what is said there."""
        if await self._sending.now_at(old) == room:
            await self._ears.group_moved(NAME, old, room)

    async def _is_chat(self, room: str) -> bool:
        """Return true for a chat of two, to which anybody may invite."""
        try:
            return not (await self._rooms.people(room)).is_group
        except AnswerTooLong:
            return False

    async def _read(self, room: str, event: MatrixEvent) -> MatrixEvent | None:
        """Return the event in clear words; None if it is not, or not yet, to be taken."""
        if is_sealed(event, self._me):
            return await self._secrecy.read(room, event)
        is_refused = is_message(event, self._me) and await self._secrecy.refuses(room, event)
        return None if is_refused else event

    async def _late(self, deliver: Deliver, *, has_keys: bool) -> None:
        """Deliver messages that could not be read at first and can be now."""
        for room, event in await self._secrecy.held(has_keys=has_keys):
            await self._heard(room, event, deliver)
            await self._secrecy.done(event)

    async def _heard(self, room: str, event: MatrixEvent, deliver: Deliver) -> None:
        if is_message(event, self._me):
            await self._take(room, event, deliver)
            self._pulse.beat()

    def _since_asked(self, events: list[MatrixEvent]) -> tuple[list[MatrixEvent], bool]:
        """Return the events since our invitation, and if it came just now."""
        for place, event in enumerate(events):
            before = event.unsigned.get("prev_content")
            was_there = isinstance(before, dict) and membership(before) == "join"
            is_ours = event.type == "m.room.member" and event.state_key == self._me.account
            if is_ours and membership(event.content) in {"invite", "join"} and not was_there:
                return events[place:], True
        return events, False

    async def _missed(self, room: str, start: str) -> list[MatrixEvent]:
        """Return the events that a full answer left out, oldest first."""
        found: list[MatrixEvent] = []
        path = f"/rooms/{quoted(room)}/messages"
        left, page = MAX_MISSED, MAX_PAGE
        while left > 0:
            query: dict[str, str | int] = {"dir": "b", "from": start, "limit": page}
            query["to"] = self._position.after
            try:
                told = await self._api.call("GET", path, None, MAX_ANSWER_BYTES, **query)
            except AnswerTooLong:
                if page == 1:
                    raise
                page //= 2
                continue
            self._pulse.beat()
            found += events_in(told.get("chunk"))
            start = str(told.get("end") or "")
            if not start or not told.get("chunk"):
                return found[::-1]
            left -= page
        _log.warning("matrix: too many messages in a room to fetch; the oldest are lost")
        return found[::-1]

    async def _useless(self, room: str) -> str:
        """Return why nothing can be said in that room; empty if something can."""
        try:
            people = await self._rooms.people(room)
        except AnswerTooLong:
            return "more members than can be listed"
        return "empty" if set(people.names) == {self._me.account} else ""

    async def _take(self, room: str, event: MatrixEvent, deliver: Deliver) -> None:
        people = await self._rooms.people(room)
        name = people.names.get(event.sender, "")
        answered = await self._event(room, event.relation.answers)
        around = MatrixContext(room, people.is_group, name, answered)
        inbound = understood(event, around, self._me, self._clock.wall_s())
        # An answer to a question in a group needs no name: it has the question's id
        file = file_of(event)
        if self._ears.questions.answer(inbound, has_files=file is not None):
            return
        if is_for_us(event, around, self._me, self._ears.groups):
            inbound = await self._with_file(inbound, file)
            if inbound.text or inbound.attachments:
                await deliver(inbound)

    async def _event(self, room: str, event_id: str) -> MatrixEvent | None:
        if not event_id:
            return None
        try:
            path = f"/rooms/{quoted(room)}/event/{quoted(event_id)}"
            found = events_in([await self._api.call("GET", path)])
        except MatrixRefused:
            return None
        if not found or found[0].type != "m.room.encrypted":
            return found[0] if found else None
        return await self._secrecy.look(room, found[0])

    async def _with_file(self, inbound: Inbound, file: MatrixFile | None) -> Inbound:
        if file is None:
            return inbound
        if not self._ears.knows(inbound):
            # A stranger fills no disk
            return unfetched(inbound, [file.what])
        coming = IncomingFile(file.what, partial(self._fetch, file), file.is_speech)
        return await self._ears.files.added_to(inbound, [coming])

    async def _fetch(self, file: MatrixFile) -> Attachment | str:
        if not file.address:
            return "it is encrypted"
        async with self._api.download(file.address) as answer:
            pieces = downloaded(answer)
            if file.sealed:
                opened = self._secrecy.file(pieces, file.sealed)
                if opened is None:
                    return "it is encrypted"
                pieces = opened
            return await self._ears.keeping.keep(pieces, file.kind, file.name)
