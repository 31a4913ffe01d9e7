import json
import struct
from typing import Any

import pytest

from agent.link import frame as codec
from firmware.host.wire import Refused, Wire
from tests.fakes.board_sim import BoardSim
from tests.firmware.methods import (
    ADC_READ,
    GPIO_READ,
    GPIO_WRITE,
    MCU_TEMPERATURE,
    OFF,
    ON,
    PINS,
    switch,
)


def refusal(wire: Wire, method: int, arguments: bytes) -> int:
    with pytest.raises(Refused) as refused:
        wire.call(method, arguments)
    assert refused.value.text
    return refused.value.code


@pytest.mark.parametrize("pin", ["led", "pump", "relay"])
def test_a_written_pin_is_read_back(wire: Wire, board: BoardSim, pin: str) -> None:
    assert switch(wire, pin, ON) == ON
    assert board.value(pin) == 1
    assert switch(wire, pin, OFF) == OFF
    assert board.value(pin) == 0


def test_values_are_logical_whatever_level_that_takes(wire: Wire, board: BoardSim) -> None:
    switch(wire, "led", ON)
    switch(wire, "pump", ON)
    levels = {
        event["name"]: (event["value"], event["level"])
        for event in board.record()
        if event["event"] == "pin"
    }
    assert levels["led"] == (1, 0)
    assert levels["pump"] == (1, 1)


def test_a_shorted_output_shows_in_the_answer(wire: Wire, board: BoardSim) -> None:
    board.order({"stuck": {"relay": 0}})
    try:
        assert switch(wire, "relay", ON) == OFF
    finally:
        board.order({"stuck": {"relay": None}})
    assert wire.call(GPIO_READ, PINS["relay"]) == ON


def test_an_input_is_read_with_its_pull_and_its_active_level(wire: Wire, board: BoardSim) -> None:
    assert wire.call(GPIO_READ, PINS["button"]) == OFF
    board.set(button=1)
    assert wire.call(GPIO_READ, PINS["button"]) == ON
    board.set(button=0)
    assert wire.call(GPIO_READ, PINS["button"]) == OFF


def test_a_floating_pin_is_an_input_until_it_is_written(own_board: BoardSim) -> None:
    assert own_board.changes("d2") == []
    with Wire(str(own_board.port)) as wire:
        wire.greet()
        own_board.set(d2=1)
        assert wire.call(GPIO_READ, PINS["d2"]) == ON
        wire.call(codec.METHOD_SAFE)
        assert own_board.changes("d2") == []
        assert switch(wire, "d2", ON) == ON
        wire.call(codec.METHOD_SAFE)
    assert [value for value, _ms in own_board.changes("d2")] == [1, 0]


@pytest.mark.parametrize("volts", [0.0, 1.234, 3.3])
def test_an_analog_pin_is_measured_in_millivolts(wire: Wire, board: BoardSim, volts: float) -> None:
    board.set(light=volts)
    (millivolts,) = struct.unpack("<H", wire.call(ADC_READ, PINS["light"]))
    assert millivolts == pytest.approx(volts * 1000, abs=1)


@pytest.mark.parametrize("degrees", [-12.3, 24.5, 85.0])
def test_the_temperature_comes_in_tenths(wire: Wire, board: BoardSim, degrees: float) -> None:
    board.set(temperature=degrees)
    (tenths,) = struct.unpack("<h", wire.call(MCU_TEMPERATURE))
    assert tenths == round(degrees * 10)


def test_every_method_of_the_manifest_answers_as_it_says(wire: Wire) -> None:
    described = json.loads(wire.manifest())
    for method in described["methods"]:
        if not all(able(field, described) for field in method["arguments"]):
            continue  # for what a configuration connects
        arguments = b"".join(example(field, described) for field in method["arguments"])
        result = wire.call(method["id"], arguments)
        size = sum(struct.calcsize("<" + field["format"]) for field in method["result"])
        assert len(result) == size, method["name"]


