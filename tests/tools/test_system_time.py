import json
from datetime import UTC, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest

from agent.messages import Effect, Provenance
from agent.tools.base import NoArguments, ToolContext
from agent.tools.system import TimeNowTool
from tests.fakes.clock import SteppedClock
from tests.fakes.said import tool_result

CONTEXT = ToolContext("terminal", "owner", Provenance.OWNER)
# 2026-11-20T19:26:39Z
NOW_S = 1_795_202_799.0


async def told(tool: TimeNowTool) -> dict[str, str]:
    result = await tool.execute(NoArguments(), CONTEXT)
    assert result.provenance is Provenance.OWNER
    fields = json.loads(result.text)
    assert isinstance(fields, dict)
    return fields


async def test_the_time_comes_with_its_weekday_and_zone() -> None:
    tool = TimeNowTool(SteppedClock(NOW_S), UTC)
    assert await tool.execute(NoArguments(), CONTEXT) == tool_result(
        success=True,
        text='{"time":"2026-11-20T19:26:39+00:00","weekday":"Friday","timezone":"UTC"}',
    )


async def test_another_zone_may_be_another_day() -> None:
    found = await told(TimeNowTool(SteppedClock(NOW_S), timezone(timedelta(hours=9), "KST")))
    assert found == {
        "time": "2026-11-21T04:26:39+09:00",
        "weekday": "Saturday",
        "timezone": "KST",
    }


@pytest.mark.parametrize(("wall_s", "offset"), [(NOW_S, "+01:00"), (NOW_S + 15_000_000, "+02:00")])
async def test_summer_and_winter_have_their_own_offset(wall_s: float, offset: str) -> None:
    found = await told(TimeNowTool(SteppedClock(wall_s), ZoneInfo("Europe/Berlin")))
    assert found["time"].endswith(offset)


async def test_without_a_zone_it_is_the_devices_own() -> None:
    found = await told(TimeNowTool(SteppedClock(NOW_S)))
    assert len(found["time"]) == len("2026-11-20T19:26:39+00:00")
    assert found["timezone"]


def test_it_only_looks() -> None:
    assert TimeNowTool(SteppedClock()).effect is Effect.READ
