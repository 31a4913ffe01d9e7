import json

import msgspec
import pytest

from agent.cli import board_info
from agent.link.manifest import BoardPin
from tests.fakes.board import FakeBoard


def test_pins_and_methods_are_told_as_they_are_typed(capsys: pytest.CaptureFixture[str]) -> None:
    board_info.run(FakeBoard(), as_json=False)
    said = capsys.readouterr().out
    assert "led     PC13  in out  also blue led, light" in said
    assert "gpio_write pin=PIN value=off|on" in said
    assert "0.1.0 (build 1, protocol 1)" in said


def test_a_program_gets_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    board_info.run(FakeBoard(), as_json=True)
    said = json.loads(capsys.readouterr().out)
    assert said["state"] == "ready"
    assert said["firmware"] == "0.1.0"
    assert [pin["name"] for pin in said["pins"]][:2] == ["led", "pump"]
    assert said["methods"][-1]["usage"] == "mcu_temperature"


def test_limits_are_told_in_the_words_of_the_configuration(
    capsys: pytest.CaptureFixture[str],
) -> None:
    board = FakeBoard()
    assert board.manifest is not None
    pump = BoardPin(9, "pump", "PB0", can=("out",), max_on_ms=1500, needs=(("level_ok", 1),))
    board.learn(msgspec.structs.replace(board.manifest, pins=(pump,)))
    board_info.run(board, as_json=False)
    said = capsys.readouterr().out
    assert "pump  PB0  out    max_on_s 1.5, only_while level_ok is on" in said
    assert "link        0 frames" in said
