"""Rows of what moves or shines: every one is an output with lease, limits and interlocks."""

from agent.link.devices.device_row import (
    Counterpart,
    DeviceField,
    DeviceLine,
    DeviceMethod,
    DeviceOption,
    DeviceRow,
)

_FREQUENCY = DeviceField("frequency", "H", minimum=0, maximum=20_000, unit="Hz")
_DUTY = DeviceField("duty", "H", minimum=0, maximum=100, unit="%", scale=0.1)
# How far a servo really turns stands in its configuration
_ANGLE = DeviceField("angle", "h", minimum=-1, maximum=360, unit="°")
# The angle that gives a servo no pulses
_RELEASED = -1
# How many pixels a chain really has stands in its configuration
_PIXELS_MOST = 64
# What no servo is built for; a shorter or longer pulse drives it against its stop
_PULSE_US = (400, 2_600)

ACTUATORS = (
    DeviceRow(
        kind="pwm",
        can=("pwm",),
        pin="a timer's channel",
        use="pwm",
        methods=(
            DeviceMethod(
                20,
                "pwm_write",
                "Set an output's share of on-time. Frequency 0 keeps the one it has. "
                "It returns to its safe duty when nobody renews it.",
                (DeviceField("pin", "B", pins="pwm"), _FREQUENCY, _DUTY),
                (_FREQUENCY, _DUTY),
                safety="actuate",
                idempotent=True,
                lease=True,
            ),
        ),
        options=(DeviceOption("frequency", 1, 20_000, 1_000, "Hz"),),
        keys=frozenset({"active", "opens"}),
        is_output=True,
        safe=DeviceOption("safe", 0, 100, 0, "%"),
        safe_on=100,
        trial={"frequency": 0, "duty": 30},
        refusals=("a duty is 0 to 100 %", "a frequency is at most 20000 Hz"),
        words=(
            (
                "pwm duty share on-time",
                "bright speed helligkeit drehzahl brillo velocidad",
                "亮度 速度 调光 明るさ 밝기 속도",
            ),
        ),
    ),
    DeviceRow(
        kind="servo",
        can=("servo",),
        pin="a timer's channel",
        use="pwm",
        methods=(
            DeviceMethod(
                21,
                "servo_write",
                "Turn a servo to an angle; -1 releases it, and so does a lease that ends.",
                (DeviceField("pin", "B", pins="servo"), _ANGLE),
                (_ANGLE,),
                safety="actuate",
                idempotent=True,
                lease=True,
            ),
        ),
        options=(
            DeviceOption("degrees", 1, 360, 180, "°"),
            DeviceOption("least_us", *_PULSE_US, 500, "us"),
            DeviceOption("most_us", *_PULSE_US, 2_400, "us"),
        ),
        is_output=True,
        safe=DeviceOption("safe", _RELEASED, 360, _RELEASED, "°"),
        safe_on=None,
        at_rest=("angle", _RELEASED),
        trial={"angle": 45},
        counterparts=(Counterpart("servo", {"pin": "PA6"}),),
        words=(("servo angle", "winkel stellmotor ángulo", "舵机 角度 サーボ 서보 각도"),),
    ),
    DeviceRow(
        kind="neopixel",
        can=("pixels",),
        pin="data",
        methods=(
            DeviceMethod(
                27,
                "pixels_write",
                "Give count pixels from first on one colour; the others keep theirs. "
                "All go dark when nobody renews them.",
                (
                    DeviceField("pin", "B", pins="pixels"),
                    DeviceField("first", "B", minimum=0, maximum=_PIXELS_MOST - 1),
                    DeviceField("count", "B", minimum=1, maximum=_PIXELS_MOST),
                    DeviceField("red", "B"),
                    DeviceField("green", "B"),
                    DeviceField("blue", "B"),
                ),
                (DeviceField("lit", "B", unit="pixels"),),
                safety="actuate",
                idempotent=True,
                lease=True,
            ),
        ),
        options=(
            DeviceOption("count", 1, _PIXELS_MOST, 1, "pixels"),
            DeviceOption("brightest", 1, 255, 255),
        ),
        is_output=True,
        # Dark, and nothing else
        safe=DeviceOption("safe", 0, 0, 0),
        safe_on=None,
        # Others of the chain may still be lit
        at_rest=("lit", 0),
        is_settable=False,
        words=(("pixels colour", "color neopixel farbe", "颜色 彩灯 灯带 色 색"),),
    ),
)

