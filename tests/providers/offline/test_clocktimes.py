import pytest

from agent.providers.offline.clocktimes import clocktime_at
from agent.providers.offline.time_vocabulary import time_vocabulary, units_of


@pytest.mark.parametrize(
    ("code", "text", "told"),
    [
        ("en", "half past nine", "09:30 or 21:30"),
        ("en", "quarter to one", "12:45 or 00:45"),
        ("en", "ten past four", "04:10 or 16:10"),
        ("en", "nine o'clock", "09:00 or 21:00"),
        ("en", "nine forty five", "09:45 or 21:45"),
        ("en", "17:20", "17:20"),
        ("de", "halb zehn", "09:30 or 21:30"),
        ("de", "halb eins", "12:30 or 00:30"),
        ("de", "viertel vor neun", "08:45 or 20:45"),
        ("de", "dreiviertel neun", "08:45 or 20:45"),
        ("de", "neun Uhr zwanzig", "09:20 or 21:20"),
        ("de", "7:30", "07:30"),
        ("es", "nueve y cuarto", "09:15 or 21:15"),
        ("es", "nueve menos diez", "08:50 or 20:50"),
        ("es", "ocho menos cinco minutos", "07:55 or 19:55"),
        ("it", "otto meno cinque", "07:55 or 19:55"),
        ("it", "8 e 20", "08:20 or 20:20"),
        ("it", "venti e trenta", "20:30"),
        ("pt", "oito menos cinco", "07:55 or 19:55"),
        ("pt", "oito e dez", "08:10 or 20:10"),
        ("pt", "uma menos dez", "12:50 or 00:50"),
        ("fr", "huit heures moins cinq", "07:55 or 19:55"),
        ("fr", "huit heures et dix minutes", "08:10 or 20:10"),
        ("zh", "九点一刻", "09:15 or 21:15"),
        ("zh", "十七点二十分", "17:20"),
        ("ja", "9時半", "09:30 or 21:30"),
        ("ja", "17時20分", "17:20"),
        ("ko", "아홉 시 반", "09:30 or 21:30"),
        ("ko", "17시 20분", "17:20"),
    ],
)
def test_a_time_of_day_is_read_whole(code: str, text: str, told: str) -> None:
    units = units_of(text)
    found = clocktime_at(units, 0, time_vocabulary(code), bare=False)
    assert found is not None
    assert (found.told, found.end) == (told, len(units))


@pytest.mark.parametrize("text", ["nine", "25:00", "9:75", "tea", "nine apples", "half an apple"])
def test_a_number_alone_is_no_time(text: str) -> None:
    assert clocktime_at(units_of(text), 0, time_vocabulary("en"), bare=False) is None


@pytest.mark.parametrize(
    ("part", "told"), [("am", "09:00"), ("pm", "21:00"), ("night", "21:00"), ("noon", "09:00")]
)
def test_a_part_of_the_day_says_which_half_is_meant(part: str, told: str) -> None:
    found = clocktime_at(units_of("nine"), 0, time_vocabulary("en"), bare=True)
    assert found is not None
    assert found.within(part).told == told


def test_twelve_at_night_is_midnight() -> None:
    found = clocktime_at(units_of("twelve"), 0, time_vocabulary("en"), bare=True)
    assert found is not None
    assert [found.within(part).told for part in ("am", "pm", "night")] == [
        "00:00",
        "12:00",
        "00:00",
    ]


@pytest.mark.parametrize(
    ("said", "part", "told"),
    [
        ("twelve", "evening", "00:00"),
        ("one", "evening", "01:00"),
        ("eight", "evening", "20:00"),
        ("three", "night", "03:00"),
        ("one", "noon", "13:00"),
        ("twelve", "noon", "12:00"),
        ("eleven", "noon", "11:00"),
    ],
)
def test_an_evening_ends_at_midnight_and_noon_goes_on_after_twelve(
    said: str, part: str, told: str
) -> None:
    found = clocktime_at(units_of(said), 0, time_vocabulary("en"), bare=True)
    assert found is not None
    assert found.within(part).told == told
