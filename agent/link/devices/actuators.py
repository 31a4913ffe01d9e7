"""Rows of what moves or shines: every one is an output with lease, limits and interlocks."""

from agent.link.devices.device_row import (
    Counterpart,
    DeviceField,
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
