"""What is told of a job or a watch before it goes live: real readings and the real schedule."""

import json
from collections.abc import AsyncIterator, Sequence
from datetime import UTC
from pathlib import Path

import msgspec
import pytest

from agent.hardware.watches import BoardWatcher
from agent.link import frame as wire
from agent.link.reflexes import Condition, ReflexRule
from agent.messages import Address, Provenance, ToolSpec
from agent.providers.offline.order_reader import orders_in
from agent.providers.offline.rehearsal_voice import SpokenRehearsal
from agent.readings import rule_code
from agent.readings.packing import Retention
from agent.readings.series import SeriesKind
from agent.readings.store import DAY_MS, ReadingStore
from agent.schedule.job_book import JobBook
from agent.schedule.job_store import JobStore
from agent.schedule.reminder_book import ReminderBook
from agent.tools.base import Forecast, ToolContext
from agent.tools.board import BoardTools
from agent.tools.cron import CronAddTool
from agent.tools.order_rehearsal import OrderRehearsal
from agent.tools.order_trial import RehearsedBoard
from agent.tools.plain_orders import PlainOrder
from agent.tools.readings import ReadingDesk
from agent.tools.readings_draw import ReadingArtist
from agent.tools.reminder import ReminderSetTool
from agent.tools.watch import WatchAddTool
from tests.fakes.board import FakeBoard
from tests.fakes.clock import SteppedClock
from tests.fakes.events import TalkingBoard
from tests.fakes.reflex_table import ReflexTable
from tests.fakes.rehearsed_home import WATER, Home
from tests.fakes.timer_run import TimerRun

# A time that a clock may show: jobs are not kept before it is known
BEGIN_MS = 20_600 * DAY_MS
DAYS = 4
HOUR_MINUTES = 60
PATIENCE_S = 100.0
CONTEXT = ToolContext(
    "c", "owner", Provenance.OWNER, place=Address("fake", "chat", "4711", "topic")
)


def _as_it_is(text: str, _language: str) -> str:
    return text


async def read(text: str, language: str, specs: Sequence[ToolSpec]) -> list[PlainOrder]:
    found = await orders_in(text, language, specs)
    return [PlainOrder(one.tool, one.arguments) for one in found]


@pytest.fixture
async def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Home]:
    # A busy machine takes its time
    monkeypatch.setattr("agent.tools.order_rehearsal.TIMEOUT_S", PATIENCE_S)
    monkeypatch.setattr(rule_code, "TIMEOUT_S", PATIENCE_S)
    store = ReadingStore(tmp_path / "state", Retention(), "boot")
    await store.open()
    store.place(BEGIN_MS, is_sure=True)
    clock = SteppedClock((BEGIN_MS + DAYS * DAY_MS) / 1000)
    table = ReflexTable()
    board = FakeBoard(link_methods={wire.METHOD_REFLEX: table})
    homes = [RehearsedBoard(board, BoardTools(board).tools)]
    (tmp_path / "workspace").mkdir()
    desk = ReadingDesk(store, clock, dict, UTC)
    artist = ReadingArtist(desk, tmp_path / "workspace", lambda _name: [])
    rehearsal = OrderRehearsal(artist, homes, read, SpokenRehearsal)
    jobs = JobBook(
        JobStore(tmp_path / "jobs.json"), clock, lambda: UTC, rehearsal=lambda: rehearsal
    )
    watcher = BoardWatcher(
        TalkingBoard(), {}, tmp_path / "watches.json", clock, rehearsal=lambda: rehearsal
    )
    yield Home(store, artist, board, table, rehearsal, jobs, watcher, clock)
    await store.aclose()


async def record_dry_hours(home: Home, *, silent: range = range(0)) -> None:
    """Dry from 3 to 4 in every night, and from 12 to 13 of every day."""
    series = await home.store.series(SeriesKind("a0", "V"), 60)
    for minute in range(DAYS * 24 * HOUR_MINUTES):
        if minute in silent:
            continue
        is_dry = minute // HOUR_MINUTES % 24 in {3, 12}
        home.store.add(series, minute * 60.0, 1.0 if is_dry else 2.0)


