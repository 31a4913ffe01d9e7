"""Sender of answers to Matrix: the draft becomes the answer, and no try shows twice."""

import asyncio
import hashlib
import logging
import secrets
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from agent.channels.delivery_steps import DeliverySteps, unsendable
from agent.channels.drafts import AnswerDraft, Drafts
from agent.channels.file_stream import uploaded
from agent.channels.matrix.client import MatrixApi, MatrixRefused, quoted
from agent.channels.matrix.cursor import MatrixCursor
from agent.channels.matrix.markup import content_of, edit_of, first_part, placed
from agent.channels.matrix.rooms import MatrixRooms
from agent.errors import MessageRefused
from agent.messages import Attachment, Outbound
from agent.system.clock import Clock

if TYPE_CHECKING:
    from agent.channels.matrix.encryption.rooms import MatrixEncryption

_log = logging.getLogger(__name__)

# What servers take as they are delivered
MAX_FILE_BYTES = 50 * 1024 * 1024
# Servers take an event in a few seconds of an account, and the answer itself is one
INTERVAL_S = 3.0
_PIECE_BYTES = 64 * 1024
_FORBIDDEN = 403
_PLAIN = "m.room.message"
_KINDS = {"image": "m.image", "audio": "m.audio", "video": "m.video"}


class MatrixSender:
    """Sender of messages, in the order of the calls."""

    def __init__(
        self,
        api: MatrixApi,
        rooms: MatrixRooms,
        position: MatrixCursor,
        crypt: "MatrixEncryption | None",
        clock: Clock,
    ) -> None:
        self._api = api
        self.rooms = rooms
        self.position = position
        self.crypt = crypt
        self.drafts = MatrixDrafts(self, position.folder, clock)
        self._unfinished = DeliverySteps()
        self.account = ""

    async def send(self, message: Outbound) -> None:
        """Return when the server has all of it.

        Raises:
            ChannelError: it has not.
        """
        if not self.account:
            # Its name belongs to each event, and listening may not have begun
            await self.introduce()
        if not message.in_reply_to:
            # Made long ago, such as a reminder: its room may have been upgraded since
            message = await self._moved(message)
        try:
            await self._unfinished.go_on(message, self._say, self._give)
        except MatrixRefused as err:
            moved = await self._moved(message) if err.status == _FORBIDDEN else message
            if moved is message:
                raise
            await self._unfinished.go_on(moved, self._say, self._give)

    async def now_at(self, room: str) -> str:
        """Return the room that took its place, if the agent is in it; else the room itself.

        Raises:
            ChannelError: not now.
        """
        if not self.account:
            await self.introduce()
        now_at = await self.rooms.now_at(room, self.account)
        if now_at == room:
            return room
        if await self.is_encrypted(room) and not await self.is_encrypted(now_at):
            _log.warning(
                "matrix: not followed, the new room is not encrypted (from=%s, to=%s)", room, now_at
            )
            return room
        return now_at

    async def _moved(self, message: Outbound) -> Outbound:
        now_at = await self.now_at(message.recipient)
        if now_at == message.recipient:
            return message
        # Threads and messages were the old room's
        return replace(message, recipient=now_at, thread=None, in_reply_to="")

    async def introduce(self) -> str:
        """Learn whose login it is, and publish its keys.

        Raises:
            ChannelError: not now, or never.
        """
        account = await self._api.whoami()
        await self.position.load(account)
        if self.crypt is not None:
            await self.crypt.introduce(account, self._api.device)
        self.account = account
        return account

    async def explain(self, room: str, text: str) -> None:
        """Explain in clear words why a room cannot be read, if nothing can be sealed."""
        put = self.put if await self.is_sealed(room) else self._put
        await put(room, content_of(text), secrets.token_hex(8))

    async def put(self, room: str, content: dict[str, object], known: str) -> str:
        """Send an event and return its id; the same name again is the same event.

        Raises:
            MessageRefused: the room is encrypted, and it could be said in clear words alone.
        """
        if self.crypt is not None and await self.is_sealed(room):
            people = (await self.rooms.people(room)).names
            sealed = await self.crypt.sealed(room, people, _PLAIN, content)
            return await self._put(room, sealed, known, "m.room.encrypted")
        if await self.is_encrypted(room):
            raise MessageRefused(
                "that Matrix room is encrypted, and encryption is not available here"
            )
        return await self._put(room, content, known)

    async def _put(
        self, room: str, content: dict[str, object], known: str, kind: str = _PLAIN
    ) -> str:
        series = self.position.series
        path = f"/rooms/{quoted(room)}/send/{kind}/barnacle-{series}-{known}"
        told = await self._api.call("PUT", path, content)
        return str(told.get("event_id") or "")

    async def is_sealed(self, room: str) -> bool:
        """Return true if the room's messages are encrypted."""
        if self.crypt is None or self.crypt.is_foreign:
            return False
        return await self.crypt.is_encrypted(room)

    async def is_encrypted(self, room: str) -> bool:
        """Return true if the room was ever encrypted, also where nothing can be sealed."""
        if self.position.was_told(room):
            return True
        return self.crypt is not None and await self.crypt.is_encrypted(room)

    def place(
        self, content: dict[str, object], message_id: str, room: str, thread: str | None
    ) -> dict[str, object]:
        return placed(content, message_id, thread, is_group=self.rooms.is_group(room))

    async def _say(self, message: Outbound) -> None:
        content, known = content_of(message.text), _known(message)
        is_first = message.part == 0
        shown = await self.drafts.end(message) if is_first else ""
        if not shown or not await self._became(shown, message, content):
            answered = message.in_reply_to if is_first else ""
            there = self.place(content, answered, message.recipient, message.thread)
            await self.put(message.recipient, there, known)
        if is_first:
            self.drafts.forget(message)

    async def _became(self, shown: str, message: Outbound, content: dict[str, object]) -> bool:
        try:
            await self.put(message.recipient, edit_of(shown, content), f"{_known(message)}-edit")
        except MatrixRefused as err:
            _log.info("matrix: draft not turned into the answer (reason=%s)", err)
            return False
        return True

    async def _give(self, message: Outbound, file: Attachment) -> None:
        known = f"{_known(message)}-{message.files.index(file)}"
        content = await self._content(message.recipient, file)
        there = self.place(content, "", message.recipient, message.thread)
        await self.put(message.recipient, there, known)

    async def _content(self, room: str, file: Attachment) -> dict[str, object]:
        if trouble := unsendable(file, MAX_FILE_BYTES, "go over Matrix from here"):
            return content_of(trouble)
        path = Path(file.path)
        name = file.name or path.name
        kind = file.media_type if "/" in file.media_type else "application/octet-stream"
        try:
            size = (await asyncio.to_thread(path.stat)).st_size
            where = await self._uploaded(room, path, size, (name, kind))
        except OSError as err:
            raise MessageRefused(f"cannot read the file: {err.strerror}") from err
        what = _KINDS.get(kind.partition("/")[0], "m.file")
        about = {"mimetype": kind, "size": size}
        return {"msgtype": what, "body": name, "filename": name, "info": about, **where}

    async def _uploaded(
        self, room: str, path: Path, size: int, named: tuple[str, str]
    ) -> dict[str, object]:
        """Upload the file, sealed if the room is, and return its address."""
        pieces = uploaded(path, size)
        if not await self.is_sealed(room):
            return {"url": await self._api.upload(*named, pieces, size)}
        from agent.channels.matrix.encryption.files import FileEncryption  # noqa: PLC0415 - 8 MB for a file

        sealing = FileEncryption()
        # The server is told neither what it is nor what it is called
        told = ("file", "application/octet-stream")
        address = await self._api.upload(*told, sealing.sealed(pieces), size)
        return {"file": sealing.told(address)}


