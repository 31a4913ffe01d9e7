from pathlib import Path

import pytest

from agent.errors import BadArguments
from agent.schedule.timer import CountdownTimer
from agent.schedule.timer_store import TimerStore


def timer(person: str = "owner") -> CountdownTimer:
    return CountdownTimer(number=0, seconds=60, channel="fake", target="chat", person=person)


def test_looking_makes_no_file(tmp_path: Path) -> None:
    store = TimerStore(tmp_path / "timers.json")
    assert store.every() == []
    assert not store.remove(1)
    assert not (tmp_path / "timers.json").exists()


def test_a_number_is_given_once_while_it_is_there(tmp_path: Path) -> None:
    store = TimerStore(tmp_path / "timers.json")
    first, second = store.add(timer()), store.add(timer())
    assert (first.number, second.number) == (1, 2)
    assert store.remove(1)
    assert store.add(timer()).number == 3
    assert [one.number for one in TimerStore(tmp_path / "timers.json").every()] == [2, 3]


def test_what_is_gone_cannot_be_changed(tmp_path: Path) -> None:
    with pytest.raises(BadArguments, match="has already ended"):
        TimerStore(tmp_path / "timers.json").change(1, lambda one: one)


def test_what_makes_no_sense_is_left(tmp_path: Path) -> None:
    store = TimerStore(tmp_path / "timers.json")
    store.add(timer())
    path = tmp_path / "timers.json"
    path.write_text(path.read_text().replace('"seconds": 60', '"seconds": -60'))
    assert store.every() == []


def test_what_nobody_can_be_trusted_with_is_left(tmp_path: Path) -> None:
    store = TimerStore(tmp_path / "timers.json")
    store.add(timer())
    path = tmp_path / "timers.json"
    path.write_text(path.read_text().replace('"trust": 0', '"trust": 6'))
    assert store.every() == []
