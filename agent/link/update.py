"""Putting new firmware onto a board over its link, and making sure that it works there.

Promises: a transfer that is cut goes on where it was; the new version is confirmed only after it
has answered this agent, otherwise the board goes back by itself.
"""

import struct
from collections.abc import Callable

from agent.errors import BarnacleError, CallRefused, LinkError
from agent.link.base import Board, BoardState
from agent.link.frame import METHOD_UPDATE
from agent.link.image import FirmwareImage
from agent.system.clock import Clock

# As much as fits into a frame with everything around it
CHUNK_BYTES = 200
# Erasing a page of flash takes up to a second, and there are a few
POLL_S = 0.2
BUSY_LIMIT_S = 60.0
# A cut cable: long enough to plug it in again
AWAY_LIMIT_S = 60.0
# Sessions in a row that get no further: each of them may erase flash
VAIN_SESSIONS_MOST = 5
# Three strikes of 10 s each, and the starts between them
TRIAL_LIMIT_S = 60.0

_STATE, _BEGIN, _WRITE, _FINISH, _CONFIRM = range(5)
_STATE_FORMAT = "<BBBI"
# In place of a slot's number: the firmware is a part of the board's MicroPython
FROZEN = 254
_OFFSET_FORMAT = "<I"

OnProgress = Callable[[int, int], None]


class UpdateFailed(BarnacleError):
    """The board runs what it ran before; the text says why, and what to do."""


class Updater:
    """One update of one board, which must be ready and stay supervised by its `run`."""

    def __init__(
        self, board: Board, image: FirmwareImage, clock: Clock, on_progress: OnProgress
    ) -> None:
        self._board = board
        self._image = image
        self._clock = clock
        self._on_progress = on_progress
        # As far as the transfer has come in any session
        self._reached = 0

    async def run(self) -> str:
        """Send, try and confirm; the sentence that says what runs now.

        Raises:
            UpdateFailed: and nothing has changed.
        """
        try:
            await self._require_fitting()
            await self._transfer()
            await self._finish()
        except CallRefused as err:
            raise UpdateFailed(f"the board rejects the update: {err}") from err
        except LinkError as err:
            raise UpdateFailed(f"the board was disconnected: {err}") from err
        await self._confirm()
        return f"{self._image.about.board} runs firmware {self._image.shown}"

    async def _require_fitting(self) -> None:
        identity = self._board.status.identity
        if identity is None or identity.board != self._image.about.board:
            raise UpdateFailed(f"this firmware is for {self._image.about.board}")
        flash_class, running, on_trial, room = _unpacked(_STATE_FORMAT, await self._ask(_STATE))
        if running == FROZEN:
            raise UpdateFailed(
                "the board's firmware is frozen into its MicroPython: build a new one from the "
                "files of `scripts/flash --freeze` (firmware/README.md)"
            )
        if flash_class == 0:
            raise UpdateFailed("the board's flash cannot hold two versions: use scripts/flash")
        if len(self._image.content) > room:
            raise UpdateFailed(
                f"the board has {room} bytes free beside the running version, but "
                f"{len(self._image.content)} are needed: use scripts/flash"
            )
        if on_trial:
            raise UpdateFailed("the running version is on trial itself: wait a minute")

    async def _transfer(self) -> None:
        """Send every byte, over as many sessions as needed, as long as they get further."""
        vain = 0
        while True:
            before = self._reached
            try:
                offset = await self._begin()
                while offset < len(self._image.content):
                    offset = await self._write(offset)
            except CallRefused:
                raise
            except LinkError as err:
                vain = vain + 1 if self._reached == before else 0
                if vain == VAIN_SESSIONS_MOST:
                    whole = len(self._image.content)
                    raise UpdateFailed(
                        f"the transfer stays at byte {self._reached} of {whole}: {err}"
                    ) from err
                await self._until_ready(AWAY_LIMIT_S)
            else:
                return

    async def _begin(self) -> int:
        size = struct.pack(_OFFSET_FORMAT, len(self._image.content))
        until_s = self._clock.monotonic_s() + BUSY_LIMIT_S
        while True:
            try:
                answer = await self._ask(_BEGIN, size + self._image.digest)
            except CallRefused as err:
                if err.code != "busy" or self._clock.monotonic_s() > until_s:
                    raise
                await self._clock.sleep(POLL_S)
            else:
                return _unpacked(_OFFSET_FORMAT, answer)[0]

    async def _write(self, offset: int) -> int:
        piece = self._image.content[offset : offset + CHUNK_BYTES]
        answer = await self._ask(_WRITE, struct.pack(_OFFSET_FORMAT, offset) + piece)
        self._on_progress(offset + len(piece), len(self._image.content))
        self._reached = max(self._reached, offset + len(piece))
        return _unpacked(_OFFSET_FORMAT, answer)[0]

    async def _finish(self) -> None:
        try:
            await self._ask(_FINISH)
        except CallRefused:
            raise
        except LinkError:
            # The answer was lost, or the board was quick: what comes back will show it
            return

    async def _confirm(self) -> None:
        """Wait for the new version and accept it."""
        until_s = self._clock.monotonic_s() + TRIAL_LIMIT_S
        was_asked = False
        while self._clock.monotonic_s() < until_s:
            try:
                if await self._is_tried():
                    was_asked = True
                    await self._ask(_CONFIRM)
                    return
                if was_asked and self._runs_the_build():
                    # The answer was lost; its trial is over all the same
                    return
            except CallRefused as err:
                raise UpdateFailed(
                    "the new version failed its self-test, and the board returns to the old "
                    f"one: {err}"
                ) from err
            except LinkError:
                pass  # asked again when it is there again
            await self._clock.sleep(POLL_S)
        raise UpdateFailed("the new version did not answer; the board returns to the old one")

    async def _is_tried(self) -> bool:
        """Return true if the board has started what was sent.

        The build alone does not tell the new one from the old: it may be put there once more. What
        runs before the reset is no trial.
        """
        if not self._runs_the_build():
            return False
        _class, _running, on_trial, _room = _unpacked(_STATE_FORMAT, await self._ask(_STATE))
        return bool(on_trial)

    def _runs_the_build(self) -> bool:
        identity = self._board.status.identity
        return identity is not None and identity.build == self._image.about.build

    async def _until_ready(self, limit_s: float) -> None:
        until_s = self._clock.monotonic_s() + limit_s
        while self._clock.monotonic_s() < until_s:
            if self._board.status.state is BoardState.READY:
                return
            await self._clock.sleep(POLL_S)
        raise UpdateFailed(f"the board was disconnected: {self._board.status.trouble}; start again")

    async def _ask(self, action: int, arguments: bytes = b"") -> bytes:
        return await self._board.exchange(METHOD_UPDATE, bytes([action]) + arguments)


def _unpacked(layout: str, answer: bytes) -> tuple[int, ...]:
    try:
        return struct.unpack_from(layout, answer)
    except struct.error as err:
        raise UpdateFailed("cannot read the board's answer") from err
