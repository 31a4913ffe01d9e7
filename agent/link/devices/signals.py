"""Rows of what has wires of its own: a weight, a remote control, voltages in and out."""

from agent.link.devices.device_row import (
    Counterpart,
    DeviceField,
    DeviceLine,
    DeviceMethod,
    DeviceOption,
    DeviceRow,
)
from agent.link.devices.sensors import VOLTAGE_READ

# What 24 bits with a sign can count
_COUNTS_MOST = 8_388_607
_COUNTS_LEAST = -8_388_608
# How high a converter may really go stands in its configuration
_VOLTS = DeviceField("value", "H", minimum=0, maximum=3.6, unit="V", scale=0.001)

SIGNALS = (
    DeviceRow(
        kind="hx711",
        is_spacious=True,
        is_bulky=True,
        can=("weight",),
        pin="clock",
        methods=(
            DeviceMethod(
                52,
                "weight_read",
                "Measure the load on a load cell, and what its converter counts.",
                (DeviceField("pin", "B", pins="weight"),),
                (
                    DeviceField("counts", "i", minimum=_COUNTS_LEAST, maximum=_COUNTS_MOST),
                    DeviceField("value", "i", unit="g", scale=0.1, optional=True),
                ),
                safety="read",
                idempotent=True,
            ),
        ),
        lines=(DeviceLine("data", "data"),),
        options=(
            # 128 and 64 are its input A, 32 is B
            DeviceOption("gain", 32, 128, 128),
            # What it counts without a load, and how many more for a kilogram; 0: not calibrated
            DeviceOption("zero", _COUNTS_LEAST, _COUNTS_MOST, 0, "counts"),
            DeviceOption("per_kg", _COUNTS_LEAST, _COUNTS_MOST, 0, "counts"),
        ),
        refusals=(
            "no HX711 answers",
            "the data line of the HX711 stays low",
            "the load is beyond what the HX711 measures",
        ),
        counterparts=(Counterpart("hx711", {"pin": "PB3", "data": "PB4"}),),
        quantities={"load": 250.0},
        words=(
            (
                "weight load scale",
                "gewicht waage last peso balanza carga",
                "重量 秤 重さ はかり 무게 저울",
            ),
        ),
    ),
    DeviceRow(
        kind="infrared",
        is_spacious=True,
        is_bulky=True,
        can=("infrared",),
        pin="its output",
        methods=(
            DeviceMethod(
                53,
                "infrared_read",
                "The button of a remote control (NEC) that was pressed last, how often it said "
                "that it is held, and how long ago; and how many codes there were.",
                (DeviceField("pin", "B", pins="infrared"),),
                (
                    DeviceField("count", "I", minimum=0, maximum=0x3FFFFFFF),
                    DeviceField("damaged", "I", minimum=0, maximum=0x3FFFFFFF),
                    DeviceField("address", "H", optional=True),
                    DeviceField("command", "B", optional=True),
                    DeviceField("repeats", "H", optional=True),
                    DeviceField("since", "I", minimum=0, unit="s", scale=0.001, optional=True),
                ),
                safety="read",
                idempotent=True,
            ),
        ),
        counterparts=(Counterpart("infrared", {"pin": "PB5"}),),
        words=(
            (
                "infrared remote control button",
                "fernbedienung infrarot taste mando infrarrojo",
                "遥控器 红外 リモコン 赤外線 리모컨 적외선",
            ),
        ),
    ),
    DeviceRow(
        kind="voltmeter",
        is_spacious=True,
        is_bulky=True,
        can=("voltage",),
        pin="input of the converter",
        use="adc",
        methods=(VOLTAGE_READ,),
        options=(
            DeviceOption("offset_uv", -100_000_000, 100_000_000, 0, "uV"),
            # A divider of 10 kOhm to 1 kOhm has 11000000
            DeviceOption("gain_ppm", 1_000, 100_000_000, 1_000_000, "ppm"),
            DeviceOption("samples", 1, 63, 9),
            # 1: their mean, else their median
            DeviceOption("mean", 0, 1, 0),
        ),
        refusals=("the voltage is beyond what the pin measures",),
    ),
    DeviceRow(
        kind="dac",
        is_spacious=True,
        can=("dac",),
        pin="output of the converter",
        use="dac",
        methods=(
            DeviceMethod(
                54,
                "dac_write",
                "Put a voltage out. It goes to 0 V when nobody renews it.",
                (DeviceField("pin", "B", pins="dac"), _VOLTS),
                (_VOLTS,),
                safety="actuate",
                idempotent=True,
                lease=True,
            ),
        ),
        options=(DeviceOption("highest_mv", 1, 3_600, 3_300, "mV", is_limit=True),),
        is_output=True,
        safe=DeviceOption("safe", 0, 0, 0),
        safe_on=None,
        trial={"value": 1},
        words=(("voltage output dac", "spannung ausgeben tensión salida", "电压 電圧 전압"),),
    ),
)
