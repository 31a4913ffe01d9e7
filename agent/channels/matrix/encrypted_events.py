"""Handling of encrypted events: decrypted, held until their key comes, or refused.

Without the libraries of the extra, or with a login that is another program's, a room is told once
that it cannot be read and what helps.
"""

import logging
from collections.abc import AsyncGenerator, AsyncIterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.channels.matrix.client import MatrixApi, MatrixRefused
from agent.channels.matrix.events import MatrixEvent
from agent.errors import ChannelError, MessageRefused
from agent.system.clock import Clock
from agent.text.config_hints import install_hint

if TYPE_CHECKING:
    from agent.channels.matrix.encryption.rooms import MatrixEncryption
    from agent.channels.matrix.send import MatrixSender

_log = logging.getLogger(__name__)

LIBRARIES = ("vodozemac", "cryptography")
# A key comes with its message, or a sync later, or from a server that was away
KEY_WAIT_S = 45.0
CANNOT_READ = (
    "This room is encrypted, and I cannot read what is written in it. "
    "Please invite me to a room without encryption."
)
FOREIGN_LOGIN = (
    "This room is encrypted, and my login belongs to another program's keys: give me user and "
    "password_file in channels.matrix, or invite me to a room without encryption."
)
NO_KEY = (
    "I could not read a message here, as its key has not reached me: please send it again, and if "
    "that does not help, write /discardsession in Element and send it once more."
)
UNKNOWN_DEVICE = (
    "I have not read a message here, as I cannot tell whether the device that it comes from is its "
    "sender's: please send it again from a program that is signed in."
)

CLEAR_WORDS = (
    "I have not read a message here that came unencrypted: this room is encrypted, and without its "
    "key anybody on the server could have written that. Please send it again from a program that "
    "encrypts."
)


def has_libraries() -> bool:
    return all(find_spec(name) is not None for name in LIBRARIES)


def encryption_for(api: MatrixApi, folder: Path, clock: Clock) -> "MatrixEncryption | None":
    """Return the encryption; None if a library is missing."""
    if not has_libraries():
        _log.info("matrix: encrypted rooms need an extra (install=%s)", install_hint("matrix"))
        return None
    # 1.4 MB that nobody needs without it
    from agent.channels.matrix.encryption.rooms import MatrixEncryption  # noqa: PLC0415 - as said

    return MatrixEncryption(api, folder, clock)


class EncryptedEvents:
    """Handler of encrypted events."""

    def __init__(
        self, crypt: "MatrixEncryption | None", sending: "MatrixSender", clock: Clock
    ) -> None:
        self._crypt = crypt
        self._sending = sending
        self._clock = clock

    async def read(self, room: str, event: MatrixEvent) -> MatrixEvent | None:
        """Return the decrypted event; None if there is none yet, and the room is told in time.

        Raises:
            ChannelError: not now.
        """
        if self._crypt is None or self._crypt.is_foreign:
            await self._tell_once(room, room, CANNOT_READ if self._crypt is None else FOREIGN_LOGIN)
            return None
        # The extra alone brings it
        from agent.channels.matrix.encryption.room_keys import RoomKeyMissing  # noqa: PLC0415 - as said

        try:
            return await self._opened(room, event)
        except RoomKeyMissing:
            await self._crypt.hold(room, event)
            return None

    async def refuses(self, room: str, event: MatrixEvent) -> bool:
        """Return true if the event came in clear words to an encrypted room, which is told once.

        A homeserver can write such events in anybody's name.

        Raises:
            ChannelError: not now.
        """
        try:
            is_encrypted = await self._sending.is_encrypted(room)
        except MatrixRefused:
            raise
        except MessageRefused:
            # In a way that is not known here
            is_encrypted = True
        if not is_encrypted:
            return False
        _log.warning("matrix: unencrypted message in an encrypted room (sender=%s)", event.sender)
        await self._tell_once(room, f"clear words in {room}", CLEAR_WORDS)
        return True

    async def held(self, *, has_keys: bool) -> list[tuple[str, MatrixEvent]]:
        """Yield events that can be decrypted now; call `done` after each.

        Args:
            has_keys: some may have come since this was asked last.
        """
        ready: list[tuple[str, MatrixEvent]] = []
        if self._crypt is None or self._crypt.is_foreign:
            return ready
        from agent.channels.matrix.encryption.room_keys import RoomKeyMissing  # noqa: PLC0415 - as above

        for one in await self._crypt.held():
            try:
                event = await self._opened(one.room, one.event) if has_keys else None
            except RoomKeyMissing:
                event = None
            else:
                if event is None and has_keys:
                    await self.done(one.event)
            if event is not None:
                ready.append((one.room, event))
            elif self._clock.wall_s() - one.since_s > KEY_WAIT_S:
                await self._tell_once(one.room, f"key of {one.room}", NO_KEY)
        return ready

    async def look(self, room: str, event: MatrixEvent) -> MatrixEvent | None:
        """Return the decrypted event, if possible; the room is not told."""
        if self._crypt is None or self._crypt.is_foreign:
            return None
        from agent.channels.matrix.encryption.room_keys import DecryptError  # noqa: PLC0415 - as above

        try:
            return await self._crypt.opened(room, event)
        except DecryptError:
            return None

    def file(
        self, pieces: AsyncIterator[bytes], told: dict[str, Any]
    ) -> AsyncGenerator[bytes, None] | None:
        """Yield the content of a sealed file; None if it cannot be opened."""
        if self._crypt is None:
            return None
        from agent.channels.matrix.encryption.files import opened, seal_in  # noqa: PLC0415 - as above

        seal = seal_in(told)
        return None if seal is None else opened(pieces, seal)

    async def done(self, event: MatrixEvent) -> None:
        if self._crypt is not None:
            await self._crypt.release(event.event_id)

    async def _opened(self, room: str, event: MatrixEvent) -> MatrixEvent | None:
        """Return the decrypted event; None if there will never be one.

        Raises:
            KeyMissing: there may be, later.
        """
        assert self._crypt is not None
        from agent.channels.matrix.encryption.room_keys import (  # noqa: PLC0415 - as above
            DecryptError,
            RoomKeyMissing,
            SenderDeviceUnknown,
        )

        try:
            return await self._crypt.opened(room, event)
        except RoomKeyMissing:
            raise
        except SenderDeviceUnknown:
            await self._tell_once(room, f"device in {room}", UNKNOWN_DEVICE)
        except DecryptError as err:
            _log.warning("matrix: encrypted message skipped (reason=%s)", err)
        return None

    async def _tell_once(self, room: str, about: str, text: str) -> None:
        position = self._sending.position
        if position.was_told(about):
            return
        await position.tell(about)
        try:
            await self._sending.explain(room, text)
        except ChannelError as err:
            _log.info("matrix: notice about an unreadable room not sent (reason=%s)", err)
