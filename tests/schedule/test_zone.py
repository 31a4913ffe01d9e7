from datetime import UTC
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
