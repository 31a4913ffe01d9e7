"""What the owner is told of a reflex before the yes: acts of the past, gaps and conflicts."""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC
from pathlib import Path
from typing import Any

import msgspec
import pytest

from agent.link import frame as wire
from agent.link.reflexes import Condition, ReflexRule
from agent.messages import Effect
from agent.readings import rule_code
from agent.readings.packing import Retention
from agent.readings.periods import Span
from agent.readings.rehearsal import LENGTH_DAYS, Act, Rehearsed
from agent.readings.series import SeriesKind
from agent.readings.store import DAY_MS, ReadingStore
from agent.tools.readings import ReadingDesk
from agent.tools.readings_draw import ReadingArtist
from agent.tools.reflex import ReflexTools
from agent.tools.reflex_rehearsal import ReflexRehearsal, times
from tests.fakes.board import FakeBoard
from tests.fakes.clock import SteppedClock
from tests.fakes.reflex_table import ReflexTable

BEGIN_MS = 20_000 * DAY_MS
DAYS = 4
HOUR_MS = DAY_MS // 24
WATERING = ReflexRule("watering", (Condition("a0", "below", 1.2),), "pump", "on", 7200, 5)


@dataclass
class Home:
    """A store of readings with what tries reflexes on it."""

    store: ReadingStore
    artist: ReadingArtist
    rehearsal: ReflexRehearsal


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[Home]:
    store = ReadingStore(tmp_path / "state", Retention(), "boot")
    await store.open()
    store.place(BEGIN_MS, is_sure=True)
    clock = SteppedClock((BEGIN_MS + DAYS * DAY_MS) / 1000)
    (tmp_path / "workspace").mkdir()
    desk = ReadingDesk(store, clock, dict, UTC)
    artist = ReadingArtist(desk, tmp_path / "workspace", lambda _name: [])
    yield Home(store, artist, ReflexRehearsal(artist))
    await store.aclose()


async def record(home: Home, *, silent: range = range(0)) -> None:
    """Dry from 3 to 4 in every night, and from 12 to 13 of every day."""
    series = await home.store.series(SeriesKind("a0", "V"), 60)
    for minute in range(DAYS * 1440):
        if minute not in silent:
            is_dry = minute // 60 % 24 in {3, 12}
            home.store.add(series, minute * 60.0, 1.0 if is_dry else 2.0)


async def test_the_acts_of_the_past_are_counted(home: Home) -> None:
    await record(home)
    told = await home.rehearsal.forecast(FakeBoard(), WATERING, [])
    assert told.words == (
        "On the last 4 days it would have acted 8 times, 5 s at most, 4 times at night; the last "
        "time at 2024-10-07 12:00. Of a0 only 4 days of readings are known."
    )
    assert told.picture is not None
    assert told.picture.read_bytes().startswith(b"\x89PNG")


async def test_nothing_acts_in_a_gap_and_it_is_told(home: Home) -> None:
    await record(home, silent=range(2 * 60, 14 * 60))
    told = await home.rehearsal.forecast(FakeBoard(), WATERING, [])
    assert "acted 6 times" in told.words
    assert "with 1 gap in which it would not act" in told.words


async def test_a_rule_that_would_never_act_is_told_so(home: Home) -> None:
    await record(home)
    rule = msgspec.structs.replace(WATERING, when=(Condition("a0", "below", 0.5),))
    told = await home.rehearsal.forecast(FakeBoard(), rule, [])
    assert "it would not have acted." in told.words


async def test_without_readings_it_says_so(home: Home) -> None:
    told = await home.rehearsal.forecast(FakeBoard(), WATERING, [])
    assert told.words == "It could not be rehearsed: no readings of a0 are recorded."
    assert told.picture is None


