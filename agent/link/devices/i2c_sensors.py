"""Rows of what measures at an I2C bus: each needs the bus's clock and data, and shares them."""

from agent.link.devices.device_row import (
    I2C_LINES,
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
        shares_lines=I2C_LINES,
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
        shares_lines=I2C_LINES,
        refusals=("the AHT20's checksum is wrong", "the AHT20 is not calibrated"),
        counterparts=(Counterpart("aht20", _SECOND_BUS),),
        quantities=AIR,
    ),
    DeviceRow(
        kind="ina219",
        can=("power",),
        pin=_CLOCK,
        methods=(
            DeviceMethod(
                36,
                "power_read",
                "Measure voltage, current and power of a supply.",
                (DeviceField("pin", "B", pins="power"),),
                (
                    DeviceField("voltage", "H", minimum=0, maximum=32, unit="V", scale=0.001),
                    DeviceField("current", "i", minimum=-320, maximum=320, unit="A", scale=0.001),
                    DeviceField(
                        "power", "i", minimum=-10_240, maximum=10_240, unit="W", scale=0.001
                    ),
                ),
                safety="read",
                idempotent=True,
            ),
        ),
        lines=_DATA,
        options=(
            DeviceOption("address", 0x40, 0x4F, 0x40),
            _FREQUENCY,
            # What is soldered to most modules; its value is printed on it: R100
            DeviceOption("shunt_mohm", 1, 10_000, 100, "mOhm"),
        ),
        shares_lines=I2C_LINES,
        refusals=("the INA219 cannot calculate: too much current",),
        counterparts=(Counterpart("ina219", _SECOND_BUS),),
        quantities={"supply_volts": 12.0, "supply_amperes": 0.5},
        words=(
            (
                "power current supply voltage",
                "strom leistung spannung versorgung corriente potencia tensión",
                "电流 功率 电压 電流 電力 電圧 전류 전력 전압",
            ),
        ),
    ),
    DeviceRow(
        kind="ads1115",
        can=("voltage",),
        pin=_CLOCK,
        methods=(
            DeviceMethod(
                37,
                "voltage_read",
                "Measure the voltage at an input of a precise converter.",
                (DeviceField("pin", "B", pins="voltage"),),
                (
                    DeviceField(
                        "value", "i", minimum=-6.144, maximum=6.144, unit="V", scale=0.000001
                    ),
                ),
                safety="read",
                idempotent=True,
            ),
        ),
        lines=_DATA,
        options=(
            DeviceOption("address", 0x48, 0x4B, 0x48),
            _FREQUENCY,
            DeviceOption("channel", 0, 3, 0),
            # The narrowest range of the chip that holds it is taken
            DeviceOption("full_scale_mv", 256, 6_144, 4_096, "mV"),
        ),
        shares_lines=I2C_LINES,
        refusals=("the voltage is beyond full_scale_mv", "the ADS1115 does not finish"),
        counterparts=(Counterpart("ads1115", _SECOND_BUS),),
        quantities={"ain0": 1.0, "ain1": 2.0, "ain2": 3.0, "ain3": 0.0},
        words=(("voltage", "spannung tensión voltaje", "电压 電圧 전압"),),
    ),
    DeviceRow(
        kind="scd4x",
        can=("air",),
        pin=_CLOCK,
        methods=(
            DeviceMethod(
                38,
                "air_read",
                "Measure carbon dioxide, temperature and relative humidity of the air.",
                (DeviceField("pin", "B", pins="air"),),
                (
                    DeviceField("co2", "H", minimum=0, maximum=40_000, unit="ppm"),
                    DeviceField(
                        "temperature", "h", minimum=-45, maximum=130, unit="°C", scale=0.01
                    ),
                    DeviceField("humidity", "H", minimum=0, maximum=100, unit="%", scale=0.01),
                ),
                safety="read",
                idempotent=True,
            ),
        ),
        lines=_DATA,
        options=(DeviceOption("address", 0x62, 0x62, 0x62), _FREQUENCY),
        shares_lines=I2C_LINES,
        refusals=(
            "the SCD4x's checksum is wrong",
            "the SCD4x measures nothing",
            "the SCD4x measured nothing",
        ),
        counterparts=(Counterpart("scd4x", _SECOND_BUS),),
        quantities={**AIR, "co2": 620.0},
        words=(
            (
                "co2 carbon dioxide air quality",
                "kohlendioxid luft luftqualität dióxido aire",
                "二氧化碳 空气 二酸化炭素 空気 이산화탄소 공기",
            ),
        ),
    ),
)
