from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from agent.access.people import PersonAccount
from scripts.lib.bench.channels_day import Day
from scripts.lib.bench.channels_seen import BusyModel, Message, Plan, Sample
from scripts.lib.bench.channels_table import delivered, growth, guide_allows_twice
from scripts.lib.bench.correspondents.base import ANSWER, Correspondents, Line
from tests.fakes.daemon_process import DaemonProcess


class Nobody(Correspondents):
    """People of a platform who are never asked for anything."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.table = ""
        self.accounts: Sequence[PersonAccount] = ()
        self.lines: Sequence[Line] = ()

    async def ready(self) -> None:
        raise NotImplementedError

    async def write(self, person: int, text: str) -> None:
        raise NotImplementedError

    async def answers(self) -> Counter[str]:
        raise NotImplementedError


@pytest.fixture
def day(tmp_path: Path) -> Day:
    agent = DaemonProcess(tmp_path)
    return Day([], agent, BusyModel(), tmp_path / "agent.db", Plan(10))


@pytest.mark.parametrize(
    ("platform", "times", "is_cut_off", "held"),
    [
        ("matrix", 1, False, True),
        ("matrix", 0, False, False),
        ("matrix", 2, False, False),
        # Its people saw the agent go, and wrote again
        ("irc", 0, True, True),
        ("irc", 0, False, False),
        # The guide says so of IRC
        ("irc", 2, False, True),
    ],
)
def test_each_message_is_answered_once_where_the_guide_promises_it(
    day: Day, platform: str, times: int, *, is_cut_off: bool, held: bool
) -> None:
    message = Message(platform, "one", 0.0, took_s=1.0 if times else 0.0, is_cut_off=is_cut_off)
    day.counts[f"{ANSWER}one"] = times
    assert delivered(Nobody(platform), [message], day).held is held


def test_what_the_guide_says_of_servers_without_an_archive_excuses_no_other() -> None:
    assert guide_allows_twice("irc")
    assert not guide_allows_twice("xmpp")
    assert not guide_allows_twice("matrix")


@pytest.mark.parametrize(("grown_kib", "held"), [(2_000, True), (9_000, False)])
def test_memory_is_compared_in_the_life_after_the_last_kill(
    day: Day, grown_kib: int, *, held: bool
) -> None:
    day.troubles.kills = 1
    killed = [Sample(0, number, 10_000) for number in range(100)]
    lives = [Sample(1, 100 + number, 60_000 + grown_kib * number // 99) for number in range(100)]
    day.samples = [*killed, *lives]
    assert growth(day).held is held


def test_a_short_run_says_nothing_of_memory(day: Day) -> None:
    day.samples = [Sample(0, number, 60_000 * (1 + number)) for number in range(4)]
    assert growth(day).held is None
