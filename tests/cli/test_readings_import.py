import asyncio
import csv
import json
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from agent.cli import exits
from agent.cli.main import main
from agent.messages import Provenance
from agent.readings.packing import Retention
from agent.readings.series import SeriesKind
from agent.readings.store import ReadingStore
from agent.system.clock import SystemClock
from agent.tools.base import ToolContext
from agent.tools.readings import ReadingDesk, ReadingsQueryTool
from agent.tools.readings_draw import ReadingArtist, plotted

CONTEXT = ToolContext("c", "owner", Provenance.OWNER)
MAPPED = ("--time", "time", "--value", "temp", "--reading", "room.temperature", "--unit", "°C")


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "state"
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("BARNACLE_STATE_DIR", str(folder))
    monkeypatch.setattr("agent.settings.SYSTEM_CONFIG", tmp_path / "none.toml")
    return folder


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A value a minute of the last hour."""
    path = tmp_path / "log.csv"
    begin_s = int(time.time()) // 60 * 60 - 3600
    lines = [f"{begin_s + minute * 60},{20 + minute / 10:.1f}" for minute in range(60)]
    path.write_text("time,temp\n" + "\n".join(lines) + "\n")
    return path


def exported(capsys: pytest.CaptureFixture[str]) -> list[dict[str, str]]:
    capsys.readouterr()
    assert main(["readings", "export", "--days", "3"]) == exits.OK
    return list(csv.DictReader(capsys.readouterr().out.splitlines()))


def test_a_dry_run_shows_what_would_be_stored_and_makes_no_store(
    state: Path, log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["readings", "import", str(log), *MAPPED, "--dry-run"]) == exits.OK
    told = capsys.readouterr().out
    assert "room.temperature, °C, a new reading: 60 values" in told
    assert "60 would be stored" in told
    assert not list(state.glob("readings*"))


@pytest.mark.usefixtures("state")
def test_a_file_is_stored_once_however_often_it_comes(
    log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["readings", "import", str(log), *MAPPED]) == exits.OK
    assert "60 stored" in capsys.readouterr().out
    first = exported(capsys)
    assert [row["mean"] for row in first] == [str(20 + n / 10) for n in range(60)]
    assert main(["readings", "import", str(log), *MAPPED]) == exits.OK
    assert "0 stored; 60 there already" in capsys.readouterr().out
    assert exported(capsys) == first


def test_a_row_that_is_not_understood_refuses_the_file_whole(
    state: Path, log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log.write_text(log.read_text() + "1772359200,warm\n")
    assert main(["readings", "import", str(log), *MAPPED]) == exits.USAGE
    told = capsys.readouterr().err
    assert "nothing was stored" in told
    assert "line 62: 'warm' is no number" in told
    assert not list(state.glob("readings*"))
    assert main(["readings", "import", str(log), *MAPPED, "--dry-run"]) == exits.USAGE
    assert "line 62: 'warm' is no number" in capsys.readouterr().out
    assert main(["readings", "import", str(log), *MAPPED, "--skip-bad"]) == exits.OK
    assert len(exported(capsys)) == 60


@pytest.mark.usefixtures("state")
def test_two_values_of_one_time_are_not_understood(
    log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = log.read_text().splitlines()[1].partition(",")[0]
    log.write_text(log.read_text() + f"{first},99\n")
    assert main(["readings", "import", str(log), *MAPPED]) == exits.USAGE
    assert "has several values" in capsys.readouterr().err
    assert main(["readings", "import", str(log), *MAPPED, "--skip-bad"]) == exits.OK
    assert exported(capsys)[0]["mean"] == "20.0"


def numbers(text: str) -> list[dict[str, str | float]]:
    """Return the rows; 0 is 0.0."""
    words = {"time", "reading", "unit", "kind"}
    return [
        {key: value if key in words else float(value) for key, value in row.items()}
        for row in csv.DictReader(text.splitlines())
    ]


async def record(folder: Path) -> None:
    """A switch and a number with times between seconds, a week and a minute old."""
    store = ReadingStore(folder, Retention(), "boot", slots=8)
    await store.open()
    pump = await store.series(SeriesKind("pump", is_switch=True), 60)
    room = await store.series(SeriesKind("climate.temperature", "°C"), 60)
    now_ms = round(time.time() * 1000)
    store.place(now_ms - 7_200_123, is_sure=True)
    for minute in range(100):
        store.add(pump, minute * 60.0, float(minute % 20 < 5))
        store.add(room, minute * 60.0 + 0.25, 20 + minute / 7)
        if minute % 10 == 9:
            await store.commit(now_ms)
    await store.aclose()


def test_our_own_export_comes_back_whole_without_an_option(
    state: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    asyncio.run(record(state))
    assert main(["readings", "export", "--days", "3"]) == exits.OK
    text = capsys.readouterr().out
    path = tmp_path / "export.csv"
    path.write_text(text)
    assert main(["readings", "import", str(path)]) == exits.OK
    assert "0 stored; 100 there already" in capsys.readouterr().out
    monkeypatch.setenv("BARNACLE_STATE_DIR", str(tmp_path / "other"))
    assert main(["readings", "import", str(path)]) == exits.OK
    capsys.readouterr()
    assert main(["readings", "export", "--days", "3"]) == exits.OK
    assert numbers(capsys.readouterr().out) == numbers(text)


@pytest.mark.usefixtures("state")
def test_a_history_of_home_assistant_is_known_by_its_headings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    begin = datetime.fromtimestamp(time.time() - 7200, UTC).replace(microsecond=123_000)
    later = datetime.fromtimestamp(time.time() - 3600, UTC).replace(microsecond=456_000)
    path = tmp_path / "history.csv"
    path.write_text(
        "entity_id,state,last_changed\n"
        f"switch.pump,on,{begin.isoformat()}\n"
        f"switch.pump,off,{later.isoformat()}\n"
        f"sensor.outside,unavailable,{begin.isoformat()}\n"
        f"sensor.outside,7.5,{later.isoformat()}\n"
        f"weather.home,sunny,{later.isoformat()}\n"
    )
    assert main(["readings", "import", str(path), "--json"]) == exits.OK
    told = json.loads(capsys.readouterr().out)
    assert told["left_out"] == ["weather.home"]
    counts = {one["name"]: one["stored"] for one in told["readings"]}
    assert counts == {"switch.pump": 2, "sensor.outside": 1}
    # On until it was off, though nothing was said between
    on_s = sum(float(row["on_s"]) for row in exported(capsys) if row["reading"] == "switch.pump")
    assert on_s == pytest.approx((later - begin).total_seconds())


@pytest.mark.usefixtures("state")
def test_columns_and_their_form_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    day = datetime.fromtimestamp(time.time() - 86_400, UTC).strftime("%d.%m.%Y")
    path = tmp_path / "log.csv"
    path.write_text(f"{day} 10:00;20,5;0\n{day} 10:01;20,75;1\n", encoding="cp1252")
    words = ["--time", "1", "--value", "2", "--reading", "in", "--unit", "°C"]
    words += ["--value", "3", "--reading", "pump", "--switch"]
    words += ["--format", "%d.%m.%Y %H:%M", "--zone", "Europe/Berlin", "--delimiter", ";"]
    assert main(["readings", "import", str(path), *words, "--every", "60"]) == exits.OK
    assert "fractions after a comma" in capsys.readouterr().out
    rows = exported(capsys)
    assert [(row["reading"], float(row["mean"]), row["kind"]) for row in rows] == [
        ("in", 20.5, "number"),
        ("in", 20.75, "number"),
        ("pump", 0.0, "switch"),
        ("pump", 1.0, "switch"),
    ]
    assert rows[0]["time"].endswith(("T08:00:00+00:00", "T09:00:00+00:00"))


@pytest.mark.usefixtures("state")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "say which of its columns are what"),
        (("--time", "time", "--value", "temp"), "needs a --reading"),
        ((*MAPPED, "--value", "time", "--reading", "room.temperature"), "cannot become one"),
        ((*MAPPED, "--zone", "Moon/Base"), "no time zone"),
        ((*MAPPED, "--delimiter", "ab"), "one sign"),
        (("--time", "when", "--value", "temp", "--reading", "a"), "no column 'when'"),
    ],
)
def test_what_is_asked_wrongly_says_what_to_do(
    log: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], said: str
) -> None:
    assert main(["readings", "import", str(log), *words]) == exits.USAGE
    assert said in capsys.readouterr().err


def test_a_running_agent_answers_from_what_was_imported(
    state: Path, log: Path, tmp_path: Path
) -> None:
    with asyncio.Runner() as runner:
        store = ReadingStore(state, Retention(), "boot")
        runner.run(store.open())
        desk = ReadingDesk(store, SystemClock(), dict, UTC)
        assert main(["readings", "import", str(log), *MAPPED]) == exits.OK
        tool = ReadingsQueryTool(desk)
        asked = tool.parse('{"reading": "room temperature", "hours": 3}')
        told = json.loads(runner.run(tool.execute(asked, CONTEXT)).text)
        assert (told["values"], told["lowest"]["value"]) == (60, 20.0)
        (tmp_path / "workspace").mkdir()
        artist = ReadingArtist(desk, tmp_path / "workspace", lambda _name: ())
        line = runner.run(plotted(artist, "room.temperature 2h", takes_files=False))
        assert line.startswith("room.temperature: 20 to 25.9 °C")
        runner.run(store.aclose())


@pytest.mark.usefixtures("state")
def test_a_long_file_says_that_it_goes_on(
    log: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("agent.cli.readings_file._PROGRESS_LINES", 25)
    assert main(["readings", "import", str(log), *MAPPED]) == exits.OK
    assert capsys.readouterr().err.splitlines() == ["25 lines read", "50 lines read"]
