"""Every write to the card is noted; power is cut, on paper, at hundreds of places among them.

Each time the data partition is repaired and opened as a start would, and what was acknowledged by
then must be in it, and whatever a start needs to be reached. This costs no start, so it is done
where starts are too slow.
"""

import os
import random
import shutil
import sqlite3
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from image.lib.emulated import write_log
from image.lib.emulated.bench import Bench
from image.lib.emulated.guest import Conditions
from image.lib.layout import DATA
from image.lib.trials.expectation import expect
from scripts.lib.progress import say

POINTS = 300
_MESSAGES = 40
# How many writes a card may hold back or do out of order
_AHEAD = 32
_FSCK_LEAVES_ERRORS = 4
# The agent ends within 20 s, the rest of an emulated system takes longer
_OFF_S = 240.0
_TELL_EVERY = 50
# Without these the agent has no channel; nothing in the trial changes them
_NEEDED = ("machine-id", "config", "sealed", "systemd/credential.secret")
# One of the two databases; the other holds memories
_INBOX = "inbox"


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """Messages that the agent had confirmed when the log had this length."""

    log_bytes: int
    message: str


def run(bench: Bench, amount: int) -> str:
    """Args: `amount` is how many places; 0 is some hundred."""
    points = amount or POINTS
    bench.chatting()
    bench.shell.send("systemctl poweroff")
    bench.guest.wait_for_end(_OFF_S)
    bench.stop()
    with tempfile.TemporaryDirectory(prefix="barnacle-cuts-") as folder:
        work = Path(folder)
        before, log = work / "data.ext4", work / "log"
        bench.card.data(before)
        bench.start(Conditions(log=log))
        acknowledged = list(_talk(bench, log))
        bench.stop()
        writes = write_log.read(log)
        expect(len(writes) > _MESSAGES, f"only {len(writes)} writes were noted")
        return _cut_everywhere(work, writes, acknowledged, points)


def _talk(bench: Bench, log: Path) -> Iterator[Acknowledged]:
    outside = bench.outside
    for number in range(_MESSAGES):
        text = f"say noted {number}"
        update = outside.write(text)
        outside.until(lambda sent=update: outside.was_confirmed(sent), "not taken", 120.0)
        # Not the log's own length: what QEMU has in hand is on no card
        yield Acknowledged(log.stat().st_size, text)


def _cut_everywhere(
    work: Path, writes: list[write_log.Write], acknowledged: list[Acknowledged], points: int
) -> str:
    chance = random.Random(20260101)  # noqa: S311 - the same moments each time
    replay = write_log.Replay(work / "data.ext4", DATA.start_bytes, work / "log", writes)
    begun_s, checked, repaired = time.monotonic(), 0, 0
    needed = needed_in(replay.content, work / "needed")
    expect(len(needed) >= len(_NEEDED), f"the card has only {sorted(needed)}")
    # After the first message: before it there is nothing that could be lost
    first = _writes_within(writes, acknowledged[0].log_bytes)
    for point, at in enumerate(sorted(chance.choices(range(first, len(writes)), k=points)), 1):
        replay.advance(at)
        copy = work / "cut.ext4"
        subprocess.run(["cp", "--sparse=always", replay.content, copy], check=True)
        with copy.open("r+b") as card:
            replay.cut(_AHEAD, chance, card)
        known = [one.message for one in acknowledged if _writes_within(writes, one.log_bytes) <= at]
        repaired += repair(copy, at)
        check(copy, work / "files", set(known), at)
        check_needed(copy, work / "needed", needed, at)
        checked += len(known)
        if point % _TELL_EVERY == 0:
            say(f"{point} of {points} places, {time.monotonic() - begun_s:.0f} s")
    return (
        f"{points} places among {len(writes)} writes: every file system repaired without a "
        f"question ({repaired} had something), every database whole, {checked} times that an "
        f"acknowledged message was looked for, none missing"
    )


def _writes_within(writes: list[write_log.Write], log_bytes: int) -> int:
    return sum(write.at + write.size <= log_bytes for write in writes)


def repair(copy: Path, at: int) -> int:
    """As the initial RAM disk does it; whether there was anything."""
    done = _run("e2fsck", "-p", copy)
    expect(done.returncode < _FSCK_LEAVES_ERRORS, f"cut at write {at}: e2fsck: {done.stdout}")
    return int(done.returncode > 0)


def check(copy: Path, folder: Path, known: set[str], at: int) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    _run("debugfs", "-R", f"rdump /barnacle {folder}", copy)
    kept: set[str] = set()
    for path in (folder / "barnacle").rglob("*.db"):
        with closing(sqlite3.connect(path)) as database:
            whole = database.execute("PRAGMA integrity_check").fetchone()[0]
            expect(whole == "ok", f"cut at write {at}: {path.name}: {whole}")
            tables = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            if (_INBOX,) in tables.fetchall():
                kept |= {row[0] for row in database.execute("SELECT text FROM inbox")}
    expect(known <= kept, f"cut at write {at}: lost {sorted(known - kept)}")


def needed_in(copy: Path, folder: Path) -> dict[str, bytes]:
    """Return the files that a start needs, by their places."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for place in _NEEDED:
        target = folder / place
        target.parent.mkdir(exist_ok=True)
        _run("debugfs", "-R", f"rdump /{place} {target.parent}", copy)
    found = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


def check_needed(copy: Path, folder: Path, needed: dict[str, bytes], at: int) -> None:
    found = needed_in(copy, folder)
    lost = sorted(place for place, content in needed.items() if found.get(place) != content)
    expect(not lost, f"cut at write {at}: {', '.join(lost)} not as before")


def _run(program: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    path = f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"
    command = [program, *map(str, arguments)]
    environment = {"PATH": path}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
