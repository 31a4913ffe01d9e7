import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import CallRefused
from agent.link.base import Value
from agent.link.manifest import BoardPin, Field, Manifest, Method, read_manifest
from agent.link.value_codec import BadAnswer, is_whole, pack, pin_bits, range_of, unpack
from tests.fakes.board import MANIFEST_JSON

BOARD = read_manifest(MANIFEST_JSON)


def taking(**described: object) -> Method:
    return Method(16, "do", "", arguments=(Field("value", **described),))  # type: ignore[arg-type] # any field


def giving(**described: object) -> Method:
    return Method(16, "do", "", result=(Field("value", **described),))  # type: ignore[arg-type] # any field


def method(name: str) -> Method:
    found = BOARD.method(name)
    assert found is not None
    return found


def test_names_and_choices_become_their_numbers() -> None:
    assert pack(BOARD, method("gpio_write"), {"pin": "pump", "value": "on"}) == b"\x01\x01"


def test_a_number_is_divided_by_its_scale() -> None:
    assert pack(BOARD, taking(format="H", scale=0.1, unit="%"), {"value": 12.5}) == b"\x7d\x00"


def test_fractions_travel_as_floats() -> None:
    assert pack(BOARD, taking(format="f"), {"value": 0.5}) == b"\x00\x00\x00\x3f"


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ({"pin": "led"}, "bad_request", "value is missing"),
        ({"pin": "led", "value": "on", "force": 1}, "bad_request", "no argument force"),
        ({"pin": "button", "value": "on"}, "bad_pin", "led, pump, relay, not button"),
        ({"pin": 0, "value": "on"}, "bad_pin", "not 0"),
        ({"pin": "led", "value": "blink"}, "bad_request", "off, on, not blink"),
    ],
)
def test_what_the_manifest_forbids_is_refused_with_the_choices(
    arguments: dict[str, Value], code: str, words: str
) -> None:
    with pytest.raises(CallRefused, match=words) as refused:
        pack(BOARD, method("gpio_write"), arguments)
    assert refused.value.code == code


@pytest.mark.parametrize(
    ("described", "value", "words"),
    [
        ({"format": "B"}, 256, "at most 255"),
        ({"format": "B"}, -1, "at least 0"),
        ({"format": "H", "maximum": 90, "unit": "°"}, 91, "at most 90 °"),
        ({"format": "h", "minimum": -40}, -41, "at least -40"),
        ({"format": "B"}, "many", "must be a number"),
        ({"format": "f"}, math.nan, "must be a number"),
        ({"format": "d"}, math.inf, "must be a number"),
        ({"format": "f"}, 1e300, "out of range"),
    ],
)
def test_numbers_out_of_range_are_refused_with_the_limit(
    described: dict[str, object], value: Value, words: str
) -> None:
    with pytest.raises(CallRefused, match=words):
        pack(BOARD, taking(**described), {"value": value})


def test_a_board_without_such_a_pin_says_where_to_set_one_up() -> None:
    with pytest.raises(CallRefused, match=r"no pin of this board can do that \(out\); set one up"):
        pack(Manifest(1, "bare"), method("gpio_write"), {"pin": "led", "value": "on"})


def test_a_result_becomes_words_and_units() -> None:
    assert unpack(BOARD, method("gpio_read"), b"\x01") == {"value": "on"}
    assert unpack(BOARD, method("adc_read"), b"\xd2\x04") == {"value": 1.234}
    assert unpack(BOARD, method("mcu_temperature"), b"\xf5\xff") == {"value": -1.1}
    assert unpack(BOARD, giving(format="H", scale=10), b"\x07\x00") == {"value": 70}
    assert unpack(BOARD, giving(format="f"), b"\xb6\xf3\x9d\x3f") == {"value": 1.234}
    assert unpack(BOARD, giving(format="B", pins="out"), b"\x01") == {"value": "pump"}
    assert unpack(BOARD, giving(format="B", pins="out"), b"\x63") == {"value": "99"}


