# WeAct Black Pill, STM32F411CEU6: linked by its own USB connector.
#
# Left out on purpose: PA4-PA7 and PB4 (the footprint for a flash chip on the back), PA11 and PA12
# (USB), PA13 and PA14 (debug), PB2 (BOOT1), PC14 and PC15 (clock crystal).

NAME = "weact-blackpill-f411"
# What MicroPython calls it
MACHINES = ("WEACT_F411_BLACKPILL",)
LINK = ("usb", 0, 0)
# The USB driver buffers 1024 bytes, of which a packet of 64 must stay free
RECEIVE_WINDOW_BYTES = 512
# FAT on the chip's 16 KB sectors, as the common builds of MicroPython have it
FLASH_CLASS = 1
# 64 KB for files: not every driver fits
IS_SMALL = True
SUPPLY_MV = 3300
HAS_MCU_TEMPERATURE = True
# A computer needs a second or two to notice a new USB device; a frame ends the wait
PROMPT_WINDOW_MS = 3000
# The timer that looks for a silent Pi; no PWM may take it
DEADMAN_TIMER = 11
# Where boots are counted: RTC_BKP19R, a backup register
BOOT_REGISTER = 0x4000289C

PINS = (
    {
        "name": "led",
        "pin": "PC13",
        "aliases": ("blue led", "light"),
        "can": ("in", "out"),
        "active_low": True,
    },
    {
        "name": "button",
        "pin": "PA0",
        "aliases": ("key", "user button"),
        "can": ("in",),
        "active_low": True,
        "pull": "up",
    },
    {"name": "a1", "pin": "PA1", "can": ("adc",)},
    {"name": "a2", "pin": "PA2", "can": ("adc",)},
    {"name": "a3", "pin": "PA3", "can": ("adc",)},
    {"name": "b0", "pin": "PB0", "can": ("in", "out"), "floating": True},
    {"name": "b1", "pin": "PB1", "can": ("in", "out"), "floating": True},
    {"name": "b5", "pin": "PB5", "can": ("in", "out"), "floating": True},
    {"name": "b10", "pin": "PB10", "can": ("in", "out"), "floating": True},
    {"name": "b12", "pin": "PB12", "can": ("in", "out"), "floating": True},
    {"name": "b13", "pin": "PB13", "can": ("in", "out"), "floating": True},
    {"name": "b14", "pin": "PB14", "can": ("in", "out"), "floating": True},
    {"name": "b15", "pin": "PB15", "can": ("in", "out"), "floating": True},
)

# What a configuration may use, and for what: digital, measuring, a timer's channel
# PC13 is not here: MicroPython lights it while it writes to flash, whatever hangs there
USABLE = {
    "PA0": "gpio adc pwm",
    "PA1": "gpio adc pwm",
    "PA2": "gpio adc pwm",
    "PA3": "gpio adc pwm",
    "PA8": "gpio pwm",
    "PA9": "gpio pwm",
    "PA10": "gpio pwm",
    "PA15": "gpio pwm",
    "PB0": "gpio adc pwm",
    "PB1": "gpio adc pwm",
    "PB3": "gpio pwm",
    "PB5": "gpio pwm",
    "PB6": "gpio pwm",
    "PB7": "gpio pwm",
    "PB8": "gpio pwm",
    # MicroPython drives a PWM here by timer 11, the dead man's handle
    "PB9": "gpio",
    "PB10": "gpio pwm",
    "PB12": "gpio",
    "PB13": "gpio",
    "PB14": "gpio",
    "PB15": "gpio",
}