# What is more than one pin or regulates by itself: outputs like every other
_SPEED = DeviceField("speed", "h", minimum=-100, maximum=100, unit="%", scale=0.1)
_TONE = DeviceField("frequency", "H", minimum=0, maximum=20_000, unit="Hz")
# How high a thermostat may really be set stands in its configuration
_TARGET = DeviceField("target", "H", minimum=0, maximum=125, unit="°C", scale=0.1)
_RELAY = DeviceField("relay", "B", choices=("off", "on"))

_THERMOSTAT_METHODS = (
    DeviceMethod(
        40,
        "thermostat_write",
        "Regulate to a temperature; 0 switches it off, and so does a lease that ends. "
        "The relay stays off while the thermometer is silent.",
        (DeviceField("pin", "B", pins="thermostat"), _TARGET),
        (_RELAY, _TARGET),
        safety="actuate",
        idempotent=True,
        lease=True,
    ),
    DeviceMethod(
        41,
        "thermostat_read",
        "Tell the relay and the target of a thermostat.",
        (DeviceField("pin", "B", pins="thermostat"),),
        (_RELAY, _TARGET),
        safety="read",
        idempotent=True,
    ),
)
_THERMOMETER = (DeviceLine("sensor", "the thermometer, another entry"),)
_HIGHEST_C = DeviceOption("highest_c", 1, 125, 60, "°C", is_limit=True)
# 1: the relay cools
_COOLS = DeviceOption("cools", 0, 1, 0, is_wiring=True)
# How far a stepper may really go stands in its configuration
_STEPPER_PIN = DeviceField("pin", "B", pins="stepper")
_STEPS = DeviceField("position", "i", minimum=0, maximum=1_000_000, unit="steps")
_STEPPER = (
    DeviceField("enabled", "B", minimum=0, maximum=1),
    DeviceField(
        "state",
        "B",
        choices=("released", "holding", "moving", "homing", "end stop met", "no end stop found"),
    ),
    DeviceField("homed", "B", choices=("no", "yes")),
    DeviceField("position", "i", minimum=-2_000_000, maximum=2_000_000, unit="steps"),
)

