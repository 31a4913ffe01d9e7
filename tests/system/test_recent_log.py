import logging
import threading
from collections.abc import Iterator

import pytest

from agent.system.recent_log import MOST_CHARS, MOST_LINES, RecentLog

_log = logging.getLogger("tests.recent")


@pytest.fixture
def recent() -> Iterator[RecentLog]:
    made = RecentLog(lambda text: text.replace("hunter2", "***"))
    _log.setLevel(logging.DEBUG)
    yield made
    made.close()


def texts(recent: RecentLog, least: int = logging.NOTSET) -> list[str]:
    return [line.text for line in recent.lines(least)]


def test_the_newest_line_comes_first_without_secrets_or_breaks(recent: RecentLog) -> None:
    _log.info("first (key=%s)", "hunter2")
    _log.warning("second\n<0> forged")
    assert texts(recent) == ["second\\n<0> forged", "first (key=***)"]
    assert [line.level for line in recent.lines()] == [logging.WARNING, logging.INFO]


def test_a_level_leaves_out_what_is_below_it(recent: RecentLog) -> None:
    for level in (logging.INFO, logging.WARNING, logging.ERROR):
        _log.log(level, "at %d", level)
    assert texts(recent, logging.WARNING) == ["at 40", "at 30"]


def test_it_keeps_a_bounded_number_of_bounded_lines(recent: RecentLog) -> None:
    for number in range(MOST_LINES + 50):
        _log.info("%d %s", number, "x" * 2000)
    found = texts(recent)
    assert len(found) == MOST_LINES
    assert found[0].startswith(f"{MOST_LINES + 49} ")
    assert max(map(len, found)) == MOST_CHARS


def test_threads_write_while_it_is_read(recent: RecentLog) -> None:
    ended = threading.Event()

    def write() -> None:
        while not ended.is_set():
            _log.info("busy")

    writers = [threading.Thread(target=write) for _ in range(3)]
    for writer in writers:
        writer.start()
    try:
        for _ in range(200):
            recent.lines()
    finally:
        ended.set()
        for writer in writers:
            writer.join()


def test_a_closed_one_keeps_nothing_more(recent: RecentLog) -> None:
    recent.close()
    _log.info("later")
    assert texts(recent) == []
