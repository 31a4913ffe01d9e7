from pathlib import Path

import pytest

from agent.app import readings
from agent.app.readings import ReadingRecord
from agent.settings import Paths, Settings
from agent.system.clock import RELEASED_S
from tests.fakes.clock import SteppedClock


@pytest.mark.parametrize(("wall_s", "is_sure"), [(RELEASED_S + 1e6, True), (0.0, False)])
def test_without_any_network_values_go_by_a_likely_time_after_an_hour(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wall_s: float, *, is_sure: bool
) -> None:
    monkeypatch.setattr(readings, "is_trusted", lambda _now_s: False)
    clock = SteppedClock(wall_s)
    record = ReadingRecord(Settings(), Paths(None, tmp_path), clock, ())
    assert not record._is_sure()
    clock.advance(3601.0)
    assert record._is_sure() is is_sure
