"""Checks of the storage: the state folder, its file system, the card and the databases."""

import errno
import os
import re
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from agent.backup.record import LastBackup, read_record
from agent.health.base import Finding, Patient
from agent.health.daemon_thread import in_daemon_thread
from agent.machine.file_system import FLEETING, is_own_disk
from agent.machine.readings import Readings
from agent.storage.database import was_set_aside
from agent.storage.documents import documents_set_aside
from agent.storage.files import is_read_only
from agent.storage.foreign import open_foreign


async def check_databases(patient: Patient) -> Finding:
    return await in_daemon_thread(lambda: _databases_finding(patient))


def _databases_finding(patient: Patient) -> Finding:
    databases = patient.databases
    troubles = [trouble for path in databases if (trouble := _trouble(path))]
    if troubles:
        return Finding.failed("; ".join(troubles))
    set_aside = [old for path in databases for old in was_set_aside(path)]
    set_aside += documents_set_aside(patient.state_dir)
    if set_aside:
        return Finding.warning(
            f"{set_aside[0]} was damaged and moved aside: check its contents, then remove it"
        )
    made = sum(path.exists() for path in databases)
    return Finding.ok(f"{made} databases intact" if made else "no databases yet")


def _trouble(path: Path) -> str:
    if not path.exists():
        return ""
    try:
        with closing(_opened(path)) as connection:
            rows = connection.execute("PRAGMA quick_check(1)").fetchall()
    except sqlite3.DatabaseError as err:
        return f"cannot read {path}: {err}"
    return "" if rows == [("ok",)] else f"{path} is damaged: restart barnacle, which moves it aside"


def _opened(path: Path) -> sqlite3.Connection:
    """Open a database for looking; on a read-only disk SQLite can make no log beside it."""
    if is_read_only(path):
        return open_foreign(path)
    return sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)


_MB = 1024 * 1024
# A database of a year, a journal and a new version of everything fit
_SOON_FULL_MB = 500
# A small card is not full because it is small
_SOON_FULL_SHARE = 0.25
# Less than what a database may need to tidy itself
_FULL_MB = 50
_OWNER_REMEDY = "make the user that runs barnacle its owner, or set BARNACLE_STATE_DIR"
_REMEDIES = {
    errno.ENOSPC: "free some space",
    errno.EDQUOT: "free some space",
    errno.EROFS: "the disk is read-only, see the check of it",
    errno.EIO: "the disk may be failing: back up your data",
}


async def check_state(patient: Patient) -> Finding:
    folder = patient.state_dir
    try:
        free_mb, total_mb = await in_daemon_thread(lambda: _room_mb(folder))
    except OSError as err:
        remedy = _REMEDIES.get(err.errno or 0, _OWNER_REMEDY)
        return Finding.failed(f"cannot write {folder} ({err.strerror}): {remedy}")
    if free_mb < _FULL_MB:
        return Finding.failed(
            f"only {free_mb} MB free in {folder}: soon nothing can be stored, free some space"
        )
    if free_mb < min(_SOON_FULL_MB, total_mb * _SOON_FULL_SHARE):
        return Finding.warning(f"only {free_mb} MB free in {folder}: free some space")
    return Finding.ok(f"{folder} is writable, {free_mb} MB free")


def _room_mb(folder: Path) -> tuple[int, int]:
    """Return free and total space of the folder, or of where it would be made, by writing there."""
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    with tempfile.TemporaryFile(dir=existing) as file:
        file.write(b"x")
    usage = shutil.disk_usage(existing)
    return usage.free // _MB, usage.total // _MB


_WORN_PERCENT = 80
_OVER_PERCENT = 100
_REPLACE = "back up your data and replace the card"
_KERNEL_LOG = "dev/kmsg"
# More than a kernel keeps; a file that has no end is left there
_MAX_RECORDS = 20_000
_RECORD_BYTES = 8192
_TROUBLE = re.compile(
    r"I/O error, dev (?:mmcblk|sd)|EXT4-fs error|mmc\d+: .*(?:error|timed out|Timeout waiting)|"
    r"mmcblk\d+: .*error",
    re.IGNORECASE,
)
# The line of a card; the Wi-Fi of a Pi hangs on another one, and may complain as loudly
_LINE = re.compile(r"\bmmc(\d+): ")
# A disk, which may be a stick that somebody has pulled out
_DISK = re.compile(r"\b(?:dev|device) (sd[a-z]+)")
_CARDS = "sys/block/mmcblk[0-9]*"


async def check_card(patient: Patient) -> Finding:
    return await in_daemon_thread(lambda: _finding(patient.readings))