DRIVEN = (
    DeviceRow(
        kind="thermostat",
        is_spacious=True,
        can=("thermostat",),
        pin="relay",
        methods=_THERMOSTAT_METHODS,
        sources=_THERMOMETER,
        options=(
            _HIGHEST_C,
            DeviceOption("hysteresis_tenths", 1, 100, 5, "tenths of a degree"),
            _COOLS,
            # A relay and a compressor do not like to be switched on again at once
            DeviceOption("rest_s", 0, 3_600, 10, "s", is_rest=True),
        ),
        keys=frozenset({"active"}),
        is_output=True,
        safe=DeviceOption("safe", 0, 0, 0),
        safe_on=None,
        words=(
            (
                "thermostat heat target",
                "heizung heizen temperatur regeln termostato calefacción",
                "恒温器 加热 サーモスタット 暖房 온도조절기 난방",
            ),
        ),
    ),
    DeviceRow(
        kind="pid",
        is_spacious=True,
        is_bulky=True,
        can=("thermostat",),
        pin="relay",
        methods=_THERMOSTAT_METHODS,
        sources=_THERMOMETER,
        options=(
            _HIGHEST_C,
            DeviceOption("gain_percent", 1, 1_000, 20, "% per °C"),
            # 0: without that part
            DeviceOption("integral_s", 0, 36_000, 600, "s"),
            DeviceOption("derivative_s", 0, 3_600, 0, "s"),
            # What the relay is on for a share of
            DeviceOption("window_s", 2, 600, 20, "s"),
            DeviceOption("shortest_s", 0, 60, 1, "s"),
            _COOLS,
            DeviceOption("rest_s", 0, 3_600, 0, "s", is_rest=True),
        ),
        keys=frozenset({"active"}),
        is_output=True,
        safe=DeviceOption("safe", 0, 0, 0),
        safe_on=None,
    ),
    DeviceRow(
        kind="motor",
        is_spacious=True,
        can=("motor",),
        pin="enable, a timer's channel",
        use="pwm",
        methods=(
            DeviceMethod(
                42,
                "motor_write",
                "Turn a motor, forward or with a negative speed backward. "
                "It stops when nobody renews it.",
                (DeviceField("pin", "B", pins="motor"), _SPEED),
                (_SPEED,),
                safety="actuate",
                idempotent=True,
                lease=True,
            ),
        ),
        lines=(
            DeviceLine("forward", "input of one direction"),
            DeviceLine("backward", "input of the other"),
        ),
        options=(DeviceOption("frequency", 1, 20_000, 1_000, "Hz"),),
        is_output=True,
        safe=DeviceOption("safe", 0, 0, 0),
        safe_on=None,
        trial={"speed": 30},
        refusals=(
            "both directions of the bridge are on: look at its wires",
            "a speed is -100 to 100 %",
        ),
        words=(
            (
                "motor speed forward backward",
                "vorwärts rückwärts drehen adelante atrás girar",
                "电机 前进 后退 モーター 前進 後退 모터 전진 후진",
            ),
        ),
    ),
    DeviceRow(
        kind="tone",
        is_spacious=True,
        can=("tone",),
        pin="a timer's channel",
        use="pwm",
        methods=(
            DeviceMethod(
                43,
                "tone_write",
                "Sound a tone; 0 is silence, and so is a lease that ends.",
                (DeviceField("pin", "B", pins="tone"), _TONE),
                (_TONE,),
                safety="actuate",
                idempotent=True,
                lease=True,
            ),
        ),
        is_output=True,
        safe=DeviceOption("safe", 0, 0, 0),
        safe_on=None,
        trial={"frequency": 880},
        refusals=("a tone is 20 to 20000 Hz, and 0 is silence",),
        words=(
            (
                "tone beep buzzer sound",
                "ton piepen summer tono pitido zumbador",
                "蜂鸣器 声音 ブザー 音 부저 소리",
            ),
        ),
    ),
    DeviceRow(
        kind="stepper",
        is_spacious=True,
        is_bulky=True,
        can=("stepper",),
        pin="step",
        methods=(
            DeviceMethod(
                45,
                "stepper_move",
                "Turn a stepper to a position; it arrives later. It is switched off when nobody "
                "renews it.",
                (_STEPPER_PIN, _STEPS),
                _STEPPER,
                safety="actuate",
                idempotent=True,
                lease=True,
            ),
            DeviceMethod(
                46,
                "stepper_home",
                "Turn a stepper to its low end stop, which becomes position 0; without one, 0 is "
                "where it stands.",
                (_STEPPER_PIN,),
                _STEPPER,
                safety="actuate",
                idempotent=True,
                lease=True,
            ),
            DeviceMethod(
                47,
                "stepper_release",
                "Stop a stepper and switch it off.",
                (_STEPPER_PIN,),
                _STEPPER,
                safety="actuate",
                idempotent=True,
                lease=True,
            ),
            DeviceMethod(
                48,
                "stepper_read",
                "Tell where a stepper is and what it does.",
                (_STEPPER_PIN,),
                _STEPPER,
                safety="read",
                idempotent=True,
            ),
        ),
        lines=(
            DeviceLine("direction", "direction"),
            DeviceLine("enable", "enable"),
            DeviceLine("low_stop", "end stop at position 0", is_optional=True),
            DeviceLine("high_stop", "end stop at the other end", is_optional=True),
        ),
        options=(
            DeviceOption("travel", 1, 1_000_000, 1_000, "steps", is_limit=True),
            DeviceOption("speed", 20, 2_000, 400, "steps/s"),
            DeviceOption("acceleration", 250, 20_000, 800, "steps/s²"),
            DeviceOption("home_speed", 20, 500, 100, "steps/s"),
            # 1: a high level switches the driver on
            DeviceOption("enable_high", 0, 1, 0, is_wiring=True),
            # 1: the contacts close at the end; a broken wire is not noticed then
            DeviceOption("stops_close", 0, 1, 0, is_wiring=True),
            DeviceOption("timer", 1, 17, 7),
        ),
        is_output=True,
        safe=DeviceOption("safe", 0, 0, 0),
        safe_on=None,
        at_rest=("enabled", 0),
        is_settable=False,
        refusals=(
            "home it first: it does not know where it is",
            "it is looking for its end stop",
            "it is moving: release it first",
        ),
        counterparts=(
            Counterpart(
                "stepper",
                {"pin": "PA8", "direction": "PA9", "enable": "PA10", "low": "PB8", "high": "PB9"},
            ),
        ),
        words=(
            (
                "stepper move position home",
                "schrittmotor fahren position paso motor mover posición",
                "步进电机 位置 ステッピングモーター 스테핑모터",
            ),
        ),
    ),
)
