"""Rows of what shows or drives something at an I2C bus."""

from agent.link.devices.device_row import (
    I2C_LINES,
    Counterpart,
    DeviceField,
    DeviceLine,
    DeviceMethod,
    DeviceOption,
    DeviceRow,
)

_CLOCK = "clock"
_SDA = DeviceLine("sda", "data")
# A slower one would hold up the loop of the firmware
_FREQUENCY = DeviceOption("frequency", 100_000, 400_000, 100_000, "Hz")
# Where the simulated board has a second bus, apart from the one with a memory and a BME280
_SECOND_BUS = {"pin": "PA11"}
# How many lines a display really has stands in its configuration
_LINES_MOST = 8
_LETTERS = 16
# Between which limits a channel really is stands in its configuration
_SHARE = DeviceField("duty", "H", minimum=0, maximum=100, unit="%", scale=0.01)
_LEVEL = DeviceField("value", "B", choices=("off", "on"))
_EXPANDER_LINES = (_SDA, DeviceLine("reset", "its RESET, which makes inputs of all its pins"))
_EXPANDER_OPTIONS = (
    DeviceOption("address", 0x20, 0x27, 0x20, is_wiring=True),
    _FREQUENCY,
    # GPA0 to GPA7 are 0 to 7, GPB0 to GPB7 are 8 to 15
    DeviceOption("channel", 0, 15, 0, is_wiring=True),
)

BUS_OUTPUTS = (
    DeviceRow(
        kind="ssd1306",
        is_spacious=True,
        is_bulky=True,
        can=("display",),
        pin=_CLOCK,
        methods=(
            DeviceMethod(
                44,
                "display_write",
                "Show text from that line of a display on, 16 letters to a line; a space clears a "
                "line. Lines that it does not reach keep theirs. Answers what is shown from there.",
                (
                    DeviceField("pin", "B", pins="display"),
                    DeviceField("line", "B", minimum=0, maximum=_LINES_MOST - 1),
                    DeviceField("text", "s", maximum=_LINES_MOST * _LETTERS, text=True),
                ),
                (DeviceField("shown", "s", maximum=_LINES_MOST * _LETTERS, text=True),),
                safety="actuate",
                idempotent=True,
            ),
        ),
        lines=(_SDA,),
        options=(
            DeviceOption("address", 0x3C, 0x3D, 0x3C),
            _FREQUENCY,
            DeviceOption("height", 32, 64, 64, "pixels"),
        ),
        shares_lines=I2C_LINES,
        counterparts=(Counterpart("ssd1306", _SECOND_BUS),),
        words=(
            (
                "display show text screen",
                "anzeige anzeigen bildschirm pantalla mostrar",
                "显示 屏幕 ディスプレイ 表示 화면 표시",
            ),
        ),
    ),
    DeviceRow(
        kind="pca9685",
        is_spacious=True,
        is_bulky=True,
        can=("channel",),
        pin=_CLOCK,
        methods=(
            DeviceMethod(
                49,
                "channel_write",
                "Set the share of on-time of a channel. It goes off when nobody renews it.",
                (DeviceField("pin", "B", pins="channel"), _SHARE),
                (_SHARE,),
                safety="actuate",
                idempotent=True,
                lease=True,
            ),
        ),
        lines=(_SDA, DeviceLine("oe", "its OE, which switches all channels off")),
        options=(
            DeviceOption("address", 0x40, 0x77, 0x40, is_wiring=True),
            _FREQUENCY,
            DeviceOption("channel", 0, 15, 0, is_wiring=True),
            # Of the whole chip
            DeviceOption("pulse_hz", 24, 1_526, 50, "Hz"),
            DeviceOption("least_duty", 0, 10_000, 0, "hundredths of a percent"),
            DeviceOption("most_duty", 0, 10_000, 10_000, "hundredths of a percent", is_limit=True),
        ),
        is_output=True,
        safe=DeviceOption("safe", 0, 0, 0),
        safe_on=None,
        shares_lines=I2C_LINES,
        trial={"duty": 5},
        refusals=(
            "least_duty and most_duty of this channel forbid it",
            "not set up yet: ask again in a moment",
        ),
        counterparts=(Counterpart("pca9685", {**_SECOND_BUS, "oe": "PA9", "address": 0x50}),),
        words=(
            (
                "channel duty servo lamp",
                "kanal helligkeit stellung canal",
                "通道 チャンネル 채널",
            ),
        ),
    ),
    DeviceRow(
        kind="mcp23017",
        is_spacious=True,
        is_bulky=True,
        can=("expanded",),
        pin=_CLOCK,
        methods=(
            DeviceMethod(
                50,
                "expander_write",
                "Switch a pin of an expander on or off. It goes off when nobody renews it.",
                (DeviceField("pin", "B", pins="expanded"), _LEVEL),
                (_LEVEL,),
                safety="actuate",
                idempotent=True,
                lease=True,
            ),
        ),
        lines=_EXPANDER_LINES,
        options=_EXPANDER_OPTIONS,
        keys=frozenset({"active"}),
        is_output=True,
        safe=DeviceOption("safe", 0, 0, 0),
        safe_on=None,
        shares_lines=I2C_LINES,
        trial={"value": "on"},
        counterparts=(Counterpart("mcp23017", {**_SECOND_BUS, "reset": "PA8"}),),
    ),
    DeviceRow(
        kind="mcp23017in",
        is_spacious=True,
        is_bulky=True,
        can=("expanded_in",),
        pin=_CLOCK,
        methods=(
            DeviceMethod(
                51,
                "expander_read",
                "Read whether a pin of an expander is on or off.",
                (DeviceField("pin", "B", pins="expanded_in"),),
                (_LEVEL,),
                safety="read",
                idempotent=True,
            ),
        ),
        lines=_EXPANDER_LINES,
        options=(*_EXPANDER_OPTIONS, DeviceOption("pull_up", 0, 1, 1)),
        keys=frozenset({"active"}),
        shares_lines=I2C_LINES,
        refusals=("being set up again: ask in a moment",),
    ),
)
