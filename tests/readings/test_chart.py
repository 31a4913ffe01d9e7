import io
import json
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from PIL import Image

from agent.readings.chart import (
    BLOCKS,
    GAP_BLOCK,
    LINE_BLOCKS,
    MOST_POINTS,
    Bar,
    ChartLook,
    chart_of,
    heading,
    line_of,
    ticks,
)
from agent.readings.chart_program import _runs
from agent.readings.columns import Columns, in_buckets, of_values
from agent.readings.periods import Span
from agent.tools.readings_draw import PROGRAM

BEGIN = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)
BEGIN_MS = round(BEGIN.timestamp() * 1000)
DAY = Span(BEGIN_MS, BEGIN_MS + 86_400_000)
# What a person waits for on a slow line
MOST_BYTES = 60 * 1024


def day(gap: range = range(600, 700)) -> Columns:
    minutes = [minute for minute in range(1440) if minute not in gap]
    at_ms = [BEGIN_MS + minute * 60_000 for minute in minutes]
    return of_values(at_ms, [20 + minute % 300 / 50 for minute in minutes], 60, is_switch=False)


def pump() -> Columns:
    at_ms = [BEGIN_MS + minute * 60_000 for minute in range(1440)]
    values = [float(60 <= minute < 90) for minute in range(1440)]
    return of_values(at_ms, values, 60, is_switch=True)


def drawn(chart: dict[str, Any]) -> Image.Image:
    done = subprocess.run(
        [sys.executable, "-I", str(PROGRAM)],
        input=json.dumps(chart).encode(),
        capture_output=True,
        check=True,
    )
    assert len(done.stdout) <= MOST_BYTES
    return Image.open(io.BytesIO(done.stdout)).convert("RGB")


def near(found: object, colour: tuple[int, int, int]) -> bool:
    """Return true if a pixel has nearly this colour: a small palette has few."""
    assert isinstance(found, tuple)
    return all(abs(one - other) < 24 for one, other in zip(found, colour, strict=True))


def columns_of(picture: Image.Image, colour: tuple[int, int, int]) -> Iterator[int]:
    """Yield the columns that have a pixel near this colour."""
    width, height = picture.size
    pixels = picture.load()
    assert pixels is not None
    for x in range(width):
        for y in range(height):
            found = pixels[x, y]
            if near(found, colour):
                yield x
                break


def test_a_day_that_is_kept_by_the_quarter_of_an_hour_has_no_gaps_for_that() -> None:
    for gap, runs in ((range(0), 1), (range(600, 720), 2)):
        rows = in_buckets(day(gap), 900_000)
        chart = chart_of(rows, DAY, 60, ChartLook("room"), zone=UTC)
        assert len(list(_runs(chart["points"], chart["gap_s"]))) == runs


def test_a_chart_has_few_points_and_its_limits() -> None:
    chart = chart_of(day(), DAY, 60, ChartLook("room", (24.0,)), zone=UTC)
    assert len(chart["points"]) <= MOST_POINTS
    assert chart["limits"] == [24.0]
    lows, means, highs = zip(*(point[1:] for point in chart["points"]), strict=True)
    assert all(low <= mean <= high for low, mean, high in zip(lows, means, highs, strict=True))


def test_the_time_axis_is_marked_at_round_local_hours() -> None:
    zone = ZoneInfo("Asia/Kolkata")
    marks = ticks(DAY, zone)
    assert [text for _, text in marks] == ["18:00", "00:00", "06:00", "12:00"]
    assert ticks(Span(BEGIN_MS, BEGIN_MS + 400 * 86_400_000), UTC)


def test_an_output_is_a_bar_for_the_time_it_was_on() -> None:
    chart = chart_of(day(), DAY, 60, ChartLook("room"), [Bar("pump", pump(), 180)], UTC)
    begin_s = BEGIN_MS / 1000
    assert chart["bars"] == [{"name": "pump", "spans": [[begin_s + 3600, begin_s + 5400]]}]


def test_a_line_of_blocks_has_low_high_and_gap() -> None:
    line = line_of(day(), DAY)
    assert len(line) == LINE_BLOCKS
    assert {BLOCKS[0], GAP_BLOCK} <= set(line)
    assert set(line) <= {*BLOCKS, GAP_BLOCK}
    assert line_of(Columns(), DAY) == ""


def test_a_heading_has_name_unit_and_local_days() -> None:
    assert heading("room", "°C", DAY, UTC) == "room, °C   01.05.2026 - 02.05.2026"


@pytest.mark.parametrize(
    ("look", "paper", "curve"),
    [
        (ChartLook("room"), (255, 255, 255), (23, 104, 196)),
        (ChartLook("room", dark=True), (17, 22, 29), (90, 169, 255)),
    ],
)
def test_a_gap_is_drawn_as_a_gap(
    look: ChartLook, paper: tuple[int, int, int], curve: tuple[int, int, int]
) -> None:
    chart = chart_of(day(), DAY, 60, look, zone=UTC)
    picture = drawn(chart)
    assert near(picture.getpixel((2, 2)), paper)
    reached = set(columns_of(picture, curve))
    # The gap is from minute 600 to 700 of 1440, between the edges at 92 and 876
    inside = range(92 + 784 * 610 // 1440, 92 + 784 * 690 // 1440)
    assert not reached & set(inside)
    assert reached & set(range(100, 300))


def test_a_flat_line_and_a_single_value_are_drawn() -> None:
    for values in ([5.0], [5.0] * 30):
        at_ms = [BEGIN_MS + number * 60_000 for number in range(len(values))]
        rows = of_values(at_ms, values, 60, is_switch=False)
        chart = chart_of(rows, DAY, 60, ChartLook("room"), zone=UTC)
        assert list(columns_of(drawn(chart), (23, 104, 196)))


@pytest.mark.parametrize("name", ["WWWWWWWW", "dry_soil_in_the_garden", "pump"])
def test_the_name_beside_a_bar_stays_within_the_picture(name: str) -> None:
    bars = [Bar(name, pump(), 60)]
    picture = drawn(chart_of(day(), DAY, 60, ChartLook("room"), bars, UTC))
    edge = picture.crop((0, picture.height - 34, 4, picture.height))
    assert all(near(colour, (255, 255, 255)) for _, colour in edge.getcolors() or ())


def test_an_output_is_not_drawn_as_on_over_a_gap() -> None:
    rows = pump()
    kept = rows.picked([at for at in range(len(rows)) if not 70 <= at < 600])
    chart = chart_of(day(), DAY, 60, ChartLook("room"), [Bar("pump", kept, 180)], UTC)
    ((begin_s, end_s),) = chart["bars"][0]["spans"]
    assert (begin_s - DAY.begin_ms / 1000) / 60 == 60
    assert (end_s - DAY.begin_ms / 1000) / 60 <= 72.5


def test_a_mark_has_the_time_that_the_clock_on_the_wall_showed_there() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    for month, day_of_month in ((3, 29), (10, 25)):
        begin = datetime(2026, month, day_of_month, 0, 40, tzinfo=berlin)
        begin_ms = round(begin.timestamp() * 1000)
        for hours in (1, 2, 3, 5):
            span = Span(begin_ms, begin_ms + hours * 3_600_000)
            marks = ticks(span, berlin)
            shown = [datetime.fromtimestamp(at_ms / 1000, berlin) for at_ms, _ in marks]
            assert [text for _, text in marks] == [f"{at:%H:%M}" for at in shown]
            assert len({at_ms for at_ms, _ in marks}) == len(marks) >= hours - 1
