import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from agent.schedule.zone import local_zone


def test_the_zone_is_the_named_one_or_the_machines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "Europe/Berlin")
    assert str(local_zone()) == "Europe/Berlin"
    monkeypatch.delenv("TZ")
    link = tmp_path / "localtime"
    assert local_zone(link) is UTC
    link.symlink_to("/usr/share/zoneinfo/Asia/Tokyo")
    assert str(local_zone(link)) == "Asia/Tokyo"


@pytest.mark.parametrize(
    ("named", "hours"),
    [
        # What many set to spare a look at the file's links
        (":/etc/localtime", None),
        ("/usr/share/zoneinfo/Asia/Tokyo", 9),
        # POSIX.1, 8.3
        ("CET-1CEST,M3.5.0,M10.5.0/3", 2),
        ("UTC0", 0),
        ("<+03>-3", 3),
        ("CET-1CEST", 2),
        # The C library takes UTC, too
        ("Europe/Berln", 0),
        ("../../etc/passwd", 0),
    ],
)
def test_it_is_read_as_the_c_library_reads_it(
    monkeypatch: pytest.MonkeyPatch, named: str, hours: int | None
) -> None:
    monkeypatch.setenv("TZ", named)
    summer = datetime(2026, 7, 1, 12, tzinfo=UTC)
    time.tzset()
    try:
        of_library = time.localtime(summer.timestamp()).tm_gmtoff
    finally:
        monkeypatch.undo()
        time.tzset()
    monkeypatch.setenv("TZ", named)
    offset = summer.astimezone(local_zone()).utcoffset()
    assert offset == timedelta(seconds=of_library)
    assert hours is None or offset == timedelta(hours=hours)
