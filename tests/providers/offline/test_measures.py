"""Numbers with units: what is said, what a tool wants, and what never becomes the other."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.providers.offline.measures import amounts_of, converted, unit_told
from agent.providers.offline.pieces import analyse


@pytest.mark.parametrize(
    ("code", "said", "number", "symbol"),
    [
        ("en", "50 %", 50, "%"),
        ("en", "fifty percent", 50, "%"),
        ("en", "21 degrees celsius", 21, "°C"),
        ("en", "21°C", 21, "°C"),
        ("en", "70 °F", 70, "°F"),
        ("en", "-3 degrees", -3, "°"),
        ("en", "250ms", 250, "ms"),
        ("en", "1.2 V", 1.2, "V"),
        ("en", "3 bananas", 3, None),
        ("de", "1,5 Volt", 1.5, "V"),
        ("de", "zwanzig Prozent", 20, "%"),
        ("zh", "三十度", 30, "°"),
        ("zh", "5秒钟", 5, "s"),
        ("ja", "5分", 5, "min"),
        ("ko", "10퍼센트", 10, "%"),
        ("es", "20 por ciento", 20, "%"),
    ],
)
def test_a_number_is_found_with_its_unit(
    code: str, said: str, number: float, symbol: str | None
) -> None:
    (amount,) = amounts_of(analyse(said, code).pieces, code)
    assert amount.number == number
    assert (amount.unit and amount.unit.symbol) == symbol


@pytest.mark.parametrize(
    ("name", "about", "symbol"),
    [
        ("duty", "in %", "%"),
        ("duration", "How long, in ms.", "ms"),
        ("temperature", "in °C", "°C"),
        ("delay_s", "", "s"),
        ("angle", "in °", "°"),
        ("count", "how many in a row", None),
        ("value", "", None),
        ("a_b_", "in ", None),
    ],
)
def test_a_schema_tells_its_unit_in_its_description_or_its_name(
    name: str, about: str, symbol: str | None
) -> None:
    unit = unit_told(name, about)
    assert (unit and unit.symbol) == symbol


@pytest.mark.parametrize(
    ("said", "wanted", "number"),
    [
        ("for 2 seconds", "in ms", 2000),
        ("for 1500 ms", "in s", 1.5),
        ("for 2 minutes", "in s", 120),
        ("212 °F", "in °C", 100),
        ("20 °C", "in °F", 68),
        ("1200 mV", "in V", 1.2),
        ("90 degrees", "in °", 90),
        ("20 degrees", "in °C", 20),
        ("half", "in %", 50),
        ("50", "in %", 50),
        ("50 %", "", 50),
        # A bare number may be seconds or milliseconds; "in" says when, not how long
        ("2", "in ms", None),
        ("in 2 seconds", "in ms", None),
        ("for 2 seconds", "in %", None),
        ("for 2 seconds", "", None),
        ("50 volts", "in %", None),
        ("50 %", "in °C", None),
    ],
)
def test_a_number_is_converted_or_not_meant(said: str, wanted: str, number: float | None) -> None:
    (amount,) = amounts_of(analyse(said, "en").pieces, "en")
    assert converted(amount, unit_told("value", wanted)) == number


@given(st.text(max_size=60), st.sampled_from(["en", "zh", "ja", "ko", "de", "es"]))
def test_any_text_has_as_many_amounts_as_numbers(said: str, code: str) -> None:
    pieces = analyse(said, code).pieces
    numbers = [piece for piece in pieces if piece.number is not None]
    assert len(amounts_of(pieces, code)) == len(numbers)
