"""The shell scripts that end a trial where nothing else works any more."""

import subprocess
from pathlib import Path

import pytest

from agent.update.installation import Installation
from agent.update.records import Phase, Trial, UpdateRecords
from image.lib import layout
from tests.fakes.card import NEW, OLD, Card, Started, in_pieces, make_key

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "image/overlay/usr/lib/barnacle/give-way"
FIRST_TURN = ROOT / "image/lib/first-turn.sh"


def give_way(card: Card) -> str:
    """What it says; "restarted" where it has restarted the machine."""
    done = subprocess.run(
        [SCRIPT],
        env={
            "PATH": "/usr/bin:/bin",
            "GIVE_WAY_ROOT": str(card.root),
            "GIVE_WAY_RESTART": "echo restarted",
        },
        capture_output=True,
        check=True,
        text=True,
        timeout=15,
    )
    return done.stdout


@pytest.fixture
def card(tmp_path: Path) -> Card:
    return Card(tmp_path / "card", make_key(tmp_path / "key.pem"))


@pytest.fixture
async def started(card: Card) -> Card:
    """The new version runs, and has done nothing yet."""
    await Installation(card.machine()).run(in_pieces(card.bundle()))
    return card


def record(card: Card, phase: Phase, *, by_switch: bool) -> None:
    UpdateRecords(card.machine().records).write(Trial("B", NEW, OLD, phase, by_switch))


@pytest.mark.parametrize("phase", [Phase.TRYING, Phase.RUNNING])
def test_a_trial_by_tryboot_only_needs_a_restart(started: Card, phase: Phase) -> None:
    record(started, phase, by_switch=False)
    started.start(is_trial=True)
    assert "restarted" in give_way(started)
    assert started.would_start() == Started("A", OLD)


def test_a_trial_by_config_txt_names_the_other_slot_first(started: Card) -> None:
    record(started, Phase.TRYING, by_switch=True)
    config = started.firmware / "config.txt"
    config.write_text(config.read_text().replace("os_prefix=A/", "os_prefix=B/"))
    before = config.read_text()
    assert started.start() == Started("B", NEW)
    assert "restarted" in give_way(started)
    assert config.read_text() == before.replace("os_prefix=B/", "os_prefix=A/")
    assert started.would_start() == Started("A", OLD)


def test_a_version_that_is_kept_stays(started: Card) -> None:
    record(started, Phase.RUNNING, by_switch=True)
    config = started.firmware / "config.txt"
    config.write_text(config.read_text().replace("os_prefix=A/", "os_prefix=B/"))
    started.start()
    assert give_way(started) == ""
    assert started.would_start() == Started("B", NEW)


def test_without_a_trial_nothing_is_done(card: Card) -> None:
    assert give_way(card) == ""


def test_the_version_before_does_not_give_way(started: Card) -> None:
    record(started, Phase.TRYING, by_switch=False)
    assert give_way(started) == ""


# So that the line lies within a sector, over the border of two, and right behind it
@pytest.fixture(params=[5000, 5120 - 155, 5120 - 164, 5120 - 165])
def partition(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A firmware partition on which config.txt begins somewhere; slot B is on trial."""
    folder = tmp_path / "dev/disk/by-partuuid"
    folder.mkdir(parents=True)
    path = folder / layout.FIRMWARE.partuuid
    path.write_bytes(b"\0" * request.param + layout.config_txt("B").encode() + b"\0" * 5000)
    return path


def first_turn(partition: Path, words: str) -> None:
    root = partition.parents[3]
    for name in ("proc", "run"):
        (root / name).mkdir(exist_ok=True)
    (root / "proc/cmdline").write_text(f"ro panic=10 {words}\n")
    script = root / "first-turn"
    script.write_text(FIRST_TURN.read_text().replace("@FIRMWARE@", layout.FIRMWARE.partuuid))
    command = ["/bin/sh", script]
    environment = {"PATH": "/usr/bin:/bin", "FIRST_TURN_ROOT": str(root)}
    subprocess.run(command, env=environment, check=True, capture_output=True, timeout=15)


def letter_at(partition: Path) -> int:
    return partition.read_bytes().index(b"os_prefix=B/") + len("os_prefix=")


def test_the_initial_ram_disk_names_the_slot_before_and_changes_nothing_else(
    partition: Path,
) -> None:
    before, at = partition.read_bytes(), letter_at(partition)
    first_turn(partition, f"barnacle.slot=B barnacle.switch={at}")
    assert partition.read_bytes() == before[:at] + b"A" + before[at + 1 :]


@pytest.mark.parametrize("words", ["barnacle.slot=B", "barnacle.slot=A barnacle.switch={at}"])
def test_the_initial_ram_disk_leaves_other_starts_alone(partition: Path, words: str) -> None:
    before = partition.read_bytes()
    first_turn(partition, words.format(at=letter_at(partition)))
    assert partition.read_bytes() == before


@pytest.mark.parametrize("shift", [-1, 1, 3000])
def test_the_initial_ram_disk_writes_nowhere_else(partition: Path, shift: int) -> None:
    before = partition.read_bytes()
    first_turn(partition, f"barnacle.slot=B barnacle.switch={letter_at(partition) + shift}")
    assert partition.read_bytes() == before
