"""Tools for the Pi's own I2C buses: devices by name, bytes in hex.

What a device says are bytes of our own hardware; a memory on the bus may hold words, so they are
trusted as a sensor is.
"""

from functools import partial
from typing import Annotated, Any, cast

import msgspec
from msgspec import Meta

from agent.messages import Effect, ToolResult
from agent.passage import Fact, Provenance, configured, echo, fields, outside, own
from agent.peripherals.i2c import MAX_BYTES, I2cBuses
from agent.security.shares import READINGS
from agent.tools.base import AnyTool, Arguments, Tool, ToolContext
from agent.tools.choice import one_of
from agent.tools.hardware_timeout import in_time

_NO_REGISTER = -1
_Register = Annotated[int, Meta(ge=_NO_REGISTER, le=255, description="-1: it has none")]
_Count = Annotated[int, Meta(ge=1, le=MAX_BYTES)]
# Two digits for each byte, with or without a space between them
_Bytes = Annotated[
    str,
    Meta(pattern=r"^[0-9a-fA-F]{2}( ?[0-9a-fA-F]{2})*\Z", max_length=3 * MAX_BYTES),
    Meta(description=f"in hex, such as 1f a0; at most {MAX_BYTES} bytes"),
]
_EFFECTS = {"actuate": Effect.ACTUATE, "hazard": Effect.HAZARD}


def i2c_tools(buses: I2cBuses) -> list[AnyTool]:
    """Return the I2C tools: reading needs a known address, writing needs permission."""
    tools: list[AnyTool] = [I2cScanTool(buses)]
    if any(device.address for device in buses.devices.values()):
        tools.append(I2cReadTool(buses))
    if any(device.write != "never" for device in buses.devices.values()):
        tools.append(I2cWriteTool(buses))
    return tools


class I2cScanTool(Tool[Arguments]):
    """Finds the devices on a bus."""

    reads = Provenance.SENSOR
    name = "i2c_scan"
    description = own(
        "The addresses, in hex, that answer on an I2C bus of the Raspberry Pi itself."
    )
    effect = Effect.READ
    shown = READINGS

    def __init__(self, buses: I2cBuses) -> None:
        self._buses = buses
        numbers = sorted({device.bus for device in buses.devices.values()})
        known = ", ".join(map(str, numbers))
        bus: Any = Annotated[int, Meta(ge=0, le=63, description=f"there is {known}")]
        self.arguments_type = _struct("i2c_scan", ("bus", bus, numbers[0]))

    async def execute(self, arguments: Arguments, context: ToolContext) -> ToolResult:
        number = cast("int", msgspec.structs.asdict(arguments)["bus"])
        found = await in_time(partial(self._buses.scan, number))
        names = {
            f"{device.address:#04x}": configured(name)
            for name, device in self._buses.devices.items()
            if device.bus == number and device.address in found
        }
        addresses = [own("0x{}", configured(f"{one:02x}")) for one in found]
        return ToolResult.done(fields({"bus": number, "addresses": addresses, "known": names}))


class I2cReadTool(Tool[Arguments]):
    """Reads bytes from a device."""

    reads = Provenance.SENSOR
    name = "i2c_read"
    description = own("Read bytes from a device on an I2C bus of the Raspberry Pi itself.")
    effect = Effect.READ
    shown = READINGS

    def __init__(self, buses: I2cBuses) -> None:
        self._buses = buses
        names = {name: one.aliases for name, one in buses.devices.items() if one.address}
        self.arguments_type = _struct(
            "i2c_read",
            ("device", one_of(names)),
            ("register", _Register, _NO_REGISTER),
            ("count", _Count, 1),
        )

    async def execute(self, arguments: Arguments, context: ToolContext) -> ToolResult:
        values = msgspec.structs.asdict(arguments)
        name, count = values["device"], values["count"]
        register = _register(values)
        got = await in_time(partial(self._buses.read, name, register, count))
        told = outside(got.hex(" "), self.reads, f"i2c:{name}")
        return ToolResult.done(fields(_place(name, register) | {"bytes": told}))


class I2cWriteTool(Tool[Arguments]):
    """Writes bytes to a device that allows it."""

    reads = Provenance.SENSOR
    name = "i2c_write"
    description = own("Write bytes to a device on an I2C bus of the Raspberry Pi itself.")

    shown = READINGS

    def __init__(self, buses: I2cBuses) -> None:
        self._buses = buses
        writable = {name: one for name, one in buses.devices.items() if one.write != "never"}
        kinds = {_EFFECTS[one.write] for one in writable.values()}
        self.effect = Effect.HAZARD if Effect.HAZARD in kinds else Effect.ACTUATE
        self.arguments_type = _struct(
            "i2c_write",
            ("device", one_of({name: one.aliases for name, one in writable.items()})),
            ("bytes", _Bytes),
            ("register", _Register, _NO_REGISTER),
        )

    def effect_of(self, arguments: Arguments) -> Effect:
        name = msgspec.structs.asdict(arguments)["device"]
        return _EFFECTS[self._buses.devices[name].write]

    def in_words(self, arguments: Arguments) -> str:
        values = msgspec.structs.asdict(arguments)
        device = self._buses.devices[values["device"]]
        return f"write to {values['device']} ({device.address:#04x} on bus {device.bus} of the Pi)"

    async def execute(self, arguments: Arguments, context: ToolContext) -> ToolResult:
        values = msgspec.structs.asdict(arguments)
        name, register = values["device"], _register(values)
        data = bytes.fromhex(values["bytes"])
        if len(data) > MAX_BYTES:
            return ToolResult.failed(own("at most {} bytes are written at once", MAX_BYTES))
        await in_time(partial(self._buses.write, name, register, data))
        written = echo(data.hex(" "))
        return ToolResult.done(fields(_place(name, register) | {"written": written}))


def _struct(tool: str, *fields: tuple[str, Any] | tuple[str, Any, Any]) -> type[Arguments]:
    made = msgspec.defstruct(f"{tool}_arguments", fields, bases=(Arguments,), frozen=True)
    return cast("type[Arguments]", made)


def _register(values: dict[str, Any]) -> int | None:
    register = cast("int", values["register"])
    return None if register == _NO_REGISTER else register


def _place(name: str, register: int | None) -> dict[str, Fact]:
    device = configured(name)
    return {"device": device} if register is None else {"device": device, "register": register}