async def record_button(home: Home, on_days: set[int], known_days: int = DAYS) -> None:
    series = await home.store.series(SeriesKind("button", "", is_switch=True), 60)
    for minute in range(known_days * 24 * HOUR_MINUTES):
        day = minute // HOUR_MINUTES // 24
        home.store.add(series, minute * 60.0, float(day in on_days))


def words(forecast: Forecast | None) -> str:
    assert forecast is not None
    return forecast.words


async def test_the_runs_of_a_job_are_counted_with_what_they_do(home: Home) -> None:
    assert words(await home.of_job()) == (
        "On the last 30 days it would have run 30 times, never at night; the last time at "
        "2026-05-30 07:00.\n"
        "The pump: on 30 times, 5 min at most."
    )


async def test_runs_at_night_are_told(home: Home) -> None:
    assert "30 times, 30 times at night;" in words(await home.of_job(cron="30 22 * * *"))


async def test_what_an_interlock_would_have_refused_is_told(home: Home) -> None:
    home.need(pump=(("button", 1),))
    await record_button(home, on_days={0, 1, 3})
    told = words(await home.of_job())
    assert "The pump: on 3 times, 5 min at most. Once the board would have refused it" in told
    assert "because the button was not on." in told
    # Of the days before nothing was recorded
    assert "26 times nothing is known of the button." in told


async def test_an_interlock_that_was_always_met_is_told(home: Home) -> None:
    home.need(pump=(("button", 1),))
    await record_button(home, on_days=set(range(DAYS)))
    assert "The button was on each time." in words(await home.of_job())


async def test_without_history_of_an_interlock_it_says_so(home: Home) -> None:
    home.need(pump=(("button", 1),))
    told = words(await home.of_job())
    assert told.splitlines()[1:] == [
        "It could not be rehearsed: no readings of button are recorded."
    ]


async def test_an_interlock_ends_what_was_wanted_for_longer(home: Home) -> None:
    home.need(pump=(("button", 1),))
    series = await home.store.series(SeriesKind("button", "", is_switch=True), 60)
    for minute in range(DAYS * 24 * HOUR_MINUTES):
        # Off two minutes after each run has begun
        is_on = minute % (24 * HOUR_MINUTES) < 7 * HOUR_MINUTES + 2
        home.store.add(series, minute * 60.0, float(is_on))
    told = words(await home.of_job())
    assert "The pump: on 4 times, 2 min at most. 4 times that would have ended early." in told


async def test_what_nothing_is_known_of_is_told_once_with_its_name(home: Home) -> None:
    home.need(pump=(("button", 1),))
    await record_button(home, on_days=set(range(DAYS)))
    told = words(await home.of_job(prompt="switch the pump on and switch the relay on"))
    assert told.count("26 times nothing is known of the button.") == 1
    assert "known of ." not in told


async def test_what_a_reflex_sets_needs_no_history(home: Home) -> None:
    home.need(pump=(("relay", 0),))
    home.teach(ReflexRule("airing", (Condition("a0", "above", 3.0),), "relay", "on", 60, 5))
    await record_dry_hours(home)
    assert "The pump: on 30 times" in words(await home.of_job())


async def test_reflexes_that_act_too_often_to_go_on_are_told(home: Home) -> None:
    home.teach(ReflexRule("airing", (Condition("a0", "above", 0.5),), "relay", "on", 1, 0.1))
    home.need(pump=(("relay", 0),))
    await record_dry_hours(home)
    told = words(await home.of_job())
    assert "It was tried only up to 2026-05-27 02:46: reflexes" in told
    # Nothing is known of the readings before, and the runs in the time that was tried are few
    assert "The pump: on 26 times, 5 min at most." in told


async def test_what_is_on_now_has_not_ended_early(home: Home) -> None:
    # The last of the runs was two minutes ago
    home.clock.advance(7 * 3600 + 120)
    told = words(await home.of_job())
    assert "The pump: on 30 times, 5 min at most." in told
    assert "early" not in told