def able(field: dict[str, Any], described: dict[str, Any]) -> list[int]:
    """The pins that the field may name; one that names none may be anything."""
    can = field.get("pins")
    return [pin["index"] for pin in described["pins"] if not can or can in pin["can"]]


def example(field: dict[str, Any], described: dict[str, Any]) -> bytes:
    value = able(field, described)[0] if "pins" in field else 0
    return struct.pack("<" + field["format"], value)


def test_a_manifest_offset_beyond_its_end_is_refused(wire: Wire) -> None:
    total = struct.unpack_from("<I", wire.call(codec.METHOD_MANIFEST, bytes(4)))[0]
    assert wire.call(codec.METHOD_MANIFEST, struct.pack("<I", total)) == struct.pack("<I", total)
    too_far = struct.pack("<I", total + 1)
    assert refusal(wire, codec.METHOD_MANIFEST, too_far) == codec.OUT_OF_RANGE


@pytest.mark.parametrize("method", [GPIO_WRITE, GPIO_READ, ADC_READ])
@pytest.mark.parametrize("pin", [b"\x64", b"\xff"])
def test_an_unknown_pin_is_refused(wire: Wire, method: int, pin: bytes) -> None:
    assert refusal(wire, method, pin + OFF) == codec.BAD_PIN


def test_a_pin_is_asked_only_for_what_it_can(wire: Wire) -> None:
    assert refusal(wire, GPIO_WRITE, PINS["button"] + ON) == codec.BAD_PIN
    assert refusal(wire, GPIO_WRITE, PINS["a0"] + ON) == codec.BAD_PIN
    assert refusal(wire, GPIO_READ, PINS["a0"]) == codec.BAD_PIN
    assert refusal(wire, ADC_READ, PINS["led"]) == codec.BAD_PIN


@pytest.mark.parametrize("value", [2, 3, 255])
def test_a_value_that_is_neither_off_nor_on_is_refused(
    wire: Wire, board: BoardSim, value: int
) -> None:
    assert refusal(wire, GPIO_WRITE, PINS["led"] + bytes([value])) == codec.OUT_OF_RANGE
    assert board.value("led") == 0


@pytest.mark.parametrize("method", [0, 1, GPIO_WRITE, GPIO_READ, ADC_READ])
def test_missing_arguments_are_refused(wire: Wire, method: int) -> None:
    assert refusal(wire, method, b"") == codec.BAD_REQUEST


@pytest.mark.parametrize("method", [14, 15, 99, 255])
def test_an_unknown_method_is_not_supported(wire: Wire, method: int) -> None:
    assert refusal(wire, method, b"") == codec.NOT_SUPPORTED


def test_what_a_newer_agent_adds_to_the_arguments_is_ignored(wire: Wire) -> None:
    assert wire.call(GPIO_WRITE, PINS["led"] + ON + b"for a later version") == ON


def test_the_status_tells_state_leases_and_counts(wire: Wire) -> None:
    state, uptime_ms, leased, frames, dropped, reason = wire.status()
    assert (state, leased, reason) == (codec.STATE_IDLE, 0, codec.REASON_NONE)
    switch(wire, "led", ON)
    wire.write(b"\x00noise\x00")
    armed = wire.status()
    assert armed[0] == codec.STATE_ARMED
    assert armed[1] >= uptime_ms
    assert armed[2] == 1 << PINS["led"][0]
    assert armed[3] > frames
    assert armed[4] == dropped + 1


def test_safe_makes_every_output_safe(wire: Wire, board: BoardSim) -> None:
    for pin in ("led", "pump", "relay"):
        switch(wire, pin, ON)
    assert wire.call(codec.METHOD_SAFE) == b""
    assert [board.value(pin) for pin in ("led", "pump", "relay")] == [0, 0, 0]
    assert switch(wire, "led", ON) == ON
