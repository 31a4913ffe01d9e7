"""A version's trial: asked for, kept, given up, and what each start means."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent.errors import UpdateRefused
from agent.system import crash_points
from agent.update import bootloader
from agent.update.installation import Installation
from agent.update.records import Held, Phase, Trial, UpdateOutcome, UpdateRecords
from agent.update.trial import TRYBOOT, Trials, TrialStanding
from tests.fakes.card import NEW, OLD, Card, NothingStarts, Started, in_pieces
from tests.fakes.clock import SteppedClock


class Restarts(list[str]):
    """What the boot loader was told at each restart that was asked for."""

    def __call__(self, argument: str) -> None:
        self.append(argument)


def trials_of(card: Card, restarts: Restarts | None = None) -> Trials:
    machine = card.machine()
    restart = Restarts() if restarts is None else restarts
    return Trials(machine, UpdateRecords(machine.records), restart, SteppedClock())


@pytest.fixture
async def updated(card: Card) -> Card:
    """The new version waits in slot B."""
    await Installation(card.machine()).run(in_pieces(card.bundle()))
    return card


@pytest.fixture
def on_trial(updated: Card) -> Card:
    trials_of(updated).begin()
    assert updated.start(is_trial=True) == Started("B", NEW)
    assert trials_of(updated).settle() is TrialStanding.ON_TRIAL
    return updated


async def test_a_trial_is_asked_for_once_and_only_of_the_boot_loader(updated: Card) -> None:
    restarts = Restarts()
    trials_of(updated, restarts).begin()
    assert restarts == [TRYBOOT]
    assert updated.would_start() == Started("A", OLD)
    assert updated.would_start(is_trial=True) == Started("B", NEW)


async def test_what_had_failed_before_is_on_record(updated: Card) -> None:
    trials_of(updated).begin(["barnacle-provision.service"])
    trial = UpdateRecords(updated.machine().records).trial()
    assert trial is not None
    assert trial.failed_before == ("barnacle-provision.service",)


async def test_what_waits_goes_on_waiting_at_other_starts(updated: Card) -> None:
    updated.start()
    assert trials_of(updated).settle() is TrialStanding.WAITING
    assert updated.would_start(is_trial=True) == Started("B", NEW)


async def test_without_a_version_that_waits_there_is_no_trial(card: Card) -> None:
    assert trials_of(card).settle() is TrialStanding.SETTLED
    with pytest.raises(UpdateRefused, match="no version waits"):
        trials_of(card).begin()


async def test_until_it_is_kept_every_other_start_is_the_version_before(on_trial: Card) -> None:
    assert on_trial.would_start() == Started("A", OLD)


async def test_what_is_kept_starts_from_then_on(on_trial: Card) -> None:
    trials_of(on_trial).keep()
    assert on_trial.start() == Started("B", NEW)
    assert trials_of(on_trial).settle() is TrialStanding.SETTLED
    records = UpdateRecords(on_trial.machine().records)
    assert records.outcome() == UpdateOutcome(NEW, OLD, is_kept=True, at_s=SteppedClock().wall_s())
    assert records.held("B") == Held("A", OLD, NEW)


async def test_the_version_before_says_why_it_is_back(on_trial: Card) -> None:
    restarts = Restarts()
    trials_of(on_trial, restarts).give_way("barnacle.service failed")
    assert restarts == [""]
    assert on_trial.start() == Started("A", OLD)
    assert trials_of(on_trial).settle() is TrialStanding.SETTLED
    outcome = UpdateRecords(on_trial.machine().records).outcome()
    assert outcome is not None
    assert (outcome.is_kept, outcome.reason) == (False, "barnacle.service failed")
    assert on_trial.would_start(is_trial=True) == Started("A", OLD)


async def test_a_trial_that_ends_by_itself_is_over_and_said_so(on_trial: Card) -> None:
    on_trial.start()
    trials_of(on_trial).settle()
    outcome = UpdateRecords(on_trial.machine().records).outcome()
    assert outcome is not None
    assert "did not start, or stopped before" in outcome.reason


async def test_the_owner_can_go_back_after_it_was_kept_and_forth_again(on_trial: Card) -> None:
    trials_of(on_trial).keep()
    on_trial.start()
    restarts = Restarts()
    trials_of(on_trial, restarts).go_back()
    assert restarts == [""]
    assert on_trial.start() == Started("A", OLD)
    trials_of(on_trial).go_back()
    assert on_trial.start() == Started("B", NEW)


async def test_a_cut_on_the_way_back_leaves_a_way_forth(on_trial: Card) -> None:
    trials_of(on_trial).keep()
    on_trial.start()

    def cut(name: str) -> None:
        if name == "update.selected":
            raise KeyboardInterrupt

    crash_points.arm(cut)
    try:
        with pytest.raises(KeyboardInterrupt):
            trials_of(on_trial).go_back()
    finally:
        crash_points.arm(None)
    # Still running: it can be asked for again
    records = UpdateRecords(on_trial.machine().records)
    assert records.held("B") == Held("A", OLD, NEW)
    assert on_trial.start() == Started("A", OLD)
    assert records.held("A") == Held("B", NEW, OLD)
    trials_of(on_trial).go_back()
    assert on_trial.start() == Started("B", NEW)


async def test_a_record_of_an_earlier_version_offers_no_slot_that_runs(card: Card) -> None:
    records = UpdateRecords(card.machine().records)
    records.write(Held("A", OLD))
    assert records.held("A") is None


async def test_what_waits_can_be_forgotten(updated: Card) -> None:
    trials_of(updated).go_back()
    assert updated.would_start(is_trial=True) == Started("A", OLD)
    assert UpdateRecords(updated.machine().records).trial() is None


async def test_the_owner_can_end_a_trial(on_trial: Card) -> None:
    restarts = Restarts()
    trials_of(on_trial, restarts).go_back()
    assert restarts == [""]
    assert on_trial.start() == Started("A", OLD)


async def test_without_a_version_before_there_is_no_way_back(card: Card) -> None:
    with pytest.raises(UpdateRefused, match="has no complete version"):
        trials_of(card).go_back()


async def test_what_is_not_on_trial_is_neither_kept_nor_given_up(updated: Card) -> None:
    for act in (trials_of(updated).keep, lambda: trials_of(updated).give_way("no")):
        with pytest.raises(UpdateRefused, match="not on trial"):
            act()


async def test_a_trial_gives_way_also_where_no_record_can_be_written(
    on_trial: Card, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_path: Path, _content: bytes) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("agent.update.records.write_atomic", full)
    restarts = Restarts()
    trials_of(on_trial, restarts).give_way("barnacle.service failed")
    assert restarts == [""]


class TestAKernelWithoutTryboot:
    """Debian's: config.txt names the new version until its first act is to name the old one."""

    @pytest.fixture(params=["noted", "unknown"])
    def _letter(self, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
        """Whether the file system says where the letter is."""

        def place(_path: Path, at: int) -> int:
            if request.param == "unknown":
                raise OSError(22, "Invalid argument")
            return at + 4096

        monkeypatch.setattr(bootloader, "_place_on_partition", place)

    @pytest.fixture
    async def without(self, updated: Card, _letter: None) -> Card:
        tree = updated.root / "proc/device-tree"
        tree.mkdir()
        (tree / "compatible").write_bytes(b"raspberrypi,4-model-b\0brcm,bcm2711\0")
        assert not updated.machine().knows_tryboot
        return updated

    async def test_the_first_act_of_the_new_version_is_to_name_the_old_one(
        self, without: Card
    ) -> None:
        restarts = Restarts()
        trials_of(without, restarts).begin()
        assert restarts == [""]
        assert without.start() == Started("B", NEW)
        assert trials_of(without).settle() is TrialStanding.ON_TRIAL
        assert without.would_start() == Started("A", OLD)

    async def test_a_start_that_comes_to_nothing_is_followed_by_one_of_the_old_version(
        self, without: Card, request: pytest.FixtureRequest
    ) -> None:
        trials_of(without).begin()
        without.start()
        if "noted" in request.node.name:
            # The initial RAM disk has seen to it; nothing of the new version was started
            assert without.start() == Started("A", OLD)
            assert trials_of(without).settle() is TrialStanding.SETTLED
            outcome = UpdateRecords(without.machine().records).outcome()
            assert outcome is not None
            assert not outcome.is_kept

    async def test_what_is_kept_does_not_give_way_at_later_starts(self, without: Card) -> None:
        trials_of(without).begin()
        without.start()
        trials_of(without).settle()
        trials_of(without).keep()
        for _ in range(2):
            assert without.start() == Started("B", NEW)

    async def test_it_is_kept_all_the_same(self, without: Card) -> None:
        trials_of(without).begin()
        without.start()
        trials_of(without).settle()
        trials_of(without).keep()
        assert without.start() == Started("B", NEW)
        assert trials_of(without).settle() is TrialStanding.SETTLED

    async def test_a_pi_whose_kernel_has_the_mailbox_asks_the_boot_loader(
        self, without: Card
    ) -> None:
        (without.root / "dev/vcio").touch()
        restarts = Restarts()
        trials_of(without, restarts).begin()
        assert restarts == [TRYBOOT]


async def test_a_damaged_record_is_none(card: Card) -> None:
    records = UpdateRecords(card.machine().records)
    records.write(Trial("B", NEW, OLD, Phase.TRYING))
    (records.folder / "trial.json").write_text('{"slot": "B", "ver')
    assert trials_of(card).settle() is TrialStanding.SETTLED


async def test_the_model_of_the_boot_loader_starts_nothing_that_is_not_whole(card: Card) -> None:
    (card.firmware / "A/initrd.img").write_bytes(b"half")
    with pytest.raises(NothingStarts):
        card.start()


async def test_nobody_goes_back_to_a_slot_that_is_being_written(on_trial: Card) -> None:
    trials_of(on_trial).keep()
    on_trial.start()
    content = on_trial.bundle("0.3.0")
    is_waiting, has_gone_back, half = asyncio.Event(), asyncio.Event(), len(content) // 2

    async def cut_in_the_middle() -> AsyncIterator[bytes]:
        is_waiting.set()
        await has_gone_back.wait()
        yield content[:half]

    writing = asyncio.ensure_future(Installation(on_trial.machine()).run(cut_in_the_middle()))
    await is_waiting.wait()
    with pytest.raises(UpdateRefused, match="another update is being written"):
        trials_of(on_trial).go_back()
    has_gone_back.set()
    with pytest.raises(UpdateRefused, match="incomplete"):
        await writing
    assert on_trial.start() == Started("B", NEW)
