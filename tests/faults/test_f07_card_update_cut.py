"""F07: power goes at every step of an update of the card; the next start finds a whole system.

The real installation and trial on a folder with files for partitions, and the Pi's boot loader.
"""

import itertools
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agent.system import crash_points
from agent.update import bootloader
from agent.update.installation import Installation
from agent.update.records import UpdateRecords
from agent.update.trial import Trials, TrialStanding
from tests.fakes.card import NEW, OLD, Card, in_pieces, make_key
from tests.fakes.clock import SteppedClock

# Begun, each piece, written, verified, offered; asked; selecting, selected, keeping, kept
FEWEST_STEPS = 20
TREE = b"raspberrypi,4-model-b\0"


class PowerCut(BaseException):
    """Nothing comes after it."""


class Restarted(BaseException):
    """The system ends here and the boot loader begins; `argument` is what it was told."""

    def __init__(self, argument: str) -> None:
        super().__init__(argument)
        self.argument = argument


def restart(argument: str) -> None:
    raise Restarted(argument)


def trials(card: Card) -> Trials:
    machine = card.machine()
    return Trials(machine, UpdateRecords(machine.records), restart, SteppedClock())


def go_on(card: Card, act: Callable[[], object]) -> None:
    """The system does something that ends with its restart; then the first act of what starts."""
    try:
        act()
    except Restarted as restarted:
        card.start(is_trial="tryboot" in restarted.argument)
        trials(card).settle()


async def life(card: Card, content: bytes, end: Callable[[Trials], None]) -> None:
    """Written, tried, and settled by `end`."""
    await Installation(card.machine()).run(in_pieces(content))
    go_on(card, trials(card).begin)
    go_on(card, lambda: end(trials(card)))


@pytest.fixture(autouse=True)
def disarmed() -> Iterator[None]:
    yield
    crash_points.arm(None)


@pytest.fixture
def letter(monkeypatch: pytest.MonkeyPatch) -> None:
    """The file system says where on the partition the letter of config.txt is."""
    monkeypatch.setattr(bootloader, "_place_on_partition", lambda _path, at: at)


@pytest.fixture(scope="module")
def key(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_key(tmp_path_factory.mktemp("keys") / "key.pem")


@pytest.mark.parametrize("knows_tryboot", [True, False])
@pytest.mark.usefixtures("letter")
@pytest.mark.parametrize("is_kept", [True, False])
async def test_cut_at_any_step_a_whole_version_starts_and_the_update_can_be_begun_anew(
    tmp_path: Path, key: Path, *, is_kept: bool, knows_tryboot: bool
) -> None:
    end = Trials.keep if is_kept else lambda one: Trials.give_way(one, "barnacle.service failed")
    content = b""
    for step in itertools.count(1):
        card = Card(tmp_path / "card", key)
        if not knows_tryboot:
            (card.root / "proc/device-tree").mkdir()
            (card.root / "proc/device-tree/compatible").write_bytes(TREE)
        content = content or card.bundle()
        passed = await cut_at(step, card, content, end)
        # Power again: nobody asks for a trial then
        started = card.start()
        standing = trials(card).settle()
        assert_sound(card, standing)
        if passed is None:
            assert started.version == (NEW if is_kept else OLD)
            break
        if "update.selected" not in passed:
            assert started.version == OLD
        if is_kept:
            await begin_anew(card, content)
        shutil.rmtree(card.root)
    assert step > FEWEST_STEPS


async def cut_at(
    step: int, card: Card, content: bytes, end: Callable[[Trials], None]
) -> list[str] | None:
    """What was passed until power went; None when everything was done before."""
    passed: list[str] = []

    def at_point(name: str) -> None:
        passed.append(name)
        if "update.verified" not in passed:
            # Nothing names the slot that is being written
            assert not (card.firmware / "tryboot.txt").exists()
        if len(passed) == step:
            raise PowerCut

    crash_points.arm(at_point)
    try:
        await life(card, content, end)
    except PowerCut:
        return passed
    finally:
        crash_points.arm(None)
    return None


def assert_sound(card: Card, standing: TrialStanding) -> None:
    """What the records say is so; a start that nobody asks for brings the same or the old one."""
    records = UpdateRecords(card.machine().records)
    next_start = card.would_start()
    if standing is TrialStanding.ON_TRIAL:
        assert next_start.version == OLD
    else:
        assert next_start.version == card.machine().identity.version
    if standing is TrialStanding.WAITING:
        assert card.would_start(is_trial=True).version == NEW
    if standing is TrialStanding.SETTLED:
        assert records.trial() is None
    held, outcome = records.held(card.machine().running), records.outcome()
    if outcome is not None:
        assert card.machine().identity.version == (NEW if outcome.is_kept else OLD)
    if held is not None:
        assert held.slot == card.machine().other
        other = card.partition(held.slot).read_bytes()
        assert other.startswith(f"system of {held.version};".encode())


async def begin_anew(card: Card, content: bytes) -> None:
    """The owner tries again, whatever was left behind."""
    if trials(card).settle() is TrialStanding.ON_TRIAL:
        trials(card).keep()
    if card.machine().identity.version == NEW:
        return
    if UpdateRecords(card.machine().records).trial() is None:
        await Installation(card.machine()).run(in_pieces(content))
    go_on(card, trials(card).begin)
    trials(card).keep()
    assert card.start().version == NEW
