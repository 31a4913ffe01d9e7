"""Rows of what measures and counts."""

from agent.link.devices.device_row import (
    I2C_LINES,
    ONE_WIRE_LINE,
    Counterpart,
    DeviceField,
    DeviceLine,
    DeviceMethod,
    DeviceOption,
    DeviceRow,
)

_COUNTED_PIN = DeviceField("pin", "B", pins="count")
_COUNTED = (
    DeviceField("count", "I", minimum=0, maximum=0x3FFFFFFF),
    DeviceField("since", "I", minimum=0, unit="s", scale=0.001),
)
_CELSIUS_READ = DeviceMethod(
    25,
    "celsius_read",
    "Measure a temperature.",
    (DeviceField("pin", "B", pins="celsius"),),
    (DeviceField("value", "h", minimum=-55, maximum=125, unit="°C", scale=0.01),),
    safety="read",
    idempotent=True,
)
CLIMATE_READ = DeviceMethod(
    26,
    "climate_read",
    "Measure temperature and relative humidity, and air pressure where it can.",
    (DeviceField("pin", "B", pins="climate"),),
    (
        DeviceField("temperature", "h", minimum=-40, maximum=125, unit="°C", scale=0.01),
        DeviceField("humidity", "H", minimum=0, maximum=100, unit="%", scale=0.01),
        DeviceField(
            "pressure", "I", minimum=300, maximum=1100, unit="hPa", scale=0.01, optional=True
        ),
    ),
    safety="read",
    idempotent=True,
)
# A divider before an analog pin may make it more than a converter takes
VOLTAGE_READ = DeviceMethod(
    37,
    "voltage_read",
    "Measure the voltage at an input of a precise or calibrated converter.",
    (DeviceField("pin", "B", pins="voltage"),),
    (DeviceField("value", "i", minimum=-430, maximum=430, unit="V", scale=0.000001),),
    safety="read",
    idempotent=True,
)
AIR = {"air_temperature": 21.5, "humidity": 45.0}

