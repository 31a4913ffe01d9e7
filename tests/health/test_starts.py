import errno
import os
from pathlib import Path

import pytest

from agent.health.starts import MANY_STARTS, WITHIN_S, Starts
from tests.fakes.clock import SteppedClock


@pytest.fixture
def clock() -> SteppedClock:
    return SteppedClock()


@pytest.fixture
def starts(tmp_path: Path, clock: SteppedClock) -> Starts:
    return Starts(tmp_path / "starts.json", clock)


def test_the_fifth_start_in_ten_minutes_is_one_too_many(
    starts: Starts, clock: SteppedClock
) -> None:
    said = []
    for _ in range(MANY_STARTS + 2):
        said.append(starts.begin())
        clock.advance(10)
    assert said == [False] * (MANY_STARTS - 1) + [True] * 3


def test_an_orderly_end_takes_them_back(starts: Starts) -> None:
    for _ in range(MANY_STARTS):
        starts.begin()
    starts.end()
    assert not starts.begin()


def test_starts_that_are_far_apart_are_no_loop(starts: Starts, clock: SteppedClock) -> None:
    for _ in range(MANY_STARTS * 2):
        assert not starts.begin()
        clock.advance(WITHIN_S / (MANY_STARTS - 1))


def test_a_clock_that_goes_back_hides_no_loop(tmp_path: Path) -> None:
    path = tmp_path / "starts.json"
    said = [Starts(path, SteppedClock(1_000_000.0 - hour)).begin() for hour in range(MANY_STARTS)]
    assert said[-1]


def test_a_start_that_a_power_cut_ended_is_no_crash(
    starts: Starts, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = []
    for number in range(MANY_STARTS * 2):
        monkeypatch.setattr("agent.health.starts.boot_id", lambda boot=number: f"boot {boot}")
        said.append(starts.begin())
    assert said == [False] * (MANY_STARTS * 2)
    assert [starts.begin() for _ in range(MANY_STARTS - 1)][-1]


@pytest.mark.parametrize("content", [b"", b"{}", b"[1.5]", b'["x"]', b"\xff", b'[[1.5,"c0\xb0e"]]'])
def test_what_cannot_be_read_counts_for_nothing(
    tmp_path: Path, starts: Starts, content: bytes
) -> None:
    (tmp_path / "starts.json").write_bytes(content)
    assert not starts.begin()


def test_a_card_that_takes_nothing_any_more_lets_the_agent_start(
    starts: Starts, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(_handle: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "fsync", failing)
    assert not starts.begin()
