import asyncio
import csv
import json
import time
from pathlib import Path

import pytest

from agent.cli import exits
from agent.cli.main import main
from agent.readings.packing import Retention
from agent.readings.series import SeriesKind
from agent.readings.store import ReadingStore


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("BARNACLE_STATE_DIR", str(tmp_path))
    monkeypatch.setattr("agent.settings.SYSTEM_CONFIG", tmp_path / "none.toml")
    return tmp_path


async def record(folder: Path) -> None:
    """Three values of a minute each, the last one five minutes old."""
    store = ReadingStore(folder, Retention(), "boot")
    await store.open()
    series = await store.series(SeriesKind("climate.temperature", "°C"), 60)
    now_ms = round(time.time() * 1000)
    store.place(now_ms - 480_000, is_sure=True)
    for minute, value in enumerate((20.5, 21.0, 21.5)):
        store.add(series, minute * 60.0, value)
    await store.commit(now_ms)
    await store.aclose()


def test_that_nothing_was_recorded_is_said_and_makes_no_file(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["readings", "list"]) == exits.OK
    assert capsys.readouterr().out == "Nothing was recorded yet.\n"
    assert not list(state.glob("readings*"))


def test_readings_are_listed_and_exported(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asyncio.run(record(state))
    assert main(["readings", "list"]) == exits.OK
    assert capsys.readouterr().out == "climate.temperature, °C: every 60 s\n"
    assert main(["readings", "export", "--days", "1"]) == exits.OK
    rows = list(csv.DictReader(capsys.readouterr().out.splitlines()))
    assert [row["mean"] for row in rows] == ["20.5", "21.0", "21.5"]
    assert {row["unit"] for row in rows} == {"°C"}
    assert main(["readings", "export", "climate.temperature", "--json"]) == exits.OK
    found = json.loads(capsys.readouterr().out)
    assert [one["values"] for one in found] == [1, 1, 1]


def test_a_reading_that_is_not_there_is_named(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asyncio.run(record(state))
    assert main(["readings", "export", "garage"]) == exits.USAGE
    assert "garage" in capsys.readouterr().err
