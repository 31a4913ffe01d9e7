"""Devices behind a simulated board, from the settings of a person to the words a model reads."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from agent.link.base import BoardState
from agent.link.board import SerialBoard
from agent.link.pin_settings import PinSettings
from agent.link.settings import BoardSettings
from agent.messages import Effect, Provenance
from agent.system.clock import SystemClock
from agent.tools.base import ToolContext
from agent.tools.board import BoardTools
from tests.fakes.board_sim import BoardSim
from tests.waits import PATIENCE_S, wait_until

PINS = {
    "arm": PinSettings(pin="PA6", kind="servo"),
    "bus": PinSettings(pin="PB6", kind="i2c", sda="PB7"),
    "fan": PinSettings(pin="PA8", kind="pwm", frequency=2000),
    "flow": PinSettings(pin="PB14", kind="counter", debounce_ms=1),
    "gps": PinSettings(pin="PA9", kind="uart", uart=1),
    "knob": PinSettings(pin="PB4", kind="encoder", pin_b="PB5"),
    "ring": PinSettings(pin="PB15", kind="neopixel", count=8),
    "room": PinSettings(pin="PB6", kind="bme280", sda="PB7", aliases=("living room",)),
    "shed": PinSettings(pin="PB13", kind="dht22"),
    "shift": PinSettings(pin="PA4", kind="spi", sck="PA5", mosi="PA10", miso="PA3"),
    "tank": PinSettings(pin="PB12", kind="ds18b20"),
}
CONTEXT = ToolContext("terminal_owner", "owner", Provenance.OWNER)
WORLD = {
    "values": {
        "air_temperature": 21.5,
        "humidity": 45.6,
        "pressure": 987.65,
        "water_temperature": 18.25,
        "supply": 3.29,
    },
    "devices": [
        {"kind": "bme280", "pin": "PB6"},
        {"kind": "eeprom", "pin": "PB6"},
        {"kind": "ds18b20", "pin": "PB12"},
        {"kind": "dht22", "pin": "PB13"},
        {"kind": "spi_echo", "pin": "PA4"},
        {"kind": "serial", "uart": 1, "replies": {"?": "ready\r\n"}},
    ],
}

pytestmark = pytest.mark.usefixtures("micropython_command")


@contextlib.asynccontextmanager
async def wired(folder: Path) -> AsyncIterator[BoardTools]:
    with BoardSim(folder, WORLD) as sim:
        settings = BoardSettings(port=str(sim.port), pins=PINS)
        board = SerialBoard(settings, folder, SystemClock())
        task = asyncio.create_task(board.run())
        try:
            await wait_until(lambda: board.status.state is BoardState.READY)
            assert not board.status.trouble
            yield BoardTools(board)
        finally:
            task.cancel()
            await asyncio.wait([task])


async def use(tools: BoardTools, name: str, **arguments: Any) -> Any:
    (tool,) = [one for one in tools.tools() if one.name == f"board_{name}"]
    result = await tool.execute(tool.parse(json.dumps(arguments)), CONTEXT)
    return json.loads(result.text) if result.success else result.text


async def test_sensors_answer_with_names_and_units_and_raw_writes_are_a_hazard(
    tmp_path: Path,
) -> None:
    async with wired(tmp_path) as tools:
        assert await use(tools, "celsius_read", pin="tank") == {
            "pin": "tank",
            "value": 18.25,
            "unit": "°C",
        }
        assert await use(tools, "climate_read", pin="Living Room") == {
            "pin": "room",
            "temperature": 21.5,
            "humidity": 45.6,
            "pressure": 987.65,
            "units": {"temperature": "°C", "humidity": "%", "pressure": "hPa"},
        }
        assert await use(tools, "climate_read", pin="shed") == {
            "pin": "shed",
            "temperature": 21.5,
            "humidity": 45.6,
            "units": {"temperature": "°C", "humidity": "%"},
        }
        assert await use(tools, "supply_read") == {"value": 3.29, "unit": "V"}
        assert (await use(tools, "encoder_read", pin="knob"))["position"] == 0
        assert (await use(tools, "counter_read", pin="flow"))["count"] == 0
        effects = {one.name: one.effect for one in tools.tools()}
    for name in ("i2c_write", "spi_transfer", "uart_write"):
        assert effects[f"board_{name}"] is Effect.HAZARD
    for name in ("pwm_write", "servo_write", "pixels_write", "counter_reset"):
        assert effects[f"board_{name}"] is Effect.ACTUATE
    for name in ("climate_read", "celsius_read", "i2c_scan", "i2c_read", "uart_read"):
        assert effects[f"board_{name}"] is Effect.READ


async def test_what_acts_tells_what_it_does_now_and_bytes_are_written_as_people_do(
    tmp_path: Path,
) -> None:
    async with wired(tmp_path) as tools:
        assert await use(tools, "pwm_write", pin="fan", frequency=0, duty=33.3) == {
            "pin": "fan",
            "frequency": 2000,
            "duty": 33.3,
            "units": {"frequency": "Hz", "duty": "%"},
        }
        assert (await use(tools, "servo_write", pin="arm", angle=90))["angle"] == 90
        refused = await use(tools, "servo_write", pin="arm", angle=200)
        assert refused == "the board refused: this servo turns 0 to 180 degrees"
        lit = await use(tools, "pixels_write", pin="ring", first=0, count=3, red=1, green=2, blue=3)
        assert lit == {"pin": "ring", "lit": 3, "unit": "pixels"}

        assert await use(tools, "i2c_scan", pin="bus") == {"pin": "bus", "addresses": "50 76"}
        wrote = await use(tools, "i2c_write", pin="bus", address=0x50, data="10 de ad")
        assert wrote == {"pin": "bus", "taken": 3, "unit": "bytes"}
        read = await use(tools, "i2c_read", pin="bus", address=0x50, register=0x10, count=2)
        assert read == {"pin": "bus", "data": "de ad"}
        assert await use(tools, "spi_transfer", pin="shift", data="0102") == {
            "pin": "shift",
            "data": "00 01",
        }
        await use(tools, "uart_write", pin="gps", data="?")
        async with asyncio.timeout(PATIENCE_S):
            while not (heard := await use(tools, "uart_read", pin="gps"))["data"]:
                pass
        assert heard == {"pin": "gps", "lost": 0, "data": "ready\\r\\n", "units": {"lost": "bytes"}}
