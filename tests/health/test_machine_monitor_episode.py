from pathlib import Path

import pytest

from agent.health.machine_monitor import QUIET_S, USUAL_EVERY_S, Episode, Sense
from agent.machine.readings import Readings


class Body:
    """Says what it is told to, and remembers whether it was asked as one that hurts."""

    def __init__(self) -> None:
        self.says: str | None = ""
        self.asked: list[bool] = []

    def judge(self, readings: Readings, *, is_on: bool) -> str | None:
        self.asked.append(is_on)
        return self.says


@pytest.fixture
def body() -> Body:
    return Body()


READINGS = Readings(Path("/nowhere"), Path("/nowhere"))


def test_it_begins_once_and_says_how_it_began(body: Body) -> None:
    episode = Episode(Sense("heat", body.judge))
    body.says = "81 degrees"
    assert episode.look(READINGS, 0)
    body.says = "90 degrees"
    assert not episode.look(READINGS, 30)
    assert episode.said == "81 degrees"
    assert body.asked == [False, True]


def test_it_is_believed_after_so_many_looks_in_a_row(body: Body) -> None:
    episode = Episode(Sense("heat", body.judge, looks=3))
    for says in ("hot", "hot", "", "hot", "hot"):
        body.says = says
        assert not episode.look(READINGS, 0)
    body.says = "hot"
    assert episode.look(READINGS, 0)


def test_it_is_over_after_it_was_well_for_a_while(body: Body) -> None:
    episode = Episode(Sense("heat", body.judge))
    body.says = "hot"
    episode.look(READINGS, 0)
    body.says = ""
    assert not episode.look(READINGS, 30)
    assert not episode.look(READINGS, 29 + QUIET_S)
    assert episode.said
    assert episode.look(READINGS, 30 + QUIET_S)
    assert not episode.said


def test_what_comes_and_goes_is_one_episode(body: Body) -> None:
    episode = Episode(Sense("heat", body.judge))
    begun = 0
    for minute in range(60):
        body.says = "hot" if minute % 9 == 0 else ""
        begun += episode.look(READINGS, 60.0 * minute) and bool(episode.said)
    assert begun == 1


def test_where_nobody_tells_nothing_changes(body: Body) -> None:
    episode = Episode(Sense("heat", body.judge, every_s=2), "hot")
    body.says = None
    assert not episode.look(READINGS, 10 * QUIET_S)
    assert episode.said == "hot"
    # And it is not asked as often
    assert episode.due_s == 10 * QUIET_S + USUAL_EVERY_S
    body.says = ""
    episode.look(READINGS, 0)
    assert episode.due_s == 2
