import json

import pytest

from agent.errors import BadArguments, PinRefused
from agent.messages import Effect, Provenance
from agent.peripherals.i2c import I2cBuses
from agent.peripherals.settings import I2cSettings
from agent.tools.base import AnyTool
from agent.tools.i2c import i2c_tools
from tests.fakes.pi_pins import FakeBus
from tests.fakes.workspace import used

DEVICES = {
    "sensor": I2cSettings(address=0x76, aliases=("Wetter",)),
    "relay": I2cSettings(address=0x20, write="actuate"),
    "motor": I2cSettings(address=0x21, write="hazard"),
}


@pytest.fixture
def bus() -> FakeBus:
    return FakeBus(0x76, 0x20)


@pytest.fixture
def tools(bus: FakeBus) -> dict[str, AnyTool]:
    return named(DEVICES, bus)


def named(devices: dict[str, I2cSettings], bus: FakeBus) -> dict[str, AnyTool]:
    return {tool.name: tool for tool in i2c_tools(I2cBuses(devices, {1: bus}.__getitem__))}


async def test_a_scan_names_what_is_known(tools: dict[str, AnyTool]) -> None:
    assert json.loads((await used(tools["i2c_scan"])).text) == {
        "bus": 1,
        "addresses": ["0x20", "0x76"],
        "known": {"0x20": "relay", "0x76": "sensor"},
    }


async def test_bytes_are_read_in_hex_and_trusted_as_a_sensor_is(
    tools: dict[str, AnyTool], bus: FakeBus
) -> None:
    bus.memories[0x76][0xD0] = 0x60
    told = await used(tools["i2c_read"], device="sensor", register=0xD0, count=2)
    assert json.loads(told.text) == {"device": "sensor", "register": 0xD0, "bytes": "60 00"}
    assert (told.provenance, told.source) == (Provenance.SENSOR, "i2c:sensor")


async def test_bytes_are_written(tools: dict[str, AnyTool], bus: FakeBus) -> None:
    told = await used(tools["i2c_write"], device="relay", register=1, bytes="0f A0")
    assert json.loads(told.text) == {"device": "relay", "register": 1, "written": "0f a0"}
    assert bus.memories[0x20][1:3] == b"\x0f\xa0"
    assert (await used(tools["i2c_write"], device="relay", bytes="07")).success
    assert bus.pointers[0x20] == 7


async def test_what_does_not_answer_is_refused(tools: dict[str, AnyTool]) -> None:
    with pytest.raises(PinRefused, match="motor does not answer"):
        await used(tools["i2c_write"], device="motor", bytes="07")
    with pytest.raises(PinRefused, match="is on bus 5"):
        await used(tools["i2c_scan"], bus=5)


async def test_more_than_one_transfer_carries_is_refused(tools: dict[str, AnyTool]) -> None:
    told = await used(tools["i2c_write"], device="relay", register=0, bytes="00" * 33)
    assert (told.success, "at most 32 bytes" in told.text) == (False, True)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("i2c_write", '{"device":"sensor","bytes":"00"}'),
        ("i2c_write", '{"device":"relay","bytes":"0"}'),
        ("i2c_write", '{"device":"relay","bytes":"0x00"}'),
        ("i2c_write", '{"device":"relay","bytes":"00","address":32}'),
        ("i2c_read", '{"device":"other"}'),
        ("i2c_read", '{"device":"sensor","count":33}'),
        ("i2c_read", '{"device":"sensor","register":256}'),
        ("i2c_scan", '{"bus":-1}'),
    ],
)
def test_nothing_else_can_be_asked_for(
    tools: dict[str, AnyTool], tool: str, arguments: str
) -> None:
    with pytest.raises(BadArguments):
        tools[tool].parse(arguments)


def test_how_dangerous_it_is_says_the_configuration(tools: dict[str, AnyTool]) -> None:
    write = tools["i2c_write"]
    effects = [
        write.effect_of(write.parse(json.dumps({"device": name, "bytes": "00"})))
        for name in ("relay", "motor")
    ]
    assert (write.effect, effects) == (Effect.HAZARD, [Effect.ACTUATE, Effect.HAZARD])


def test_a_question_says_where_it_goes(tools: dict[str, AnyTool]) -> None:
    write = tools["i2c_write"]
    said = write.in_words(write.parse('{"device":"motor","bytes":"00"}'))
    assert said == "write to motor (0x21 on bus 1 of the Pi)"


def test_there_is_only_what_the_configuration_lets_be_done(bus: FakeBus) -> None:
    assert set(named({"new": I2cSettings()}, bus)) == {"i2c_scan"}
    assert set(named({"sensor": DEVICES["sensor"]}, bus)) == {"i2c_scan", "i2c_read"}


def test_other_words_for_a_device_are_told(tools: dict[str, AnyTool]) -> None:
    assert "Wetter" in json.dumps(tools["i2c_read"].spec().parameters)
