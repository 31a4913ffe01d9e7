import pytest

from agent.providers.offline.counts import count_at
from agent.providers.offline.time_vocabulary import units_of


@pytest.mark.parametrize(
    ("code", "text", "value"),
    [
        ("en", "ninety-nine", 99),
        ("en", "three hundred and five", 305),
        ("en", "2.5", 2.5),
        ("de", "neunundneunzig", 99),
        ("de", "dreihundertfünf", 305),
        ("de", "viereinhalb", 4.5),
        ("de", "2,5", 2.5),
        ("de", "einezwänzg", 21),
        ("de", "fünfezwänzg", 25),
        ("de", "sibenefüfzg", 57),
        ("de", "zwöieinhalb", 2.5),
        ("es", "noventa y nueve", 99),
        ("es", "ciento cinco", 105),
        ("es", "treinta y un", 31),
        ("es", "veintiuna", 21),
        ("zh", "九十九", 99),
        ("zh", "一百二十", 120),
        ("ja", "九十九", 99),
        ("ko", "아흔아홉", 99),
        ("ko", "구십구", 99),
    ],
)
def test_a_number_is_read_with_all_its_words(code: str, text: str, value: float) -> None:
    units = units_of(text)
    count = count_at(units, 0, code)
    assert count is not None
    assert (count.value, count.end) == (value, len(units))


@pytest.mark.parametrize(
    ("text", "first"), [("seven thirty", 7), ("five hundred six hundred", 506), ("zero one", 0)]
)
def test_a_number_ends_where_another_begins(text: str, first: int) -> None:
    count = count_at(units_of(text), 0, "en")
    assert count is not None
    assert count.value == first


def test_where_no_number_is_there_is_none() -> None:
    assert count_at(units_of("tea"), 0, "en") is None
    assert count_at((), 0, "en") is None
