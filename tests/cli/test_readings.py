import asyncio
import csv
import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.app.reading_store import open_store
from agent.cli import exits
from agent.cli.main import main
from agent.readings.packing import Retention
from agent.readings.series import SeriesKind
from agent.readings.store import ReadingStore
from agent.settings import surroundings
from agent.system.clock import SystemClock
from tests.fakes.postgres import DEBIAN, PostgresServer, unavailable_reason


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("BARNACLE_STATE_DIR", str(tmp_path))
    monkeypatch.setattr("agent.settings.SYSTEM_CONFIG", tmp_path / "none.toml")
    return tmp_path


async def record(store: ReadingStore) -> None:
    """Three values of a minute each, the last one five minutes old."""
    await store.open()
    series = await store.series(SeriesKind("climate.temperature", "°C"), 60)
    now_ms = round(time.time() * 1000)
    store.place(now_ms - 480_000, is_sure=True)
    for minute, value in enumerate((20.5, 21.0, 21.5)):
        store.add(series, minute * 60.0, value)
    await store.commit(now_ms)
    await store.settle()
    await store.aclose()


def test_that_nothing_was_recorded_is_said_and_makes_no_file(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["readings", "list"]) == exits.OK
    assert capsys.readouterr().out == "Nothing was recorded yet.\n"
    assert not list(state.glob("readings*"))


def test_readings_are_listed_and_exported(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asyncio.run(record(ReadingStore(state, Retention(), "boot")))
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
    asyncio.run(record(ReadingStore(state, Retention(), "boot")))
    assert main(["readings", "export", "garage"]) == exits.USAGE
    assert "garage" in capsys.readouterr().err


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    if reason := unavailable_reason(DEBIAN):
        pytest.skip(reason)
    made = PostgresServer(DEBIAN)
    made.start()
    yield made
    made.remove()


def test_readings_on_a_server_are_listed_and_exported(
    state: Path, server: PostgresServer, capsys: pytest.CaptureFixture[str]
) -> None:
    config = state / "barnacle.toml"
    config.write_text(
        f'[memory]\nbackend = "postgres"\npostgres_url = "{server.fresh_url()}"\n'
        '[readings]\nagent = "garden"\n'
    )
    config.chmod(0o600)
    settings, paths = surroundings({"BARNACLE_STATE_DIR": str(state)}, str(config))
    asyncio.run(record(open_store(settings, paths, SystemClock())))
    # The server alone has them now
    (state / "readings.ring").unlink()
    named = ["--config", str(config)]
    assert main([*named, "readings", "list"]) == exits.OK
    assert capsys.readouterr().out == "climate.temperature, °C: every 60 s\n"
    assert main([*named, "readings", "export", "--days", "1"]) == exits.OK
    said = capsys.readouterr()
    rows = list(csv.DictReader(said.out.splitlines()))
    assert [row["mean"] for row in rows] == ["20.5", "21.0", "21.5"]
    assert "does not answer" not in said.err
    server.stop()
    assert main([*named, "readings", "export", "--days", "1"]) == exits.OK
    assert "does not answer" in capsys.readouterr().err
