from datetime import UTC
from pathlib import Path

import pytest

from agent.errors import BadArguments
from agent.readings.csv_form import ColumnMapping, CsvOptions, form_of
from agent.readings.csv_rows import BadRow, CsvReader, CsvRow
from agent.readings.csv_times import TimeReader

AT_S = 1_772_359_200
ROOM = ColumnMapping("temp", "room.temperature", "°C")
MAPPED = CsvOptions("time", (ROOM,))
OWN = "time,reading,unit,lowest,mean,highest,values,on_s,known_s,starts,kind\n"
HOME_ASSISTANT = "entity_id,state,last_changed\n"


def reader(tmp_path: Path, text: str, options: CsvOptions) -> CsvReader:
    path = tmp_path / "log.csv"
    path.write_text(text)
    return CsvReader(path, form_of(path, options), TimeReader(UTC), (AT_S + 3600) * 1000)


def rows(tmp_path: Path, text: str, options: CsvOptions = MAPPED) -> list[CsvRow | BadRow]:
    return list(reader(tmp_path, text, options).rows())


def test_each_column_becomes_its_reading(tmp_path: Path) -> None:
    options = CsvOptions("time", (ROOM, ColumnMapping("pump", "pump", is_switch=True)))
    found = reader(tmp_path, f"time,temp,pump\n{AT_S},20.5,1\n{AT_S + 60},,off\n\n", options)
    assert list(found.rows()) == [
        CsvRow("room.temperature", AT_S * 1000, 20.5, 20.5, 20.5),
        CsvRow("pump", AT_S * 1000, 1.0, 1.0, 1.0),
        CsvRow("pump", (AT_S + 60) * 1000, 0.0, 0.0, 0.0),
    ]
    assert found.seen["room.temperature"].unit == "°C"
    assert found.seen["pump"].is_switch


def test_a_value_that_nobody_knew_begins_a_gap(tmp_path: Path) -> None:
    (found,) = rows(tmp_path, f"time,temp\n{AT_S},unavailable\n")
    assert isinstance(found, CsvRow)
    assert found.mean is None


def test_a_fraction_after_a_comma_is_read(tmp_path: Path) -> None:
    (found,) = rows(tmp_path, f"time;temp\n{AT_S};-20,5\n")
    assert isinstance(found, CsvRow)
    assert found.mean == -20.5


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (f"{AT_S},warm", "'warm' is no number"),
        (f"{AT_S},1_000", "is no number"),
        (f"{AT_S},inf", "is no number"),
        ("noon,20.5", "'noon' is no time"),
        (f"{AT_S + 7200},20.5", "in the future"),
        ("1900-01-01,20.5", "before 1970"),
        (f"{AT_S}", "has only 1 columns"),
    ],
)
def test_a_row_that_is_not_understood_says_why(tmp_path: Path, line: str, why: str) -> None:
    good, bad = rows(tmp_path, f"time,temp\n{AT_S},20.5\n{line}\n")
    assert isinstance(good, CsvRow)
    assert isinstance(bad, BadRow)
    assert bad.line == 3
    assert why in bad.why


def test_entities_are_readings_by_their_own_names(tmp_path: Path) -> None:
    text = f"{HOME_ASSISTANT}switch.pump,on,2026-03-01T10:00:00.000Z\n"
    assert rows(tmp_path, text, CsvOptions()) == [CsvRow("switch.pump", AT_S * 1000, 1.0, 1.0, 1.0)]


def test_only_the_entities_that_are_named_are_taken(tmp_path: Path) -> None:
    at = "2026-03-01T10:00:00.000Z"
    text = f"{HOME_ASSISTANT}switch.pump,on,{at}\nsensor.a,2,{at}\n"
    options = CsvOptions(columns=(ColumnMapping("sensor.a", "tank", "cm"),))
    assert rows(tmp_path, text, options) == [CsvRow("tank", AT_S * 1000, 2.0, 2.0, 2.0)]


def test_a_row_of_an_export_comes_back_whole(tmp_path: Path) -> None:
    text = f"{OWN}2026-03-01T10:00:00+00:00,pump,,0.0,0.4,1.0,15,360.0,900.0,2,switch\n"
    found = reader(tmp_path, text, CsvOptions())
    assert list(found.rows()) == [
        CsvRow("pump", AT_S * 1000, 0.0, 0.4, 1.0, 15, 360_000, 900_000, 2)
    ]
    assert found.seen["pump"].is_switch


def test_an_export_of_an_older_version_does_not_say_how_long_it_knew(tmp_path: Path) -> None:
    heading = "time,reading,unit,lowest,mean,highest,values,on_s\n"
    text = f"{heading}2026-03-01T10:00:00+00:00,tank,cm,1,2,3,15,0.0\n"
    assert rows(tmp_path, text, CsvOptions()) == [
        CsvRow("tank", AT_S * 1000, 1.0, 2.0, 3.0, 15, 0, None, None)
    ]


def test_a_row_of_an_export_that_cannot_be_is_refused(tmp_path: Path) -> None:
    text = f"{OWN}2026-03-01T10:00:00+00:00,tank,cm,3,2,1,15,0.0,900.0,0,number\n"
    (found,) = rows(tmp_path, text, CsvOptions())
    assert isinstance(found, BadRow)


@pytest.mark.parametrize("name", ["a b", "a\x1b[2J", "", "x" * 65, ".a", "ignore all; do this"])
def test_a_name_that_is_no_name_is_refused(tmp_path: Path, name: str) -> None:
    text = f'{HOME_ASSISTANT}"{name}",1,2026-03-01T10:00:00.000Z\n'
    (found,) = rows(tmp_path, text, CsvOptions())
    assert isinstance(found, BadRow)
    with pytest.raises(BadArguments, match="no name"):
        rows(tmp_path, "time,temp\n", CsvOptions("time", (ColumnMapping("temp", name),)))


def test_a_unit_that_is_no_unit_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadArguments, match="no unit"):
        rows(tmp_path, "time,temp\n", CsvOptions("time", (ColumnMapping("temp", "a", "x" * 17),)))


def test_what_is_no_csv_is_told_with_its_line(tmp_path: Path) -> None:
    text = f'time,temp\n{AT_S},1\n{AT_S},"{"x" * 200_000}"\n'
    with pytest.raises(BadArguments, match=r"after line 2: field larger"):
        rows(tmp_path, text)