SENSORS = (
    DeviceRow(
        kind="counter",
        can=("count",),
        pin="input",
        methods=(
            DeviceMethod(
                22,
                "counter_read",
                "How many pulses were counted, and for how long.",
                (_COUNTED_PIN,),
                _COUNTED,
                safety="read",
                idempotent=True,
            ),
            DeviceMethod(
                23,
                "counter_reset",
                "Start counting from 0; answers what was counted until now.",
                (_COUNTED_PIN,),
                _COUNTED,
                safety="actuate",
            ),
        ),
        options=(DeviceOption("debounce_us", 0, 200_000, 0, "us", key="debounce_ms", scale=1_000),),
        keys=frozenset({"active", "pull"}),
        plain_options=("pull",),
        counterparts=(Counterpart("flow", {"pin": "PB14", "pump": "pump"}),),
        words=(
            (
                "counter count pulses",
                "impuls zähl contador pulso",
                "计数 脉冲 カウント パルス 카운트 펄스",
            ),
        ),
    ),
    DeviceRow(
        kind="encoder",
        can=("encoder",),
        pin="one contact",
        methods=(
            DeviceMethod(
                24,
                "encoder_read",
                "The position of a rotary encoder in edges since the start: often 4 to a click.",
                (DeviceField("pin", "B", pins="encoder"),),
                (
                    DeviceField(
                        "position", "i", minimum=-0x10000000, maximum=0x0FFFFFFF, unit="edges"
                    ),
                ),
                safety="read",
                idempotent=True,
            ),
        ),
        lines=(DeviceLine("pin_b", "the other contact"),),
        keys=frozenset({"pull"}),
        plain_options=("pull",),
        words=(
            (
                "encoder position rotary",
                "knob drehgeber drehknopf perilla",
                "编码器 旋钮 エンコーダ 엔코더",
            ),
        ),
    ),
    DeviceRow(
        kind="ds18b20",
        can=("celsius",),
        pin="1-Wire line, own power",
        methods=(_CELSIUS_READ,),
        # 0: the only one on its line
        options=(
            DeviceOption("serial", 0, 0xFFFFFFFFFFFF, 0),
            # A DS1822, which is read alike, is of a family of its own
            DeviceOption("family", 0x22, 0x28, 0x28),
        ),
        shares_lines=ONE_WIRE_LINE,
        counterparts=(
            Counterpart("ds18b20", {"pin": "PB12"}),
            Counterpart(
                "ds18b20",
                {
                    "name": "cellar",
                    "pin": "PA15",
                    "serial": 0x0B00_0001,
                    "temperature": "cellar_temperature",
                },
            ),
            Counterpart(
                "ds18b20",
                {
                    "name": "attic",
                    "pin": "PA15",
                    "serial": 0x0B00_0005,
                    "temperature": "attic_temperature",
                },
            ),
        ),
        quantities={
            "water_temperature": 18.25,
            "cellar_temperature": 12.5,
            "attic_temperature": 28.0,
        },
    ),
    DeviceRow(
        kind="dht22",
        can=("climate",),
        pin="its line",
        methods=(CLIMATE_READ,),
        counterparts=(Counterpart("dht22", {"pin": "PB13"}),),
        quantities=AIR,
    ),
    DeviceRow(
        kind="bme280",
        can=("climate",),
        pin="clock",
        methods=(CLIMATE_READ,),
        lines=(DeviceLine("sda", "data"),),
        options=(
            DeviceOption("address", 0x76, 0x77, 0x76),
            DeviceOption("frequency", 10_000, 400_000, 100_000, "Hz"),
        ),
        shares_lines=I2C_LINES,
        counterparts=(Counterpart("bme280", {"pin": "PB6"}),),
        quantities={**AIR, "pressure": 1013.25},
    ),
    DeviceRow(
        kind="hcsr04",
        can=("distance",),
        pin="trigger",
        methods=(
            DeviceMethod(
                35,
                "distance_read",
                "Measure a distance.",
                (DeviceField("pin", "B", pins="distance"),),
                (
                    DeviceField("state", "B", choices=("in range", "out of range")),
                    DeviceField("value", "H", minimum=20, maximum=4_000, unit="mm", optional=True),
                ),
                safety="read",
                idempotent=True,
            ),
        ),
        lines=(DeviceLine("echo", "its answer"),),
        options=(
            # An echo that takes longer is out of range: 30 ms are 5 m
            DeviceOption("timeout_ms", 2, 60, 30, "ms"),
            # Sooner it would hear the echo of the time before
            DeviceOption("interval_ms", 60, 60_000, 100, "ms"),
        ),
        refusals=(
            "no HC-SR04 answers",
            "nothing is in range of the HC-SR04",
            "the echo line of the HC-SR04 stays high",
        ),
        counterparts=(Counterpart("hcsr04", {"pin": "PB8", "echo": "PB9"}),),
        quantities={"distance": 850.0},
        words=(
            (
                "distance range",
                "ultrasonic abstand entfernung ultraschall distancia ultrasonido",
                "距离 超声波 距離 超音波 거리 초음파",
            ),
        ),
    ),
)

# What measures at an I2C bus: each needs the bus's clock and data, and shares them
_CLOCK = "clock"
_DATA = (DeviceLine("sda", "data"),)
_FREQUENCY = DeviceOption("frequency", 10_000, 400_000, 100_000, "Hz")
# Where the simulated board has a second bus, apart from the one with a memory and a BME280
_SECOND_BUS = {"pin": "PA11"}

I2C_SENSORS = (
    DeviceRow(
        kind="sht3x",
        is_spacious=True,
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
        is_spacious=True,
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
        is_spacious=True,
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
        is_spacious=True,
        can=("voltage",),
        pin=_CLOCK,
        methods=(VOLTAGE_READ,),
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
        is_spacious=True,
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
