"""Payloads: whatever anybody publishes is a message, a command, or nothing."""

import json

import hypothesis.strategies as st
import pytest
from hypothesis import given

from agent.channels.mqtt import messages
from agent.channels.mqtt.messages import MqttInbound
from agent.link.manifest import BoardPin, Field, Manifest, Method
from agent.messages import Outbound
from tests.fakes.board import FakeBoard

BOARD = FakeBoard()
SPEED = Field("speed", "h", minimum=-100, maximum=100, unit="%", scale=0.1)


def order(pin: str, payload: bytes, *, is_only: bool = True) -> str:
    return messages.order_of(BOARD, pin, payload, is_only=is_only)


@given(st.binary(max_size=200))
def test_no_payload_breaks_it(payload: bytes) -> None:
    letter = messages.read(payload)
    assert letter is None or letter.text


@given(st.text(min_size=1))
def test_plain_text_is_its_own_text(text: str) -> None:
    letter = messages.read(text.encode("utf-8", "replace"))
    if letter is not None and not text.lstrip().startswith("{"):
        assert letter.text == text.encode("utf-8", "replace").decode().strip()


def test_json_with_other_fields_is_text() -> None:
    payload = b'{"temperature": 21.5}'
    assert messages.read(payload) == MqttInbound(text=payload.decode())


def test_a_letter_says_exactly_what_it_is() -> None:
    told = {"text": "hi", "id": "1", "name": "An\x1bna", "thread": "t", "sent_at": 7}
    letter = messages.read(json.dumps(told).encode())
    assert letter is not None
    inbound = messages.inbound_of(letter, "anna", "anna:1", 9.0)
    assert (inbound.text, inbound.sender_name, inbound.thread) == ("hi", "Anna", "t")
    assert inbound.sent_at_s == 7.0


@pytest.mark.parametrize("times", [1, 1000, 1_000_000, 1_000_000_000])
def test_a_time_in_thousandths_is_the_time_that_is_meant(times: int) -> None:
    """Date.now() counts milliseconds, and Python and Go have clocks that count nanoseconds."""
    letter = messages.read(b'{"text": "hi", "sent_at": %d}' % (1_790_000_000 * times))
    assert letter is not None
    inbound = messages.inbound_of(letter, "anna", "anna:1", 1_790_009_000.0)
    assert inbound.sent_at_s == 1_790_000_000


@pytest.mark.parametrize(
    ("sent_at", "meant"),
    [("1790000060", 1_790_000_000), ("1790003600", None), ("1e14", None), ("1e300", None)],
)
def test_a_time_to_come_is_none(sent_at: str, meant: float | None) -> None:
    letter = messages.read(b'{"text": "hi", "sent_at": %b}' % sent_at.encode())
    assert letter is not None
    assert messages.inbound_of(letter, "anna", "anna:1", 1_790_000_000.0).sent_at_s == meant


@pytest.mark.parametrize("sent_at", ["-1", "-1e17", "-1e300"])
def test_a_time_before_all_times_is_the_first_one(sent_at: str) -> None:
    letter = messages.read(b'{"text": "hi", "sent_at": %b}' % sent_at.encode())
    assert letter is not None
    assert messages.inbound_of(letter, "anna", "anna:1", 9.0).sent_at_s == 0.0


@pytest.mark.parametrize("payload", [b"on", b"ON", b" true ", b"1"])
def test_a_switch_is_turned_on_by_what_programs_say(payload: bytes) -> None:
    assert order("pump", payload) == "turn the pump on"


def test_of_several_boards_the_one_is_named() -> None:
    assert order("pump", b"off", is_only=False) == "turn the pump of board off"


@given(st.binary(max_size=40))
def test_nothing_of_a_payload_but_its_value_gets_into_the_order(payload: bytes) -> None:
    assert order("pump", payload) in {"", "turn the pump on", "turn the pump off"}


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (b"21.5", "21.5"),
        (b"100", "100"),
        (b"33.3333333333333", "33.333333"),
        # What is left of a zero where programs count in floats
        (b"5.551115123125783e-17", "0"),
        (b"-5e-05", "-0.00005"),
        (b"101", ""),
        (b"nan", ""),
    ],
)
def test_a_number_is_written_as_people_write_it(said: bytes, told: str) -> None:
    drive = Method(
        42, "motor_write", "", (Field("pin", "B", pins="motor"), SPEED), (SPEED,), lease=True
    )
    board = FakeBoard()
    pins = (BoardPin(0, "drive", "PB8", can=("motor",)),)
    board.learn(Manifest("t", "t", methods=(drive,), pins=pins))
    wanted = f"set the drive to {told} %" if told else ""
    assert messages.order_of(board, "drive", said, is_only=True) == wanted


@pytest.mark.parametrize("pin", ["button", "a0", "nothing", "", "mcu_temperature"])
def test_what_cannot_be_set_is_no_command(pin: str) -> None:
    assert order(pin, b"on") == ""


def test_an_answer_is_plain_text_with_an_id() -> None:
    message = Outbound(4, "mqtt", "anna", "It is **warm**.", "anna:1", part=1)
    assert json.loads(messages.told_by(message, "4-1")) == {
        "id": "4-1",
        "text": "It is warm.",
        "answers": "anna:1",
        "part": 1,
    }
