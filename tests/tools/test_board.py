import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import BadArguments, CallRefused
from agent.link.manifest import BoardPin, Field, Manifest, Method, read_manifest
from agent.messages import Effect, Provenance, ToolResult
from agent.tools.base import MAX_ARGUMENTS_BYTES, AnyTool, ToolContext
from agent.tools.board import BoardTools
from tests.fakes.board import MANIFEST_JSON, FakeBoard
from tests.fakes.said import tool_result
from tests.fakes.virtual_time import in_virtual_time

CONTEXT = ToolContext("terminal_owner", "owner", Provenance.OWNER)


def tool(board: FakeBoard, name: str) -> AnyTool:
    (found,) = [one for one in BoardTools(board).tools() if one.name == name]
    return found


async def use(board: FakeBoard, name: str, arguments: str = "{}") -> ToolResult:
    one = tool(board, name)
    return await one.execute(one.parse(arguments), CONTEXT)


def board_with(*arguments: Field, **described: Any) -> FakeBoard:
    board = FakeBoard()
    pins = (BoardPin(0, "led", "PC13", can=("out",)),)
    method = Method(16, "set", "Sets it.", arguments=arguments, **described)
    board.learn(Manifest(1, "test", (method,), pins))
    return board


def properties(board: FakeBoard) -> dict[str, Any]:
    parameters: dict[str, Any] = dict(tool(board, "board_set").spec().parameters)
    fields: dict[str, Any] = parameters["properties"]
    return fields


def test_every_method_is_a_tool_named_after_the_board() -> None:
    names = [one.name for one in BoardTools(FakeBoard()).tools()]
    assert names == [
        "board_info",
        "board_gpio_write",
        "board_gpio_read",
        "board_adc_read",
        "board_mcu_temperature",
    ]
    assert BoardTools(FakeBoard(name="arm")).tools()[1].name == "arm_gpio_write"


def test_the_schema_names_pins_and_choices() -> None:
    parameters = tool(FakeBoard(), "board_gpio_write").spec().parameters
    assert parameters == {
        "type": "object",
        "properties": {
            "pin": {"enum": ["led", "pump", "relay"], "description": "led (blue led, light)"},
            "value": {"enum": ["off", "on"]},
            "for_seconds": {
                "default": 0,
                "minimum": 0,
                "maximum": 86400,
                "type": "number",
                "description": "then back to its safe value; 0: until it is changed",
            },
        },
        "required": ["pin", "value"],
        "additionalProperties": False,
    }


@pytest.mark.parametrize(
    ("field", "schema"),
    [
        (Field("value", "B"), {"type": "integer", "minimum": 0, "maximum": 255}),
        (
            Field("value", "H", minimum=10, maximum=90.5, unit="°"),
            {"type": "integer", "minimum": 10, "maximum": 90, "description": "in °"},
        ),
        (
            Field("value", "B", scale=0.5, unit="%"),
            {"type": "number", "minimum": 0.0, "maximum": 127.5, "description": "in %"},
        ),
        (Field("value", "f"), {"type": "number"}),
        (
            Field("value", "s", maximum=8),
            {
                "type": "string",
                "minLength": 1,
                "maxLength": 34,
                "description": "at most 8 bytes, in hex, such as 1f a0",
            },
        ),
        (Field("value", "Q"), {"type": "integer", "minimum": 0}),
        (Field("value", "q"), {"type": "integer"}),
    ],
)
def test_the_schema_has_ranges_and_units(field: Field, schema: dict[str, Any]) -> None:
    assert properties(board_with(field))["value"] == schema


def test_a_name_that_python_keeps_for_itself_is_no_hindrance() -> None:
    assert set(properties(board_with(Field("class", "B"), Field("from", "B")))) == {"class", "from"}


@pytest.mark.parametrize(
    ("safety", "effect"),
    [("read", Effect.READ), ("actuate", Effect.ACTUATE), ("hazard", Effect.HAZARD)],
)
def test_the_effect_follows_the_safety_class(safety: str, effect: Effect) -> None:
    assert tool(board_with(safety=safety), "board_set").effect is effect


def test_a_method_without_words_is_described_by_its_name() -> None:
    board = FakeBoard()
    board.learn(Manifest(1, "test", (Method(16, "set", ""),)))
    assert tool(board, "board_set").description.text == "set of the board"


def test_a_method_for_pins_that_the_board_lacks_is_no_tool() -> None:
    names = [one.name for one in BoardTools(board_with(Field("pin", "B", pins="adc"))).tools()]
    assert names == ["board_info"]


def test_tools_follow_the_manifest() -> None:
    board = FakeBoard()
    tools = BoardTools(board)
    board.learn(Manifest(1, "test", (Method(16, "fly", "Flies."),)))
    assert [one.name for one in tools.tools()] == ["board_info", "board_fly"]


def test_without_any_manifest_there_is_only_the_information() -> None:
    board = FakeBoard()
    board.manifest = None
    assert [one.name for one in BoardTools(board).tools()] == ["board_info"]


