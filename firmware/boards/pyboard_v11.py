# Pyboard v1.1, STM32F405RG: linked by its own USB connector. Names are those printed on the board.
#
# Left out on purpose: PA13 (red LED: MicroPython lights it while its flash cache is unwritten),
# PB5 and PB2 (the accelerometer: supply and interrupt), PA8, PC8-PC12 and PD2 (the card slot),
# PA9-PA12 (USB), X17 (PB3, the switch).

NAME = "pyboard-v1.1"
# What MicroPython calls it
MACHINES = ("PYBV1.1", "PYBV11")
LINK = ("usb", 0, 0)
# The USB driver buffers 1024 bytes, of which a packet of 64 must stay free
RECEIVE_WINDOW_BYTES = 512
# FAT on three sectors of 16 KB and one of 64 KB
FLASH_CLASS = 1
SUPPLY_MV = 3300
HAS_MCU_TEMPERATURE = True
# 112 KB for files: two versions with the larger drivers in them find no room
IS_MIDDLING = True
# A computer needs a second or two to notice a new USB device; a frame ends the wait
PROMPT_WINDOW_MS = 3000
# The timer that looks for a silent Pi; no PWM may take it
DEADMAN_TIMER = 11
# Where boots are counted: RTC_BKP19R, a backup register
BOOT_REGISTER = 0x4000289C

PINS = (
    {"name": "led", "pin": "PB4", "aliases": ("blue led", "light"), "can": ("in", "out")},
    {"name": "green_led", "pin": "PA14", "aliases": ("green led",), "can": ("in", "out")},
    {"name": "yellow_led", "pin": "PA15", "aliases": ("yellow led",), "can": ("in", "out")},
    {
        "name": "button",
        "pin": "PB3",
        "aliases": ("usr", "user button", "switch"),
        "can": ("in",),
        "active_low": True,
        "pull": "up",
    },
    {"name": "x19", "pin": "PC0", "can": ("adc",)},
    {"name": "x20", "pin": "PC1", "can": ("adc",)},
    {"name": "x21", "pin": "PC2", "can": ("adc",)},
    {"name": "x22", "pin": "PC3", "can": ("adc",)},
    {"name": "x1", "pin": "PA0", "can": ("in", "out"), "floating": True},
    {"name": "x2", "pin": "PA1", "can": ("in", "out"), "floating": True},
    {"name": "x3", "pin": "PA2", "can": ("in", "out"), "floating": True},
    {"name": "x4", "pin": "PA3", "can": ("in", "out"), "floating": True},
    {"name": "y1", "pin": "PC6", "can": ("in", "out"), "floating": True},
    {"name": "y2", "pin": "PC7", "can": ("in", "out"), "floating": True},
    {"name": "y3", "pin": "PB8", "can": ("in", "out"), "floating": True},
    {"name": "y4", "pin": "PB9", "can": ("in", "out"), "floating": True},
    {"name": "y11", "pin": "PB0", "can": ("in", "out"), "floating": True},
    {"name": "y12", "pin": "PB1", "can": ("in", "out"), "floating": True},
)

# What a configuration may use, and for what: digital, measuring, a timer's channel
# PA13 is not here: MicroPython lights it while it writes to flash, whatever hangs there
USABLE = {
    "PA0": "gpio adc pwm",
    "PA1": "gpio adc pwm",
    "PA2": "gpio adc pwm",
    "PA3": "gpio adc pwm",
    "PA4": "gpio adc dac",
    "PA5": "gpio adc pwm dac",
    "PA6": "gpio adc pwm",
    "PA7": "gpio adc pwm",
    "PA14": "gpio",
    "PA15": "gpio pwm",
    "PB0": "gpio adc pwm",
    "PB1": "gpio adc pwm",
    "PB3": "gpio pwm",
    "PB4": "gpio pwm",
    "PB6": "gpio pwm",
    "PB7": "gpio pwm",
    "PB8": "gpio pwm",
    # MicroPython drives a PWM here by timer 11, the dead man's handle
    "PB9": "gpio",
    "PB10": "gpio pwm",
    "PB11": "gpio pwm",
    "PB12": "gpio",
    "PB13": "gpio",
    "PB14": "gpio pwm",
    "PB15": "gpio pwm",
    "PC0": "gpio adc",
    "PC1": "gpio adc",
    "PC2": "gpio adc",
    "PC3": "gpio adc",
    "PC4": "gpio adc",
    "PC5": "gpio adc",
    "PC6": "gpio pwm",
    "PC7": "gpio pwm",
}
