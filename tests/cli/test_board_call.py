import json
from argparse import Namespace

import pytest

from agent.cli import board_call, exits
from agent.cli.board_call import typed_arguments
from agent.errors import BadArguments, LinkLost
from agent.link.base import Value
from agent.link.manifest import Field, Manifest, Method
from tests.fakes.board import FakeBoard


def words(method: str, *arguments: str, as_json: bool = False, hold: float = 0.0) -> Namespace:
    return Namespace(method=method, arguments=list(arguments), json=as_json, hold=hold)


async def test_a_reading_is_printed_with_its_unit(capsys: pytest.CaptureFixture[str]) -> None:
    assert await board_call.run(FakeBoard(), words("mcu_temperature")) == exits.OK
    assert capsys.readouterr().out == "value = 24.5 °C\n"


async def test_a_program_gets_the_reading_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    await board_call.run(FakeBoard(), words("adc_read", "pin=a0", as_json=True))
    assert json.loads(capsys.readouterr().out) == {"value": 1.234, "unit": "V"}


async def test_an_output_is_set_and_its_lease_explained(
    capsys: pytest.CaptureFixture[str],
) -> None:
    board = FakeBoard()
    await board_call.run(board, words("gpio_write", "pin=led", "value=on"))
    assert board.values["led"] == "on"
    assert "--hold" in capsys.readouterr().err


async def test_a_pin_is_known_by_all_its_names() -> None:
    for name in ("led", "LED", "PC13", "blue led", "Light"):
        board = FakeBoard()
        await board_call.run(board, words("gpio_write", f"pin={name}", "value=on"))
        assert board.values["led"] == "on"


def test_a_board_without_such_a_pin_says_where_to_set_one_up() -> None:
    method = Method(40, "servo_write", "Turn it.", (Field("pin", "B", "servo"),))
    with pytest.raises(
        BadArguments, match=r"no pin of this board can do that \(servo\); set one up"
    ):
        typed_arguments(Manifest(1, "bare"), method, ["pin=second"])


async def test_the_name_of_the_agents_tool_is_understood() -> None:
    assert await board_call.run(FakeBoard(), words("board_mcu_temperature")) == exits.OK


async def test_a_held_output_that_is_lost_is_told() -> None:
    board = FakeBoard()

    class UnpluggedBoard:
        """Goes away as soon as it has acted."""

        manifest = board.manifest

        @property
        def status(self) -> object:
            board.unplug()
            return board.status

        call = board.call

    with pytest.raises(LinkLost, match="no longer held"):
        await board_call.run(
            UnpluggedBoard(), words("gpio_write", "pin=led", "value=on", hold=60.0)
        )


@pytest.mark.parametrize(
    ("method", "arguments", "sentence"),
    [
        (
            "gpio_wirte",
            [],
            "no method gpio_wirte (did you mean gpio_write?); available methods: gpio",
        ),
        ("dance", [], "the board has no method dance; available methods: gpio_write, gpio_read"),
        (
            "gpio_write",
            ["led"],
            "led has no =: write name=value; usage: gpio_write pin=PIN value=off|on",
        ),
        ("gpio_write", ["pni=led"], "has no argument pni (did you mean pin?)"),
        (
            "gpio_write",
            ["pin=led"],
            "missing arguments: value; usage: gpio_write pin=PIN value=off|on",
        ),
        ("gpio_write", ["pin=ledd", "value=on"], "not ledd (did you mean led?)"),
        (
            "gpio_write",
            ["pin=button", "value=on"],
            "pin must be one of led, pump, relay, not button",
        ),
        ("gpio_write", ["pin=led", "value=1"], "value must be one of off, on, not 1"),
    ],
)
async def test_a_wrong_call_says_what_would_be_right(
    method: str, arguments: list[str], sentence: str
) -> None:
    board = FakeBoard()
    with pytest.raises(BadArguments) as caught:
        await board_call.run(board, words(method, *arguments))
    assert sentence in str(caught.value)
    assert board.record == []


WAIT = Method(
    id=16,
    name="wait",
    about="",
    arguments=(
        Field("count", "H"),
        Field("share", "f", unit="%"),
        Field("volts", "H", unit="V", scale=0.001),
    ),
)


@pytest.mark.parametrize(
    ("text", "value"),
    [("count=3", 3), ("share=2.5", 2.5), ("share=1e2", 100.0), ("volts=1.5", 1.5)],
)
def test_numbers_have_the_type_of_the_manifest(text: str, value: Value) -> None:
    rest = {"count": "count=1", "share": "share=1", "volts": "volts=1"}
    name = text.partition("=")[0]
    rest[name] = text
    typed = typed_arguments(Manifest(1, "x"), WAIT, list(rest.values()))
    assert typed[name] == value
    assert type(typed[name]) is type(value)


@pytest.mark.parametrize(
    "text",
    ["count=1.5", "count=", "count=many", f"count={'9' * 5000}", "share=nan", "volts=1V"],
)
def test_what_is_no_number_is_refused(text: str) -> None:
    with pytest.raises(BadArguments, match="must be a"):
        typed_arguments(Manifest(1, "x"), WAIT, [text])
