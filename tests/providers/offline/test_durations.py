import pytest

from agent.providers.offline.durations import duration_at
from agent.providers.offline.time_vocabulary import units_of


@pytest.mark.parametrize(
    ("code", "text", "seconds"),
    [
        ("en", "an hour and a half", 5400),
        ("en", "two and a half minutes", 150),
        ("en", "forty-two minutes", 2520),
        ("en", "a hundred and ten seconds", 110),
        ("en", "three quarters of an hour", 2700),
        ("en", "2 hours, 3 minutes and 4 seconds", 7384),
        ("en", "7 more minutes", 420),
        ("de", "anderthalb Stunden", 5400),
        ("de", "siebenundzwanzig Minuten", 1620),
        ("de", "zweieinhalb Stunden", 9000),
        ("de", "einer Viertelstunde", 900),
        ("de", "hundertzwanzig Sekunden", 120),
        ("de", "2 Std 20 Min", 8400),
        ("es", "media hora", 1800),
        ("es", "cuarenta y dos minutos", 2520),
        ("es", "dos horas y media", 9000),
        ("es", "una hora y cuarto", 4500),
        ("es", "hora y", None),
        ("zh", "两个半小时", 9000),
        ("zh", "四十二分钟", 2520),
        ("zh", "三刻钟", 2700),
        ("zh", "2小時3分4秒", 7384),
        ("zh", "百分之五十", None),
        ("ja", "2時間半", 9000),
        ("ja", "四十二分", 2520),
        ("ja", "2時間3分4秒", 7384),
        ("ko", "두 시간 반", 9000),
        ("ko", "사십이 분", 2520),
        ("ko", "2시간 3분 4초", 7384),
    ],
)
def test_a_duration_is_read_with_every_part_of_it(
    code: str, text: str, seconds: int | None
) -> None:
    units = units_of(text)
    read = duration_at(units, 0, code)
    if seconds is None:
        assert read is None
    else:
        assert read is not None
        assert (read.seconds, read.end) == (seconds, len(units))


@pytest.mark.parametrize("text", ["5", "minutes", "0 seconds", "", "five apples", "the hour"])
def test_what_tells_no_length_is_none(text: str) -> None:
    assert duration_at(units_of(text), 0, "en") is None


def test_a_larger_unit_begins_another_duration() -> None:
    read = duration_at(units_of("5 minutes 1 hour"), 0, "en")
    assert read is not None
    assert (read.seconds, read.end) == (300, 2)