async def test_a_write_answers_with_the_value_read_back() -> None:
    board = FakeBoard()
    result = await use(board, "board_gpio_write", '{"pin": "led", "value": "on"}')
    assert result == tool_result(success=True, text='{"pin":"led","value":"on"}')
    assert board.record == [("led", "on")]


async def test_who_else_drives_an_output_is_told_of_every_write() -> None:
    told: list[tuple[str, bool]] = []

    def moved(pin: str, *, is_at_rest: bool) -> None:
        told.append((pin, is_at_rest))

    board = FakeBoard()
    tools = {one.name: one for one in BoardTools(board, moved).tools()}
    write, read = tools["board_gpio_write"], tools["board_gpio_read"]
    for value in ("on", "off"):
        await write.execute(write.parse(f'{{"pin": "led", "value": "{value}"}}'), CONTEXT)
    await read.execute(read.parse('{"pin": "button"}'), CONTEXT)
    board.unplug()
    await write.execute(write.parse('{"pin": "led", "value": "on"}'), CONTEXT)
    assert told == [("led", False), ("led", True)]


async def test_readings_have_their_unit() -> None:
    board = FakeBoard()
    volts = await use(board, "board_adc_read", '{"pin": "a0"}')
    degrees = await use(board, "board_mcu_temperature")
    assert volts.text == '{"pin":"a0","value":1.234,"unit":"V"}'
    assert degrees.text == '{"value":24.5,"unit":"°C"}'


async def test_several_units_are_told_by_name() -> None:
    board = FakeBoard()
    result = (Field("value", "f", unit="V"), Field("current", "f", unit="A"))
    board.learn(Manifest(1, "t", (Method(16, "mcu_temperature", "", result=result),)))
    answer = json.loads((await use(board, "board_mcu_temperature")).text)
    assert answer == {"value": 24.5, "units": {"value": "V", "current": "A"}}


async def test_what_a_device_does_not_measure_has_no_unit_either() -> None:
    board = FakeBoard()
    result = (Field("value", "f", unit="°C"), Field("pressure", "f", unit="hPa", optional=True))
    board.learn(Manifest(1, "t", (Method(16, "mcu_temperature", "", result=result),)))
    assert (await use(board, "board_mcu_temperature")).text == '{"value":24.5,"unit":"°C"}'


class WarmingUpBoard(FakeBoard):
    """Its sensor has nothing to say for a while."""

    refusals = 3

    async def call(self, method: str, arguments: Any) -> Any:
        if self.refusals:
            self.refusals -= 1
            raise CallRefused("busy", "the first measurement is under way")
        return await super().call(method, arguments)


@in_virtual_time
async def test_a_measurement_that_is_not_ready_is_waited_for() -> None:
    assert (await use(WarmingUpBoard(), "board_mcu_temperature")).success


@in_virtual_time
async def test_what_stays_busy_is_told() -> None:
    board = WarmingUpBoard()
    board.refusals = 99
    result = await use(board, "board_mcu_temperature")
    assert result.text == "the board refused: the first measurement is under way"


@in_virtual_time
async def test_an_output_that_must_rest_is_not_tried_again() -> None:
    board = WarmingUpBoard()
    result = await use(board, "board_gpio_write", '{"pin": "led", "value": "on"}')
    assert not result.success
    assert board.refusals == 2


@pytest.mark.parametrize(
    ("written", "pin", "value"),
    [
        ('{"pin": "LED", "value": "ON"}', "led", "on"),
        ('{"pin": "Blue LED", "value": true}', "led", "on"),
        ('{"pin": " light ", "value": 1}', "led", "on"),
        ('{"pin": "pc13", "value": "High"}', "led", "on"),
        ('{"pin": "pump", "value": false}', "pump", "off"),
        ('{"pin": "relay", "value": "0"}', "relay", "off"),
    ],
)
def test_other_spellings_become_the_proper_names(written: str, pin: str, value: str) -> None:
    arguments = tool(FakeBoard(), "board_gpio_write").parse(written)
    assert msgspec.structs.asdict(arguments) == {"pin": pin, "value": value, "for_seconds": 0}


def test_a_proper_name_wins_over_another_pins_alias() -> None:
    board = FakeBoard()
    pins = (BoardPin(0, "led", "A", ("pump",), ("out",)), BoardPin(1, "pump", "B", (), ("out",)))
    method = Method(16, "set", "", (Field("pin", "B", pins="out"),))
    board.learn(Manifest(1, "t", (method,), pins))
    arguments = tool(board, "board_set").parse('{"pin": "PUMP"}')
    assert msgspec.structs.asdict(arguments) == {"pin": "pump"}


