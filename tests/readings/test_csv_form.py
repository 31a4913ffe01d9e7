from datetime import UTC
from pathlib import Path

import pytest

from agent.errors import BadArguments
from agent.readings.csv_form import ColumnMapping, CsvForm, CsvLayout, CsvOptions, form_of
from agent.readings.csv_rows import CsvReader, CsvRow
from agent.readings.csv_times import TimeReader

TEMPERATURE = ColumnMapping("temp", "room.temperature", "°C")
MAPPED = CsvOptions("time", (TEMPERATURE,))
OWN = "time,reading,unit,lowest,mean,highest,values,on_s\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "log.csv"


def read(path: Path, text: str, options: CsvOptions = MAPPED, encoding: str = "utf-8") -> CsvForm:
    path.write_bytes(text.encode(encoding))
    return form_of(path, options)


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_found(path: Path, delimiter: str) -> None:
    rows = (("time", "hum", "temp"), ("1772359200", "40", "20.5"), ("1772359260", "41", "20.6"))
    form = read(path, "".join(f"{delimiter.join(row)}\n" for row in rows))
    assert (form.delimiter, form.places) == (delimiter, {"time": 0, "room.temperature": 2})
    assert (form.layout, form.has_header, form.decimal) == (CsvLayout.MAPPED, True, "")


def test_a_delimiter_that_is_given_is_not_doubted(path: Path) -> None:
    options = CsvOptions("time", (TEMPERATURE,), delimiter="#")
    assert read(path, "time#temp\n1772359200#1\n", options).places["room.temperature"] == 1


@pytest.mark.parametrize(
    ("value", "decimal"), [("20,5", ","), ("-0,25", ","), ("20.5", ""), ("20", "")]
)
def test_a_comma_before_a_fraction_is_found(path: Path, value: str, decimal: str) -> None:
    assert read(path, f"time;temp\n1772359200;{value}\n").decimal == decimal


def test_a_comma_that_may_be_of_thousands_is_asked_for(path: Path) -> None:
    text = "time;temp\n1772359200;1,013\n1772359260;1,014\n"
    with pytest.raises(BadArguments, match="--decimal comma"):
        read(path, text)
    options = CsvOptions("time", (TEMPERATURE,), decimal=",")
    assert read(path, text, options).decimal == ","


def test_one_fraction_that_is_clear_says_it_of_all(path: Path) -> None:
    assert read(path, "time;temp\n1772359200;1,013\n1772359260;0,9\n").decimal == ","


def test_columns_without_headings_are_counted(path: Path) -> None:
    options = CsvOptions("1", (ColumnMapping("3", "tank"),))
    form = read(path, "1772359200,4,5\n1772359260,4,6\n", options)
    assert (form.has_header, form.places) == (False, {"time": 0, "tank": 2})


@pytest.mark.parametrize(
    ("heading", "layout"),
    [(OWN, CsvLayout.OWN), ("entity_id,state,last_changed\n", CsvLayout.HOME_ASSISTANT)],
)
def test_known_exports_need_no_option(path: Path, heading: str, layout: CsvLayout) -> None:
    assert read(path, heading, CsvOptions()).layout is layout


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_mark_of_the_encoding_is_no_part_of_a_heading(path: Path, encoding: str) -> None:
    assert read(path, "time,temp\n1772359200,1\n", encoding=encoding).places["time"] == 0


def test_another_encoding_is_asked_for(path: Path) -> None:
    text = "time,°C\n1772359200,1\n"
    options = CsvOptions("time", (ColumnMapping("°C", "room.temperature"),))
    with pytest.raises(BadArguments, match="--encoding cp1252"):
        read(path, text, options, "cp1252")
    given = CsvOptions("time", options.columns, encoding="cp1252")
    assert read(path, text, given, "cp1252").places["room.temperature"] == 1
    with pytest.raises(BadArguments, match="no encoding"):
        read(path, text, CsvOptions("time", options.columns, encoding="klingon"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty"),
        ("date,temp\n1,2\n", "no column 'time', but date, temp"),
        ("time,temp,temp\n1,2,3\n", "several columns 'temp'"),
    ],
)
def test_what_does_not_fit_is_named(path: Path, text: str, said: str) -> None:
    with pytest.raises(BadArguments, match=said):
        read(path, text)


def test_an_unknown_file_is_told_with_an_example(path: Path) -> None:
    with pytest.raises(BadArguments, match="--time date --value temp --reading"):
        read(path, "date,temp\n1,2\n", CsvOptions())


def test_empty_lines_before_the_headings_are_no_headings(path: Path) -> None:
    text = "\n\ntime;temp\n2026-05-01 12:00;20,5\n2026-05-01 12:01;20,75\n"
    with pytest.raises(BadArguments, match=r"say which of its columns are what \(time, temp\)"):
        read(path, text, CsvOptions())
    found = read(path, text)
    assert (found.delimiter, found.decimal, found.has_header) == (";", ",", True)
    reader = CsvReader(path, found, TimeReader(UTC), 1_800_000_000_000)
    assert [row.mean for row in reader.rows() if isinstance(row, CsvRow)] == [20.5, 20.75]
    assert reader.lines == 5
