import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC
from pathlib import Path

import pytest
from msgspec.structs import replace

from agent.backup import nightly as nightly_module
from agent.backup.nightly import MOST_SENT_BYTES, NightlyBackup, run_apart
from agent.backup.record import LastBackup, read_record, write_record
from agent.errors import StorageFull
from agent.messages import Attachment
from agent.passage import Passage
from agent.schedule.settings import BackupSettings
from tests.fakes.clock import SteppedClock

# 2027-01-15 08:00 UTC
NOW_S = 1_800_000_000.0
HALF_PAST_THREE_S = NOW_S - 4.5 * 3600


@dataclass
class Owner:
    told: list[str] = field(default_factory=list)
    files: list[Attachment] = field(default_factory=list)

    async def tell(self, text: str) -> None:
        self.told.append(text)

    async def show(self, text: str, files: Sequence[Attachment], line: str) -> None:
        self.told.append(f"{text} {line}")
        self.files.extend(files)

    async def begin(self, subject: str, words: Passage) -> None:
        raise AssertionError


@dataclass
class Program:
    """The command, as a test wants it to end."""

    state_dir: Path
    status: int = 0
    said: str = ""
    size_bytes: int = 1000
    left_out: tuple[str, ...] = ()
    ran: list[Sequence[str]] = field(default_factory=list)

    async def __call__(self, words: Sequence[str]) -> tuple[int, str]:
        self.ran.append(words)
        if not self.status:
            made = LastBackup(
                made_at_s=NOW_S,
                where="/b/x",
                size_bytes=self.size_bytes,
                left_out=self.left_out,
            )
            write_record(self.state_dir, made)
        return self.status, self.said


def nightly(
    state_dir: Path, program: Program, *, send: bool = False, wall_s: float = NOW_S
) -> NightlyBackup:
    settings = BackupSettings(passphrase_file="/x", send=send)
    clock = SteppedClock(wall_s)
    return NightlyBackup(settings, Path("/c.toml"), state_dir, clock, program, lambda: UTC)


@pytest.mark.parametrize(
    ("tried_at_s", "due"),
    [
        (0.0, True),
        (HALF_PAST_THREE_S - 1, True),
        (HALF_PAST_THREE_S + 1, False),
        (NOW_S - 2 * 86400, True),
        # The clock has gone back a little since, or ten years
        (NOW_S + 60, False),
        (NOW_S + 10 * 365 * 86400, True),
    ],
)
def test_it_is_due_once_after_its_time(tmp_path: Path, tried_at_s: float, *, due: bool) -> None:
    write_record(tmp_path, LastBackup(tried_at_s=tried_at_s))
    assert nightly(tmp_path, Program(tmp_path)).is_due() is due


def test_a_device_without_any_backup_makes_one_soon(tmp_path: Path) -> None:
    assert nightly(tmp_path, Program(tmp_path)).is_due()


def test_a_clock_that_is_not_set_makes_none(tmp_path: Path) -> None:
    assert not nightly(tmp_path, Program(tmp_path), wall_s=1000.0).is_due()


async def test_it_runs_the_command_and_records_it(tmp_path: Path) -> None:
    program, owner = Program(tmp_path), Owner()
    await nightly(tmp_path, program).make(owner)
    assert program.ran[0][-4:] == ["--config", "/c.toml", "--state-dir", str(tmp_path)]
    record = read_record(tmp_path)
    assert record is not None
    assert (record.made_at_s, record.tried_at_s, record.trouble) == (NOW_S, NOW_S, "")
    assert owner.told == []


async def test_a_failure_is_told_once_and_kept(tmp_path: Path) -> None:
    program = Program(tmp_path, status=1, said="noise\nbarnacle: /media/usb is no folder\n")
    owner = Owner()
    for _ in range(2):
        await nightly(tmp_path, program).make(owner)
    assert owner.told == ["I could not make the backup of tonight: /media/usb is no folder"]
    record = read_record(tmp_path)
    assert record is not None
    assert record.trouble == "/media/usb is no folder"
    assert not nightly(tmp_path, program).is_due()


