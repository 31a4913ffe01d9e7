# NUCLEO-H743ZI and NUCLEO-H743ZI2: linked by the ST-Link's serial port, USART3 on PD8 and PD9.
#
# The two revisions print the same names beside different pins: only what both agree on is here, so
# D0-D2, D4, D7, D8 and A3-A5 are missing, and so is the second LED (blue PB7, or yellow PE1). Left
# out as well: A2 (PC3, shared with a pad that is analog only), D11-D13 (an Ethernet or SPI pin).

NAME = "nucleo-h743zi"
# What MicroPython calls it
MACHINES = ("NUCLEO_H743ZI", "NUCLEO_H743ZI2")
# USART3 is also MicroPython's own console: it keeps its 115200 baud and its fixed buffer
LINK = ("uart", 3, 0)
# The console's ring holds 259 bytes
RECEIVE_WINDOW_BYTES = 256
# The whole file system lies in one sector of 128 KB: every write risks all of it
FLASH_CLASS = 0
SUPPLY_MV = 3300
# pyb.ADCAll reads the sensor of this chip wrongly
HAS_MCU_TEMPERATURE = False
PROMPT_WINDOW_MS = 600
# The timer that looks for a silent Pi; no PWM may take it
DEADMAN_TIMER = 17
# Where boots are counted: RTC_BKP19R, a backup register
BOOT_REGISTER = 0x5800409C

PINS = (
    {
        "name": "led",
        "pin": "PB0",
        "aliases": ("green led", "light", "ld1"),
        "can": ("in", "out"),
    },
    {"name": "red_led", "pin": "PB14", "aliases": ("red led", "ld3"), "can": ("in", "out")},
    {
        "name": "button",
        "pin": "PC13",
        "aliases": ("blue button", "user button", "b1"),
        # Pulled down on the board, pressed is high
        "can": ("in",),
    },
    {"name": "a0", "pin": "PA3", "can": ("adc",)},
    {"name": "a1", "pin": "PC0", "can": ("adc",)},
    {"name": "d3", "pin": "PE13", "can": ("in", "out"), "floating": True},
    {"name": "d5", "pin": "PE11", "can": ("in", "out"), "floating": True},
    {"name": "d6", "pin": "PE9", "can": ("in", "out"), "floating": True},
    {"name": "d9", "pin": "PD15", "can": ("in", "out"), "floating": True},
    {"name": "d10", "pin": "PD14", "can": ("in", "out"), "floating": True},
    {"name": "d14", "pin": "PB9", "can": ("in", "out"), "floating": True},
    {"name": "d15", "pin": "PB8", "can": ("in", "out"), "floating": True},
)

# What a configuration may use, and for what: digital, measuring, a timer's channel
# PB0 is not here: MicroPython lights it while it writes to flash, whatever hangs there
USABLE = {
    "PA3": "gpio adc pwm",
    "PB8": "gpio pwm",
    "PB9": "gpio pwm",
    "PB14": "gpio",
    "PC0": "gpio adc",
    "PC13": "gpio",
    "PD14": "gpio pwm",
    "PD15": "gpio pwm",
    "PE9": "gpio pwm",
    "PE11": "gpio pwm",
    "PE13": "gpio pwm",
}