class MatrixDrafts(Drafts):
    """Drafts as messages that are edited."""

    first_s = 1.0
    names_once = True

    def __init__(self, sending: MatrixSender, folder: Path, clock: Clock) -> None:
        super().__init__(folder, clock)
        self._sending = sending

    def _interval_s(self, draft: AnswerDraft) -> float:
        return INTERVAL_S

    async def _put(self, draft: AnswerDraft, text: str) -> None:
        inbound, content = draft.inbound, content_of(first_part(text))
        room = inbound.reply_target
        if draft.message_id:
            edit = edit_of(draft.message_id, content)
            await self._sending.put(room, edit, secrets.token_hex(8))
            return
        there = self._sending.place(content, inbound.message_id, room, inbound.thread)
        draft.message_id = await self._sending.put(room, there, _draft_of(inbound.message_id))

    async def _named(self, message: Outbound) -> str:
        content, answered, room = content_of(message.text), message.in_reply_to, message.recipient
        there = self._sending.place(content, answered, room, message.thread)
        return await self._sending.put(room, there, _draft_of(answered))


def _draft_of(message_id: str) -> str:
    """Return the draft's name, the same in every run."""
    known = hashlib.sha256(message_id.encode("utf-8", "replace")).hexdigest()
    return f"draft-{known[:32]}"


def _known(message: Outbound) -> str:
    """Return the name of a message in every try; unkept messages have none."""
    return f"{message.outbox_id or secrets.token_hex(8)}-{message.part}"
