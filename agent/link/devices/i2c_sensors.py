"""Rows of what measures at an I2C bus: each needs the bus's clock and data, and shares them."""

from agent.link.devices.device_row import (
    Counterpart,
    DeviceField,
    DeviceLine,
    DeviceMethod,
    DeviceOption,
    DeviceRow,
)
from agent.link.devices.sensors import AIR, CLIMATE_READ

_CLOCK = "clock"
_DATA = (DeviceLine("sda", "data"),)
_FREQUENCY = DeviceOption("frequency", 10_000, 400_000, 100_000, "Hz")
# Where the simulated board has a second bus, apart from the one with a memory and a BME280
_SECOND_BUS = {"pin": "PA11"}

I2C_SENSORS = (
    DeviceRow(
        kind="sht3x",
        can=("climate",),
        pin=_CLOCK,
        methods=(CLIMATE_READ,),
        lines=_DATA,
        options=(DeviceOption("address", 0x44, 0x45, 0x44), _FREQUENCY),
        shares_lines=True,
        refusals=("the SHT3x's checksum is wrong",),
        counterparts=(Counterpart("sht3x", _SECOND_BUS),),
        quantities=AIR,
    ),
    DeviceRow(
        kind="aht20",
        can=("climate",),
        pin=_CLOCK,
        methods=(CLIMATE_READ,),
        lines=_DATA,
        options=(DeviceOption("address", 0x38, 0x38, 0x38), _FREQUENCY),
        shares_lines=True,
        refusals=("the AHT20's checksum is wrong", "the AHT20 is not calibrated"),
        counterparts=(Counterpart("aht20", _SECOND_BUS),),
        quantities=AIR,
    ),
)
