"""Rows of the buses: raw bytes to whatever is there.

A write is a hazard, because nobody knows what bytes move.
"""

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

# What one call carries, over I2C and SPI
_BYTES_MOST = 32
_I2C_PIN = DeviceField("pin", "B", pins="i2c")
_I2C_ADDRESS = DeviceField("address", "B", minimum=8, maximum=119)
_SPI_DATA = DeviceField("data", "s", maximum=_BYTES_MOST)
_UART_PIN = DeviceField("pin", "B", pins="uart")
_UART_DATA = DeviceField("data", "s", maximum=128, text=True)

BUSES = (
    DeviceRow(
        kind="i2c",
        can=("i2c",),
        pin="clock",
        methods=(
            DeviceMethod(
                28,
                "i2c_scan",
                "The addresses, in hex, at which something answers on an I2C bus.",
                (_I2C_PIN,),
                (DeviceField("addresses", "s", maximum=112),),
                safety="read",
                idempotent=True,
            ),
            DeviceMethod(
                29,
                "i2c_read",
                "Read bytes from an I2C device, from a register on; register -1 names none.",
                (
                    _I2C_PIN,
                    _I2C_ADDRESS,
                    DeviceField("register", "h", minimum=-1, maximum=255),
                    DeviceField("count", "B", minimum=1, maximum=_BYTES_MOST),
                ),
                (DeviceField("data", "s", maximum=_BYTES_MOST),),
                # Some devices forget what was read: not idempotent
                safety="read",
            ),
            DeviceMethod(
                30,
                "i2c_write",
                "Write bytes to an I2C device, the register first; answers how many it took.",
                (_I2C_PIN, _I2C_ADDRESS, DeviceField("data", "s", maximum=_BYTES_MOST)),
                (DeviceField("taken", "B", unit="bytes"),),
                safety="hazard",
            ),
        ),
        lines=(DeviceLine("sda", "data"),),
        options=(DeviceOption("frequency", 10_000, 400_000, 100_000, "Hz"),),
        shares_lines=I2C_LINES,
        refusals=(
            "1 to 32 bytes of register 0 to 255, or -1 for none",
            "an address is 8 to 119",
            "scanning: ask again in a moment",
            "something holds the bus",
        ),
        counterparts=(Counterpart("eeprom", {"pin": "PB6"}),),
        words=(("i2c bus", "adress escanea", "总线 バス 버스"),),
    ),
    DeviceRow(
        kind="onewire",
        is_spacious=True,
        can=("onewire",),
        pin="1-Wire line",
        methods=(
            DeviceMethod(
                39,
                "onewire_scan",
                "Sensors on a 1-Wire line: 28- (DS18B20) or 22- (DS1822) and the serial number.",
                (DeviceField("pin", "B", pins="onewire"),),
                (DeviceField("found", "s", maximum=160, text=True),),
                safety="read",
                idempotent=True,
            ),
        ),
        shares_lines=ONE_WIRE_LINE,
        refusals=(
            "a sensor fell silent in the middle of the search",
            "a serial number arrived damaged",
        ),
    ),
    DeviceRow(
        kind="spi",
        can=("spi",),
        pin="select",
        methods=(
            DeviceMethod(
                31,
                "spi_transfer",
                "Send bytes over SPI and answer those that came back meanwhile.",
                (DeviceField("pin", "B", pins="spi"), _SPI_DATA),
                (_SPI_DATA,),
                safety="hazard",
            ),
        ),
        lines=(
            DeviceLine("sck", "clock"),
            DeviceLine("mosi", "data out"),
            DeviceLine("miso", "data in"),
        ),
        options=(
            # Slower would hold up the loop of the firmware
            DeviceOption("frequency", 100_000, 1_000_000, 500_000, "Hz"),
            DeviceOption("mode", 0, 3, 0),
        ),
        counterparts=(Counterpart("spi_echo", {"pin": "PA4"}),),
    ),
    DeviceRow(
        kind="uart",
        can=("uart",),
        pin="its TX pin",
        methods=(
            DeviceMethod(
                32,
                "uart_write",
                "Send text to a device on a UART.",
                (_UART_PIN, _UART_DATA),
                (DeviceField("taken", "B", unit="bytes"),),
                safety="hazard",
            ),
            DeviceMethod(
                33,
                "uart_read",
                "What a device on a UART has said since the last time, and how much was lost.",
                (_UART_PIN,),
                (DeviceField("lost", "I", unit="bytes"), _UART_DATA),
                safety="read",
            ),
        ),
        options=(
            DeviceOption("uart", 1, 8, 1),
            DeviceOption("baud", 1_200, 460_800, 9_600, "baud"),
        ),
        refusals=("still sending: ask again in a moment",),
        counterparts=(Counterpart("serial", {"uart": 1, "replies": {"?": "ready\r\n"}}),),
        words=(("uart text device", "serial seriell serie", "串口 シリアル 시리얼"),),
    ),
)