async def test_what_breaks_is_told_and_not_raised(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    await record(home)
    monkeypatch.setattr(rule_code, "NODE_MODULES", ("no_such_module",))
    told = await home.rehearsal.forecast(FakeBoard(), WATERING, [])
    assert "It could not be looked through for conflicts: the board's rule code" in told.words
    assert "It could not be rehearsed: the board's rule code is missing" in told.words


def board_with_needs(**needs: tuple[tuple[str, int], ...]) -> FakeBoard:
    board = FakeBoard()
    assert board.manifest is not None
    pins = tuple(
        msgspec.structs.replace(pin, needs=needs.get(pin.name, ())) for pin in board.manifest.pins
    )
    board.manifest = msgspec.structs.replace(board.manifest, pins=pins)
    return board


DRYING = ReflexRule("drying", (Condition("a0", "below", 1.1),), "relay", "on", 60, 5)


async def test_two_outputs_that_must_not_be_on_together_are_told(home: Home) -> None:
    board = board_with_needs(pump=(("relay", 0),))
    told = await home.rehearsal.forecast(board, WATERING, [DRYING])
    assert told.words.splitlines()[0] == (
        "Conflict: at a0 1.099 V watering sets pump to on and drying sets relay to on, but pump "
        "may be on only while relay is off. The board does not let both be so."
    )


async def test_an_output_without_the_one_that_it_needs_is_told(home: Home) -> None:
    board = board_with_needs(pump=(("relay", 1),))
    told = await home.rehearsal.forecast(board, WATERING, [DRYING])
    assert told.words.splitlines()[0] == (
        "Conflict: at a0 1.1 V watering sets pump to on, which may be only while relay is on, and "
        "no reflex sets it so there. The board refuses it."
    )


async def test_no_conflict_is_invented(home: Home) -> None:
    board = board_with_needs(pump=(("relay", 1),))
    wider = msgspec.structs.replace(DRYING, when=(Condition("a0", "below", 1.3),))
    told = await home.rehearsal.forecast(board, WATERING, [wider])
    assert "Conflict" not in told.words


async def test_what_hysteresis_remembers_is_followed(home: Home) -> None:
    off = msgspec.structs.replace(
        WATERING, name="dry", when=(Condition("a0", "above", 1.25),), value="off", for_s=0
    )
    slow = msgspec.structs.replace(WATERING, when=(Condition("a0", "below", 1.2, 0.2),))
    told = await home.rehearsal.forecast(FakeBoard(), slow, [off])
    assert "Conflict: at a0 1.251 V (after 0.999 V) watering sets pump to on" in told.words


async def test_a_reflex_is_foreseen_beside_those_on_the_board(home: Home) -> None:
    board = FakeBoard(link_methods={wire.METHOD_REFLEX: ReflexTable()})
    tools = {tool.name: tool for tool in ReflexTools(board, lambda: home.rehearsal).tools()}
    adding, pausing = tools["reflex_add"], tools["reflex_pause"]
    arguments: dict[str, Any] = msgspec.to_builtins(WATERING)
    told = await adding.foresee(adding.parse(json.dumps(arguments)))
    assert told is not None
    assert "could not be rehearsed" in told.words
    resumed = pausing.parse('{"name": "watering", "paused": false}')
    assert pausing.effect_of(resumed) is Effect.HAZARD
    assert await pausing.foresee(resumed) is None
    assert await pausing.foresee(pausing.parse('{"name": "watering"}')) is None


def test_counts_are_adverbs() -> None:
    assert [times(count) for count in (0, 1, 2, 14)] == ["never", "once", "twice", "14 times"]


async def test_of_a_rule_that_acts_all_the_time_the_days_that_were_tried_are_told(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    await record(home)
    begin_ms, end_ms = BEGIN_MS + 3 * HOUR_MS, BEGIN_MS + 12 * HOUR_MS
    acts = tuple(Act(at_ms, at_ms + 500) for at_ms in range(begin_ms, end_ms + 1, 2000))

    async def cut(*_: object) -> Rehearsed:
        return Rehearsed(Span(end_ms - LENGTH_DAYS * DAY_MS, end_ms), acts, 0, 0, is_cut=True)

    monkeypatch.setattr("agent.tools.reflex_rehearsal.rehearse", cut)
    told = (await home.rehearsal.forecast(FakeBoard(), WATERING, [])).words
    # Four days are known, and the first half a day was tried
    assert told.startswith(
        "From 2024-10-04 00:00 to 2024-10-04 12:00 it would have acted more than 16201 times"
    )
