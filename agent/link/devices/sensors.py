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
        options=(DeviceOption("serial", 0, 0xFFFFFFFFFFFF, 0),),
        shares_lines=ONE_WIRE_LINE,
        counterparts=(Counterpart("ds18b20", {"pin": "PB12"}),),
        quantities={"water_temperature": 18.25},
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