def test_more_bytes_of_a_newer_board_are_ignored() -> None:
    assert unpack(BOARD, method("gpio_read"), b"\x00extra") == {"value": "off"}


@pytest.mark.parametrize(
    ("one", "payload"),
    [
        (method("adc_read"), b"\x01"),
        (method("gpio_read"), b"\x02"),
        (giving(format="b", choices=("a",)), b"\xff"),
        (giving(format="f"), b"\x00\x00\xc0\x7f"),
    ],
)
def test_a_result_that_means_nothing_is_a_bad_answer(one: Method, payload: bytes) -> None:
    with pytest.raises(BadAnswer):
        unpack(BOARD, one, payload)


def test_the_range_is_the_tighter_of_format_and_limits() -> None:
    assert range_of(Field("x", "B")) == (0, 255)
    assert range_of(Field("x", "B", minimum=-5, maximum=1000, scale=2)) == (0, 510)
    assert range_of(Field("x", "h", minimum=-5, maximum=5)) == (-5, 5)
    assert range_of(Field("x", "f")) == (None, None)


def test_whole_numbers_stay_whole() -> None:
    assert is_whole(Field("x", "B", scale=10.0))
    assert not is_whole(Field("x", "B", scale=0.5))
    assert not is_whole(Field("x", "f"))


def test_the_mask_has_a_bit_for_each_pin_that_is_named() -> None:
    assert pin_bits(BOARD, method("gpio_write"), {"pin": "relay", "value": "on"}) == 0b100
    assert pin_bits(BOARD, method("mcu_temperature"), {}) == 0


@given(
    st.sampled_from("bBhHiIlLqQ"),
    st.sampled_from([0.001, 0.1, 0.5, 1.0, 10.0]),
    st.data(),
)
def test_what_is_packed_comes_back(code: str, scale: float, data: st.DataObject) -> None:
    field = Field("value", code, scale=scale)
    low, high = range_of(field)
    assert low is not None
    assert high is not None
    value = data.draw(st.floats(max(low, -(2.0**40)), min(high, 2.0**40)))
    packed = pack(BOARD, Method(16, "do", "", arguments=(field,)), {"value": value})
    (back,) = unpack(BOARD, Method(16, "do", "", result=(field,)), packed).values()
    assert float(back) == pytest.approx(value, abs=scale * 0.51, rel=1e-12)


@given(st.binary(max_size=12))
def test_any_answer_is_understood_or_refused(payload: bytes) -> None:
    layout = tuple(Field(f"f{n}", code) for n, code in enumerate("Bhf"))
    try:
        values = unpack(
            Manifest(1, "x", pins=(BoardPin(0, "led", ""),)),
            Method(16, "do", "", (), layout),
            payload,
        )
    except BadAnswer:
        return
    assert list(values) == ["f0", "f1", "f2"]


def test_a_field_that_a_device_lacks_may_be_left_out_at_the_end() -> None:
    fields = (Field("warm", "B"), Field("wet", "H", optional=True))
    climate = Method(16, "climate", "", result=fields)
    assert unpack(BOARD, climate, b"\x07") == {"warm": 7}
    assert unpack(BOARD, climate, b"\x07\x02\x00") == {"warm": 7, "wet": 2}
    with pytest.raises(BadAnswer, match="too short"):
        unpack(BOARD, climate, b"\x07\x02")


def test_bytes_stand_among_numbers() -> None:
    arguments = (Field("a", "B"), Field("data", "s", maximum=3), Field("b", "B"))
    both = Method(16, "both", "", arguments=arguments, result=arguments)
    packed = pack(BOARD, both, {"a": 1, "data": "ff 00", "b": 2})
    assert packed == b"\x01\x02\xff\x00\x02"
    assert unpack(BOARD, both, packed) == {"a": 1, "data": "ff 00", "b": 2}


@pytest.mark.parametrize("cut", range(4))
def test_bytes_that_are_cut_off_are_an_answer_that_is_too_short(cut: int) -> None:
    with pytest.raises(BadAnswer, match="too short"):
        unpack(BOARD, giving(format="s"), b"\x03abc"[:cut])