class Ended(Exception):
    """The clock of a test has no further looks."""


class Looks(SteppedClock):
    """Clock that ends a run after some looks."""

    def __init__(self, looks: int) -> None:
        super().__init__(NOW_S)
        self._left = looks

    async def sleep(self, duration_s: float) -> None:
        if not self._left:
            raise Ended
        self._left -= 1
        await super().sleep(duration_s)


async def test_where_it_cannot_be_recorded_it_is_tried_once_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_given: object) -> None:
        raise StorageFull("no room")

    program, owner = Program(tmp_path, status=1, said="barnacle: 0 MB free"), Owner()
    monkeypatch.setattr(nightly_module, "write_record", full)
    wanted = replace(nightly(tmp_path, program), clock=Looks(10))
    with pytest.raises(Ended):
        await wanted.run(owner)
    assert owner.told == ["I could not make the backup of tonight: 0 MB free"]
    assert len(program.ran) == 1


async def test_the_next_night_is_tried_again_where_nothing_can_be_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_given: object) -> None:
        raise StorageFull("no room")

    program = Program(tmp_path, status=1, said="barnacle: 0 MB free")
    monkeypatch.setattr(nightly_module, "write_record", full)
    wanted = replace(nightly(tmp_path, program), clock=Looks(25 * 60))
    with pytest.raises(Ended):
        await wanted.run(Owner())
    assert len(program.ran) == 2


async def test_a_program_that_cannot_be_started_is_told_and_ends_nothing(tmp_path: Path) -> None:
    async def missing(_words: Sequence[str]) -> tuple[int, str]:
        raise OSError(12, "Cannot allocate memory")

    owner, program = Owner(), Program(tmp_path)
    wanted = replace(nightly(tmp_path, program), run_program=missing, clock=Looks(3))
    with pytest.raises(Ended):
        await wanted.run(owner)
    why = "the program cannot be started: Cannot allocate memory"
    assert owner.told == [f"I could not make the backup of tonight: {why}"]
    record = read_record(tmp_path)
    assert record is not None
    assert record.trouble == why


async def test_what_the_last_one_did_not_lack_is_told_once(tmp_path: Path) -> None:
    program, owner = Program(tmp_path, left_out=("Wi-Fi: only root",)), Owner()
    await nightly(tmp_path, program).make(owner)
    assert owner.told == []
    program.left_out += ("state/log cannot be read",)
    for _ in range(2):
        await nightly(tmp_path, program).make(owner)
    assert owner.told == [
        "The backup of tonight lacks more than the last one: state/log cannot be read"
    ]


async def test_it_is_sent_where_that_is_wanted(tmp_path: Path) -> None:
    owner = Owner()
    await nightly(tmp_path, Program(tmp_path), send=True).make(owner)
    assert [file.path for file in owner.files] == ["/b/x"]


async def test_a_large_one_is_only_told_of(tmp_path: Path) -> None:
    owner = Owner()
    program = Program(tmp_path, size_bytes=MOST_SENT_BYTES + 1)
    await nightly(tmp_path, program, send=True).make(owner)
    assert owner.files == []
    at = time.strftime("%Y-%m-%d", time.localtime(NOW_S))
    assert owner.told[0].startswith(f"The backup of {at} has 45 MB, too much for a chat")


async def test_the_real_command_says_why_it_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    config = tmp_path / "c.toml"
    config.write_text('[backup]\npassphrase_file = "/nonexistent/words"\n')
    real = NightlyBackup(
        BackupSettings(passphrase_file="/x"), config, tmp_path, SteppedClock(), run_apart
    )
    owner = Owner()
    await real.make(owner)
    assert owner.told == [
        "I could not make the backup of tonight: /nonexistent/words: No such file or directory"
    ]
