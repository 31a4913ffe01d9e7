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

BUS_OUTPUTS = (
    DeviceRow(
        kind="ssd1306",
        is_spacious=True,
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
)