def _finding(readings: Readings) -> Finding:
    card = readings.card()
    if card.errors:
        told = ", ".join(f"{count} on {device}" for device, count in card.errors)
        return Finding.failed(
            f"the file system has recorded errors ({told}): {_REPLACE}; a check at the "
            "next start (fsck) clears this record"
        )
    messages = list(_complaints(readings))
    if messages:
        return Finding.failed(
            f"the kernel reports errors of the card ({len(messages)} times, last: "
            f"{messages[-1]}): {_REPLACE}"
        )
    used = card.used_percent
    if card.reserve or (used is not None and used > _OVER_PERCENT):
        return Finding.failed(f"the card is worn out ({card.reserve or 'by its age'}): {_REPLACE}")
    if used is not None and used >= _WORN_PERCENT:
        return Finding.warning(f"the card is worn ({used} % of its life used): replace it soon")
    wear = (
        "the card does not report its wear"
        if used is None
        else f"at most {used} % of its life used"
    )
    return Finding.ok(f"no errors; {wear}")


def _complaints(readings: Readings) -> Iterator[str]:
    """Yield the kernel's complaints about cards since the start, if we may read them."""
    kernel = readings.kernel
    # A card has the number of its line
    cards = {path.rpartition("mmcblk")[2] for path in kernel.matches(_CARDS)}
    for message in _messages(kernel.root / _KERNEL_LOG):
        line = _LINE.search(message)
        disk = _DISK.search(message)
        if not _TROUBLE.search(message) or (line is not None and line[1] not in cards):
            continue
        if disk is None or is_own_disk(disk[1], readings.folder, kernel):
            yield message


def _messages(path: Path) -> Iterator[str]:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return
    try:
        for _ in range(_MAX_RECORDS):
            try:
                # One record each time, and none twice
                record = os.read(handle, _RECORD_BYTES)
            except BrokenPipeError:
                # Some were overwritten before they were read
                continue
            except OSError:
                return
            if not record:
                return
            for line in record.decode(errors="replace").splitlines():
                yield line.partition(";")[2] or line
    finally:
        os.close(handle)


_DAY_S = 86_400.0
# A card that dies then costs a month
_OLD_DAYS = 31


async def check_backup(patient: Patient) -> Finding:
    return await in_daemon_thread(lambda: _backup_finding(read_record(patient.state_dir)))


def _backup_finding(record: LastBackup | None) -> Finding:
    if record is None or not record.made_at_s:
        why = f" (the last try failed: {record.trouble})" if record and record.trouble else ""
        return Finding.warning(
            f"no backup{why}: a dead card loses everything; `barnacle backup --help` shows how "
            "to make one"
        )
    days = max((time.time() - record.made_at_s) / _DAY_S, 0.0)
    told = f"last backup: {_age(days)}, {record.where}"
    if record.trouble:
        return Finding.failed(f"{told}; the last try failed: {record.trouble}")
    if days > _OLD_DAYS:
        return Finding.warning(f"{told}: make another one with `barnacle backup`")
    return Finding.ok(told)


def _age(days: float) -> str:
    if days < 1:
        return "today"
    return "1 day ago" if int(days) == 1 else f"{int(days)} days ago"


# Each message makes some files at most; with less than these a database soon finds none
_FEW_INODES_PERCENT = 5
_NO_INODES_PERCENT = 1


async def check_disk(patient: Patient) -> Finding:
    """Room itself is looked at where the folder is."""
    room = await in_daemon_thread(patient.readings.room)
    folder = patient.state_dir
    if room is None:
        return Finding.failed(f"the disk of {folder} does not answer: is it still connected?")
    if room.is_read_only:
        return Finding.failed(
            f"{folder} is read-only, a sign of a failing card: back up your data, "
            "restart, and replace the card if it happens again"
        )
    if room.kind in FLEETING:
        return Finding.warning(
            f"{folder} is only in memory ({room.kind}) and lost at the next start: set "
            "BARNACLE_STATE_DIR to a folder on a disk; on a Barnacle card, the data "
            "partition could not be used"
        )
    inodes = room.free_inodes_percent
    if inodes is not None and inodes < _FEW_INODES_PERCENT:
        say = Finding.failed if inodes < _NO_INODES_PERCENT else Finding.warning
        return say(
            f"{folder} can hold only {inodes} % more files, whatever their size: remove some"
        )
    kind = room.kind or "its disk"
    return Finding.ok(f"{kind}, writable, {room.free_mb} of {room.total_mb} MB free")