async def test_a_reflex_that_sets_the_same_output_otherwise_is_named(home: Home) -> None:
    home.teach(ReflexRule("drying", (Condition("a0", "below", 1.2),), "pump", "off", 60))
    await record_dry_hours(home)
    told = await home.of_job()
    assert "Conflict: the reflex drying sets the pump to off at a0 1.199 V." in words(told)
    assert told is not None
    # The name of a reflex is the board's word
    assert told.trust is Provenance.SENSOR


async def test_an_output_without_the_one_that_it_needs_is_told(home: Home) -> None:
    home.need(pump=(("relay", 1),))
    told = words(await home.of_job())
    assert "Conflict: the pump may be on only while the relay is on, and nothing sets" in told
    both = "switch the relay on and switch the pump on"
    assert "Conflict" not in words(await home.of_job(prompt=both))


async def test_two_outputs_that_must_not_be_on_together_are_told(home: Home) -> None:
    home.need(pump=(("relay", 0),))
    home.teach(ReflexRule("airing", (Condition("a0", "above", 3.0),), "relay", "on", 60, 5))
    await record_dry_hours(home)
    told = words(await home.of_job())
    assert "only while the relay is off, and the reflex airing contradicts that at a0 3" in told


async def test_a_job_that_comes_once_is_only_looked_through_for_conflicts(home: Home) -> None:
    once = {"cron": "", "at": "2026-06-02T07:00"}
    assert await home.of_job(**once) is None
    home.need(pump=(("relay", 1),))
    assert words(await home.of_job(**once)).startswith("Conflict: ")


async def test_what_is_no_plain_order_is_only_counted(home: Home) -> None:
    told = words(await home.of_job(prompt="look at the soil and think about it"))
    assert told.splitlines()[1] == (
        "What it does then is decided only at that time, so that was not tried."
    )
    assert await home.of_job(prompt="", message="Tea!") is None


async def test_what_the_tool_would_refuse_is_told(home: Home) -> None:
    assert home.board.manifest is not None
    pins = tuple(msgspec.structs.replace(pin, max_on_ms=8000) for pin in home.board.manifest.pins)
    home.board.manifest = msgspec.structs.replace(home.board.manifest, pins=pins)
    homes = [RehearsedBoard(home.board, BoardTools(home.board).tools)]
    rehearsal = OrderRehearsal(home.artist, homes, read, SpokenRehearsal)
    told = await rehearsal.forecast(None, WATER)
    assert told.words.startswith("It would fail each time: pump may be on for 8 s at a time")


async def test_a_watch_counts_what_it_would_have_told(home: Home) -> None:
    await record_dry_hours(home)
    assert words(await home.of_watch()) == (
        "On the last 4 days it would have told you 8 times, 4 times at night; the last time at "
        "2026-05-30 12:00."
    )
    assert "would not have told you anything" in words(await home.of_watch(below=0.5))


async def test_a_watch_that_acts_is_tried_with_its_order(home: Home) -> None:
    await record_dry_hours(home)
    told = words(await home.of_watch(ask=WATER))
    assert "it would have begun 8 times, 4 times at night" in told
    assert "The pump: on 8 times, 5 min at most." in told


async def test_a_watch_is_quiet_after_so_many_in_an_hour(home: Home) -> None:
    series = await home.store.series(SeriesKind("a0", "V"), 60)
    for minute in range(DAYS * 24 * HOUR_MINUTES):
        home.store.add(series, minute * 60.0, 1.0 if minute % 10 else 2.0)
    told = words(await home.of_watch(at_most_per_hour=1))
    assert "told you 96 times" in told
    assert "480 times more it would have kept quiet" in told


async def test_a_gap_in_what_is_watched_is_told(home: Home) -> None:
    await record_dry_hours(home, silent=range(6 * HOUR_MINUTES, 36 * HOUR_MINUTES))
    told = words(await home.of_watch())
    assert "told you 6 times" in told
    assert "A0: readings of only 2 d 18 h" in told


async def test_a_watch_is_drawn_with_what_it_would_have_told(home: Home) -> None:
    await record_dry_hours(home)
    told = await home.of_watch()
    assert told is not None
    assert told.picture is not None
    assert told.picture.name.startswith("reading-rehearsal-dry_soil-")
    assert told.picture.read_bytes().startswith(b"\x89PNG")


