"""The order of the trials, the moments of the cuts, and what is kept of a bad one."""

import itertools
from collections import Counter
from pathlib import Path

import pytest

from image.lib import layout, trial
from image.lib.emulated.card import Card
from image.lib.emulated.evidence import STARTS_NOTED, Evidence
from image.lib.emulated.guest import with_console
from image.lib.trials import ORDER, system
from image.lib.trials.power_cut import Moment, moments_of


def test_without_a_seed_trials_come_as_they_are_listed() -> None:
    assert trial.in_order(ORDER, None) == list(ORDER)


def test_a_seed_shuffles_the_trials_the_same_each_time() -> None:
    shuffled = trial.in_order(ORDER, 1)
    assert shuffled == trial.in_order(ORDER, 1)
    assert shuffled not in (list(ORDER), trial.in_order(ORDER, 2))
    assert sorted(shuffled) == sorted(ORDER)


@pytest.mark.parametrize("seed", range(20))
def test_a_new_card_is_started_before_it_is_none(seed: int) -> None:
    assert trial.in_order([*reversed(ORDER)], seed)[0] == "first_start"


def test_half_of_the_cuts_are_in_starts_and_half_of_those_after_a_start_that_was_cut() -> None:
    counts = Counter(moments_of(28))
    assert counts[Moment.MESSAGES] == 14
    assert counts[Moment.START] == counts[Moment.START_AGAIN] == 7


def test_a_cut_in_a_start_follows_the_cut_that_caused_it() -> None:
    moments = moments_of(30)
    for before, moment in itertools.pairwise(moments):
        assert moment is not Moment.START or before is Moment.MESSAGES
        assert (moment is Moment.START_AGAIN) == (before is Moment.START)


@pytest.fixture
def card(tmp_path: Path) -> Card:
    image = tmp_path / "image"
    with image.open("wb") as file:
        file.truncate(layout.IMAGE_BYTES)
    (tmp_path / "work").mkdir()
    return Card(image, tmp_path / "work/card.img")


def test_what_goes_with_a_bad_trial_is_kept(tmp_path: Path, card: Card) -> None:
    evidence = Evidence(tmp_path / "work", tmp_path / "bad")
    assert evidence.note(card) is None
    evidence.is_noting = True
    for number in range(STARTS_NOTED + 1):
        writes = evidence.note(card)
        assert writes is not None
        writes.write_text(f"start {number}")
    (tmp_path / "work/console.log").write_text("said")
    kept = evidence.keep("power_cut", card)
    assert (kept / "console.log").read_text() == "said"
    assert (kept / "card.img").stat().st_size == card.path.stat().st_size
    starts = sorted(kept.glob("start-*"))
    assert [path.name for path in starts] == ["start-2", "start-3", "start-4"]
    assert (starts[-1] / "writes").read_text() == "start 3"
    assert (starts[-1] / "data.ext4").stat().st_size > layout.DATA.size_bytes
    evidence.forget()
    assert evidence.noted() == []
    assert evidence.keep("power_cut", card) != kept


def test_each_stage_of_a_start_is_told_once_as_it_was_reached_first() -> None:
    log = """\
[    4.812345] barnacle systemd[1]: Reached target local-fs.target - Local File Systems.
[    5.100000] barnacle systemd[1]: Starting barnacle.service - Barnacle, an agent...
[   12.450000] barnacle systemd[1]: Started barnacle.service - Barnacle, an agent.
[  312.450000] barnacle systemd[1]: Started barnacle.service - Barnacle, an agent."""
    assert system.stages_of(log) == (
        "data mounted 4.8 s, sysinit not in the journal, agent begun 5.1 s, agent ready 12.4 s"
    )


def test_no_port_of_another_number_takes_the_console_of_the_emulated_one() -> None:
    words = with_console(layout.command_line("A")).split()
    serial = [word for word in words if word.startswith("console=ttyAMA")]
    assert serial == ["console=ttyAMA0,115200"]
    assert [word for word in words if word.startswith("console=")][-1] == serial[0]
    assert f"root=PARTUUID={layout.SLOTS['A'].partuuid}" in words


def test_a_new_card_is_started_first_also_where_it_is_named_last() -> None:
    assert trial.in_order(["read_only", "full_disk", "first_start"], None) == [
        *("first_start", "read_only", "full_disk")
    ]