@pytest.mark.parametrize(
    "written",
    [
        "",
        "{",
        "[]",
        "7",
        '{"pin": "led"}',
        '{"pin": "led", "value": "blink"}',
        '{"pin": "button", "value": "on"}',
        '{"pin": ["led"], "value": "on"}',
        '{"pin": "led", "value": "on", "approved": true}',
        '{"pin": "' + "x" * MAX_ARGUMENTS_BYTES + '"}',
    ],
)
def test_arguments_that_do_not_fit_are_refused(written: str) -> None:
    with pytest.raises(BadArguments):
        tool(FakeBoard(), "board_gpio_write").parse(written)


@given(st.text(max_size=60) | st.binary(max_size=60).map(lambda raw: raw.decode("latin-1")))
def test_no_arguments_cause_anything_but_a_refusal(written: str) -> None:
    with pytest.raises(BadArguments):
        tool(FakeBoard(), "board_gpio_write").parse(written)


async def test_an_absent_board_is_told() -> None:
    board = FakeBoard()
    board.unplug()
    result = await use(board, "board_mcu_temperature")
    assert result == tool_result(
        success=False, text="the board is not connected (nothing is plugged in)"
    )


async def test_an_unknown_outcome_is_told_and_not_repeated() -> None:
    board = FakeBoard(loses_next_answer=True)
    result = await use(board, "board_gpio_write", '{"pin": "pump", "value": "on"}')
    assert not result.success
    assert "gpio_write may or may not have acted" in result.text
    assert board.record == [("pump", "on"), ("pump", "off")]


async def test_the_information_says_what_the_board_is_and_can_do() -> None:
    result = await use(FakeBoard(), "board_info")
    info = json.loads(result.text)
    assert result.provenance is Provenance.OWNER
    assert (info["state"], info["board"], info["firmware"]) == ("ready", "simulated", "0.1.0")
    assert info["pins"][0] == {"name": "led", "can": ["in", "out"]}
    assert info["methods"] == ["gpio_write", "gpio_read", "adc_read", "mcu_temperature"]
    assert "trouble" not in info


async def test_the_information_of_an_absent_board_says_why() -> None:
    board = FakeBoard()
    board.unplug()
    info = json.loads((await use(board, "board_info")).text)
    assert (info["state"], info["trouble"]) == ("absent", "nothing is plugged in")
    assert info["board"] == "simulated"
    board.manifest = None
    info = json.loads((await use(board, "board_info")).text)
    assert (info["board"], info["pins"], info["methods"]) == ("", [], [])


def test_all_tools_of_a_board_fit_into_the_first_request() -> None:
    board = FakeBoard()
    board.learn(read_manifest(MANIFEST_JSON))
    specs = [one.spec() for one in BoardTools(board).tools()]
    size = sum(len(json.dumps(spec.parameters)) + len(spec.description) for spec in specs)
    assert size < 1500


class TestLimits:
    def board(self) -> FakeBoard:
        pump = BoardPin(
            1,
            "pump",
            "PB0",
            can=("out", "in"),
            safety="hazard",
            max_on_ms=1500,
            min_off_ms=60_000,
            per_minute=2,
            needs=(("level_ok", 1), ("door", 0)),
        )
        board = FakeBoard()
        assert board.manifest is not None
        pins = (board.manifest.pins[0], pump)
        board.learn(msgspec.structs.replace(board.manifest, pins=pins))
        return board

    @pytest.mark.parametrize(("pin", "effect"), [("led", Effect.ACTUATE), ("pump", Effect.HAZARD)])
    def test_the_pin_decides_how_dangerous_a_write_is(self, pin: str, effect: Effect) -> None:
        one = tool(self.board(), "board_gpio_write")
        assert one.effect is Effect.ACTUATE
        assert one.effect_of(one.parse(json.dumps({"pin": pin, "value": "on"}))) is effect

    def test_reading_a_dangerous_pin_is_reading(self) -> None:
        one = tool(self.board(), "board_gpio_read")
        assert one.effect_of(one.parse('{"pin": "pump"}')) is Effect.READ

    async def test_limits_are_told_in_the_words_of_the_configuration(self) -> None:
        led, pump = json.loads((await use(self.board(), "board_info")).text)["pins"]
        assert led == {"name": "led", "can": ["in", "out"]}
        assert pump == {
            "name": "pump",
            "can": ["out", "in"],
            "danger": "hazard",
            "max_on_s": 1.5,
            "min_off_s": 60.0,
            "max_per_minute": 2,
            "only_while": {"level_ok": "on", "door": "off"},
        }


def test_always_is_for_a_pin_whatever_is_done_with_it() -> None:
    tools = {tool.name: tool for tool in BoardTools(FakeBoard()).tools()}
    write, info = tools["board_gpio_write"], tools["board_info"]
    on, off, other = (
        write.always_for(write.parse(json.dumps({"pin": pin, "value": value})))
        for pin, value in (("pump", "on"), ("PB0", "off"), ("relay", "on"))
    )
    assert on == off
    assert on is not None
    assert other is not None
    assert on.fixed != other.fixed
    assert on.words == "board_gpio_write with pin pump, any value"
    assert info.always_for(info.parse("{}")) is None