async def test_a_job_is_drawn_where_a_reading_decides_about_it(home: Home) -> None:
    home.need(pump=(("button", 1),))
    await record_button(home, on_days={0, 1, 3})
    told = await home.of_job()
    assert told is not None
    assert told.picture is not None


async def test_a_job_that_depends_on_no_reading_is_only_told(home: Home) -> None:
    told = await home.of_job()
    assert told is not None
    assert told.picture is None


async def test_the_words_are_told_where_nothing_can_be_drawn(home: Home, tmp_path: Path) -> None:
    await record_dry_hours(home)
    (tmp_path / "workspace" / "pictures").write_text("in the way")
    told = await home.of_watch()
    assert "told you 8 times" in words(told)
    assert told is not None
    assert told.picture is None


async def test_a_watch_without_readings_says_so(home: Home) -> None:
    told = words(await home.of_watch())
    assert told == "It could not be rehearsed: no readings of a0 are recorded."


async def test_a_conflict_is_told_where_no_reading_is_recorded(home: Home) -> None:
    home.need(pump=(("relay", 1),))
    told = words(await home.of_watch(ask=WATER)).splitlines()
    assert told[0] == "It could not be rehearsed: no readings of a0 are recorded."
    assert told[1].startswith("Conflict: the pump may be on only while the relay is on")


async def test_what_breaks_is_told_and_not_raised(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    await record_dry_hours(home)
    monkeypatch.setattr(rule_code, "NODE_MODULES", ("no_such_module",))
    missing = "It could not be rehearsed: the board's rule code is missing"
    assert missing in words(await home.of_watch())
    told = words(await home.of_job())
    assert "it would have run 30 times" in told
    assert missing in told


async def test_what_takes_too_long_is_told(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent.tools.order_rehearsal.TIMEOUT_S", 0.0)
    assert "It could not be rehearsed: it took too long." in words(await home.of_job())


async def test_a_board_that_is_away_leaves_its_reflexes_out(home: Home) -> None:
    home.board.plugged_in = False
    assert "The board did not answer, so its reflexes" in words(await home.of_job())


@pytest.mark.parametrize(
    ("code", "order", "told"),
    [
        ("de", "schalte die Pumpe für 5 Minuten ein", "Die Pumpe: 30-mal an, höchstens 5 min."),
        ("es", "enciende la bomba durante 5 minutos", "La bomba: encendida 30 veces"),
        ("ja", "ポンプを5分間オンにして", "ポンプ：オンが30回、最長5分。"),
        ("ko", "펌프를 5분 동안 켜 줘", "펌프: 켜짐 30번, 최대 5분."),
        ("zh", "把水泵打开5分钟", "水泵：开，30次，最长5分钟。"),
    ],
)
async def test_an_order_is_told_in_its_language(
    home: Home, tmp_path: Path, code: str, order: str, told: str
) -> None:
    book = ReminderBook(home.jobs, TimerRun(tmp_path).book, home.clock, _as_it_is, lambda: UTC)
    tool = ReminderSetTool(book)
    said = {"order": order, "every": "day 07:00", "language": code}
    forecast = await tool.foresee(tool.parse(json.dumps(said)))
    assert told in words(forecast)


async def test_the_answer_to_an_order_tells_it_too(home: Home) -> None:
    tool = CronAddTool(home.jobs)
    wanted = tool.parse(json.dumps({"name": "water", "cron": "0 7 * * *", "prompt": WATER}))
    done = await tool.execute(wanted, CONTEXT)
    assert "it would have run 30 times" in json.loads(done.text)["rehearsal"]
    # Names of our firmware and numbers alone: whoever goes on is not less trusted for it
    assert done.provenance is Provenance.OWNER


async def test_a_watch_that_cannot_be_has_no_forecast(home: Home) -> None:
    tool = WatchAddTool(home.watcher)
    both = tool.parse('{"name": "x", "pin": "a0", "above": 1, "below": 2}')
    assert await tool.foresee(both) is None
