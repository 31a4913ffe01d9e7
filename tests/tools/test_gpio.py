import json

import pytest

from agent.errors import BadArguments, PinRefused
from agent.messages import Effect
from agent.peripherals.settings import PiPinSettings
from agent.tools.base import AnyTool
from agent.tools.gpio import gpio_tools
from tests.fakes.pi_pins import FakePi, StuckLine
from tests.fakes.workspace import used

FAN = PiPinSettings(gpio=17, danger="actuate", aliases=("Lüfter",))
PUMP = PiPinSettings(gpio=22, max_on_s=5.0)
DOOR = PiPinSettings(gpio=27, kind="input", pull="up", active="low")
PINS = {"fan": FAN, "pump": PUMP, "door": DOOR}


def tools_of(pi: FakePi) -> dict[str, AnyTool]:
    return {tool.name: tool for tool in gpio_tools(pi.owner())}


@pytest.fixture
def tools() -> dict[str, AnyTool]:
    return tools_of(FakePi(PINS))


async def test_an_output_is_switched_and_read_back(tools: dict[str, AnyTool]) -> None:
    told = await used(tools["gpio_write"], pin="fan", value="on")
    assert json.loads(told.text) == {"pin": "fan", "value": "on"}
    assert json.loads((await used(tools["gpio_read"], pin="fan")).text)["value"] == "on"


async def test_the_model_is_told_when_it_will_end(tools: dict[str, AnyTool]) -> None:
    assert json.loads((await used(tools["gpio_write"], pin="pump", value="on")).text) == {
        "pin": "pump",
        "value": "on",
        "max_on_s": 5.0,
    }


async def test_an_output_that_does_not_move_is_no_success() -> None:
    stuck = tools_of(FakePi(PINS, StuckLine))
    told = await used(stuck["gpio_write"], pin="fan", value="on")
    assert (told.success, told.text) == (False, "fan was switched on, but reads the opposite")


async def test_everything_is_listed_with_its_limits(tools: dict[str, AnyTool]) -> None:
    await used(tools["gpio_write"], pin="fan", value="on")
    fan, pump, door = json.loads((await used(tools["gpio_list"])).text)["pins"]
    assert (fan["value"], fan["aliases"], fan["danger"]) == ("on", ["Lüfter"], "actuate")
    assert (pump["value"], pump["max_on_s"], pump["safe"]) == ("off", 5.0, "off")
    assert (door["kind"], "safe" in door) == ("input", False)


async def test_a_pin_that_another_program_holds_hides_no_other() -> None:
    listed = await used(tools_of(FakePi(PINS, absent=frozenset({17})))["gpio_list"])
    fan, pump, _ = json.loads(listed.text)["pins"]
    assert (fan["value"], fan["trouble"]) == ("unknown", "GPIO 17 cannot be used: it is taken")
    assert pump["value"] == "off"


@pytest.mark.parametrize(
    "arguments",
    [
        '{"pin":"door","value":"on"}',
        '{"pin":"heater","value":"on"}',
        '{"pin":17,"value":"on"}',
        '{"pin":"fan","value":1}',
        '{"pin":"fan","value":"on","approved":true}',
        '{"pin":"fan"}',
    ],
)
def test_nothing_else_can_be_asked_for(tools: dict[str, AnyTool], arguments: str) -> None:
    with pytest.raises(BadArguments):
        tools["gpio_write"].parse(arguments)


async def test_a_pin_that_is_taken_is_refused() -> None:
    taken = tools_of(FakePi(PINS, absent=frozenset({17})))
    with pytest.raises(PinRefused, match="GPIO 17"):
        await used(taken["gpio_write"], pin="fan", value="on")


def test_how_dangerous_it_is_says_the_configuration(tools: dict[str, AnyTool]) -> None:
    write = tools["gpio_write"]
    assert write.effect is Effect.HAZARD
    effects = [
        write.effect_of(write.parse(json.dumps({"pin": pin, "value": "on"})))
        for pin in ("fan", "pump")
    ]
    assert effects == [Effect.ACTUATE, Effect.HAZARD]
    assert tools_of(FakePi({"fan": FAN}))["gpio_write"].effect is Effect.ACTUATE


def test_a_question_says_which_pin_and_for_how_long(tools: dict[str, AnyTool]) -> None:
    write = tools["gpio_write"]
    said = write.in_words(write.parse('{"pin":"pump","value":"on"}'))
    assert said == "switch pump (GPIO 22 of the Pi) on, for 5 s at most"
    assert write.in_words(write.parse('{"pin":"pump","value":"off"}')).endswith(" off")


def test_without_an_output_there_is_nothing_to_switch() -> None:
    assert set(tools_of(FakePi({"door": DOOR}))) == {"gpio_list", "gpio_read"}


def test_other_words_for_a_pin_are_told(tools: dict[str, AnyTool]) -> None:
    assert "Lüfter" in json.dumps(tools["gpio_write"].spec().parameters, ensure_ascii=False)


async def test_an_output_is_on_for_as_long_as_was_asked(tools: dict[str, AnyTool]) -> None:
    tool = tools["gpio_write"]
    told = await used(tool, pin="pump", value="on", for_seconds=2)
    assert json.loads(told.text) == {
        "pin": "pump",
        "value": "on",
        "for_seconds": 2.0,
        "then": "off",
    }
    asked = tool.parse('{"pin": "pump", "value": "on", "for_seconds": 2}')
    assert tool.in_words(asked) == "switch pump (GPIO 22 of the Pi) on, for 2 s"
    with pytest.raises(BadArguments, match="pump may be on for 5 s at a time"):
        tool.parse('{"pin": "pump", "value": "on", "for_seconds": 6}')
