"""A verified update, written into the slot that does not run, and read back before it may start.

The signature comes before the first byte is written, the slot is bootable after the last one was
read again. Cut at any point, the running slot is the one that starts; then begin anew.
"""

import asyncio
import hashlib
import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from agent.errors import UpdateRefused
from agent.storage.files import sync_folder
from agent.system.crash_points import crash_point
from agent.update import bootloader
from agent.update.alone import alone
from agent.update.bundle import (
    COMMAND_LINE,
    SYSTEM,
    Stream,
    UpdateManifest,
    UpdatePart,
    check_signature,
    manifest_of,
    order,
    read_header,
)
from agent.update.machine import Machine
from agent.update.records import HELD, Trial, UpdateRecords

# The end of a slot: in one the initial RAM disk counts starts, in the other the newest readings are
RESERVED_BYTES = 4 * 1024 * 1024
# Read again in pieces of this size
_PIECE_BYTES = 1024 * 1024
# A command line that a kernel takes is shorter
_MAX_LINE_BYTES = 4096
_ROOT, _SLOT = b"@ROOT@", b"@SLOT@"
# Bytes written or read again so far, and all of them
Progress = Callable[[int, int], None]


class Installation:
    """Puts one update into the other slot.

    Args:
        progress: called with each piece that was written, and again with each that was read back.
    """

    def __init__(self, machine: Machine, progress: Progress = lambda _done, _all: None) -> None:
        self._machine = machine
        self._records = UpdateRecords(machine.records)
        self._folder = machine.firmware / machine.other
        self._progress = progress
        self._done_bytes = 0
        self._all_bytes = 0

    async def run(
        self, pieces: AsyncIterator[bytes], *, may_go_back: bool = False
    ) -> UpdateManifest:
        """Install the pieces in the other slot and return their manifest.

        Raises:
            UpdateRefused: what runs goes on to run, and the other slot starts nothing.
            NetworkError: likewise.
            OSError: likewise.
        """
        with alone(self._machine.records):
            self._refuse_unless_settled()
            stream = Stream(pieces)
            signed, signature = await read_header(stream)
            await asyncio.to_thread(check_signature, signed, signature, self._machine.keys)
            manifest = manifest_of(signed)
            self._refuse_unless_fit(manifest, may_go_back=may_go_back)
            # Everything is written once and read once
            self._all_bytes = 2 * manifest.size_bytes
            with bootloader.writable(self._machine.firmware, checked=True):
                self._refuse_without_room(manifest)
                await self._write(manifest, stream)
                await asyncio.to_thread(self._read_again, manifest)
                self._make_bootable(manifest)
            return manifest

    def _refuse_unless_settled(self) -> None:
        trial = self._records.trial()
        if trial is None:
            if bootloader.configured(self._machine.firmware) != self._machine.running:
                raise UpdateRefused("config.txt names the other slot: restart the device first")
        elif trial.slot == self._machine.running:
            raise UpdateRefused(
                f"{trial.version} is on trial: wait until it is kept, or run `barnacle update "
                "commit` or `rollback`"
            )
        else:
            raise UpdateRefused(
                f"{trial.version} already waits for its trial: `barnacle update try` starts "
                "it, `barnacle update rollback` drops it"
            )

    def _refuse_unless_fit(self, manifest: UpdateManifest, *, may_go_back: bool) -> None:
        runs = self._machine.identity
        if manifest.architecture != runs.architecture:
            raise UpdateRefused(
                f"the update is for {manifest.architecture}, this machine is {runs.architecture}"
            )
        if order(manifest.needs, 0) > order(runs.version, 0):
            raise UpdateRefused(
                f"the update needs version {manifest.needs} first; this machine runs {runs.version}"
            )
        if not may_go_back and not self._machine.is_newer(manifest.version, manifest.built_s):
            raise UpdateRefused(
                f"{manifest.version} is not newer than the running version {runs.version}: to "
                "install it anyway, add --allow-downgrade"
            )

    def _refuse_without_room(self, manifest: UpdateManifest) -> None:
        size_bytes = _size_of(self._machine.partition(self._machine.other))
        [system] = [part for part in manifest.parts if part.name == SYSTEM]
        if system.size_bytes > size_bytes - RESERVED_BYTES:
            raise UpdateRefused(
                f"the system is too large for its slot: {system.size_bytes} bytes, room for "
                f"{max(0, size_bytes - RESERVED_BYTES)}"
            )
        needed = sum(part.size_bytes for part in manifest.boot_files)
        free = _free_in(self._machine.firmware) + sum(map(_size_of, _files(self._folder)))
        if needed > free:
            raise UpdateRefused(
                f"the firmware partition has {free} bytes free, the update needs {needed}: "
                "remove files that do not belong there"
            )

    async def _write(self, manifest: UpdateManifest, stream: Stream) -> None:
        """Write the parts; the other slot is incomplete until the last step."""
        bootloader.withdraw(self._machine.firmware)
        self._records.forget(HELD)
        crash_point("update.begun")
        self._folder.mkdir(exist_ok=True)
        for path in _files(self._folder):
            path.unlink()
        sync_folder(self._folder)
        for part in manifest.parts:
            await self._write_part(part, stream)
        sync_folder(self._folder)
        crash_point("update.written")

    async def _write_part(self, part: UpdatePart, stream: Stream) -> None:
        digest = hashlib.sha256()
        handle = os.open(self._place(part), self._flags(part) | os.O_CLOEXEC, 0o600)
        with os.fdopen(handle, "wb", buffering=0) as file:
            async for piece in stream.pieces(part.size_bytes):
                digest.update(piece)
                await asyncio.to_thread(_write_all, file.fileno(), piece)
                crash_point("update.piece")
                self._count(len(piece))
            await asyncio.to_thread(os.fsync, file.fileno())
        if digest.hexdigest() != part.sha256:
            raise UpdateRefused(f"the update is damaged: {part.name} does not match its signature")

    def _read_again(self, manifest: UpdateManifest) -> None:
        """Read the slot back from the card, not from the kernel's memory."""
        for part in manifest.parts:
            digest, left = hashlib.sha256(), part.size_bytes
            with self._place(part).open("rb", buffering=0) as file:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
                while left and (piece := file.read(min(left, _PIECE_BYTES))):
                    digest.update(piece)
                    left -= len(piece)
                    self._count(len(piece))
            if digest.hexdigest() != part.sha256:
                raise UpdateRefused(f"{part.name} differs when read back: the card is worn out")

    def _make_bootable(self, manifest: UpdateManifest) -> None:
        self._write_command_line()
        crash_point("update.verified")
        bootloader.offer(self._machine.firmware, self._machine.other)
        from_version = self._machine.identity.version
        self._records.write(Trial(self._machine.other, manifest.version, from_version))
        crash_point("update.offered")

    def _write_command_line(self) -> None:
        """The only file that is not the same in both slots."""
        path = self._folder / COMMAND_LINE
        with path.open("rb") as file:
            line = file.read(_MAX_LINE_BYTES)
        if _ROOT not in line or _SLOT not in line:
            raise UpdateRefused("the update's command line does not name a slot")
        other = self._machine.other
        partition = self._machine.identity.slots[other]
        line = line.replace(_ROOT, partition.encode()).replace(_SLOT, other.encode())
        bootloader.write_file(path, line)
        sync_folder(self._folder)
        if path.read_bytes() != line:
            raise UpdateRefused(f"{COMMAND_LINE} differs when read back: the card is worn out")

    def _place(self, part: UpdatePart) -> Path:
        is_system = part.name == SYSTEM
        return (
            self._machine.partition(self._machine.other) if is_system else self._folder / part.name
        )

    @staticmethod
    def _flags(part: UpdatePart) -> int:
        # A partition is there and keeps its size; a file of the slot is new
        return os.O_WRONLY if part.name == SYSTEM else os.O_WRONLY | os.O_CREAT | os.O_EXCL

    def _count(self, size_bytes: int) -> None:
        self._done_bytes += size_bytes
        self._progress(self._done_bytes, self._all_bytes)


def _write_all(handle: int, content: bytes) -> None:
    view = memoryview(content)
    while view:
        view = view[os.write(handle, view) :]


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("*") if path.is_file())


def _size_of(path: Path) -> int:
    """Return the size of a file or a partition."""
    with path.open("rb") as file:
        return file.seek(0, os.SEEK_END)


def _free_in(folder: Path) -> int:
    told = os.statvfs(folder)
    return told.f_bavail * told.f_frsize
