from pathlib import Path

import pytest
from msgspec.structs import replace

from agent.memory import tombstones
from agent.memory.base import MemoryEntry, Scope
from agent.memory.tombstones import NAME, Tombstones
from tests.fakes.memory import entry

NOW_S = 1_800_000_000.0


def memory(key: str, at_s: float = 100.0, person: str = "owner") -> MemoryEntry:
    made = entry("anything")
    return replace(made, key=key, updated_at_s=at_s, scope=Scope(person))


def test_what_was_forgotten_is_dead_for_ever(tmp_path: Path) -> None:
    Tombstones(tmp_path).add([memory("a")], NOW_S)
    again = Tombstones(tmp_path)
    assert again.is_dead(memory("a"))
    assert not again.is_dead(memory("b"))
    assert not again.is_dead(memory("a", person="mei"))


def test_what_is_told_again_later_lives(tmp_path: Path) -> None:
    graves = Tombstones(tmp_path)
    graves.add([memory("a")], NOW_S)
    assert not graves.is_dead(memory("a", NOW_S + 1))


def test_a_wrong_clock_brings_nothing_back(tmp_path: Path) -> None:
    told_in_2096_s = 4_000_000_000.0
    graves = Tombstones(tmp_path)
    graves.add([memory("a", told_in_2096_s)], NOW_S)
    assert graves.is_dead(memory("a", told_in_2096_s))


def test_what_is_told_again_by_a_clock_that_was_set_back_lives(tmp_path: Path) -> None:
    graves = Tombstones(tmp_path)
    graves.add([memory("a")], NOW_S)
    graves.allow(memory("a", 5.0))
    assert not graves.is_dead(memory("a", 5.0))
    assert not Tombstones(tmp_path).is_dead(memory("a", 5.0))


def test_the_file_names_nothing_that_was_forgotten(tmp_path: Path) -> None:
    Tombstones(tmp_path).add([memory("the-surprise-party")], NOW_S)
    assert "surprise" not in (tmp_path / NAME).read_text()
    assert (tmp_path / NAME).stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("lost_bytes", range(1, 40, 3))
def test_a_line_that_was_cut_spoils_no_other(tmp_path: Path, lost_bytes: int) -> None:
    graves = Tombstones(tmp_path)
    graves.add([memory("a")], NOW_S)
    graves.add([memory("b")], NOW_S)
    path = tmp_path / NAME
    path.write_bytes(path.read_bytes()[:-lost_bytes])
    again = Tombstones(tmp_path)
    again.add([memory("c")], NOW_S)
    assert all(Tombstones(tmp_path).is_dead(memory(key)) for key in "ac")


def test_what_another_process_forgets_is_seen(tmp_path: Path) -> None:
    daemon, command = Tombstones(tmp_path), Tombstones(tmp_path)
    assert not daemon.is_dead(memory("a"))
    command.add([memory("a")], NOW_S)
    assert daemon.is_dead(memory("a"))
    daemon.add([memory("b")], NOW_S)
    assert all(Tombstones(tmp_path).is_dead(memory(key)) for key in "ab")


def test_the_file_has_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tombstones, "MAX_TOMBSTONES", 10)
    graves = Tombstones(tmp_path)
    for number in range(30):
        graves.add([memory(f"k{number}")], NOW_S + number)
    again = Tombstones(tmp_path)
    dead = [number for number in range(30) if again.is_dead(memory(f"k{number}"))]
    assert dead == list(range(20, 30))
    assert len((tmp_path / NAME).read_text().splitlines()) == 11
