# What every Nucleo-64 with an STM32F4 has in common: the ST-Link's serial port, which is USART2 on
# PA2 and PA3, is the link, and the pins lie where Arduino has them.
#
# Left out on purpose: D0 and D1 (the link itself), D3 (PB3, trace output of the debugger).

# USART2 is also MicroPython's own console: it keeps its 115200 baud and its fixed buffer
LINK = ("uart", 2, 0)
# The console's ring holds 259 bytes
RECEIVE_WINDOW_BYTES = 256
FLASH_CLASS = 1
# 64 KB for files: not every driver fits
IS_SMALL = True
SUPPLY_MV = 3300
HAS_MCU_TEMPERATURE = True
PROMPT_WINDOW_MS = 600
# The timer that looks for a silent Pi; no PWM may take it
DEADMAN_TIMER = 11
# Where boots are counted: RTC_BKP19R, a backup register
BOOT_REGISTER = 0x4000289C

PINS = (
    {
        "name": "led",
        "pin": "PA5",
        "aliases": ("green led", "light", "ld2", "d13"),
        "can": ("in", "out"),
    },
    {
        "name": "button",
        "pin": "PC13",
        "aliases": ("blue button", "user button", "b1"),
        # Pulled up on the board
        "can": ("in",),
        "active_low": True,
    },
    {"name": "a0", "pin": "PA0", "can": ("adc",)},
    {"name": "a1", "pin": "PA1", "can": ("adc",)},
    {"name": "a2", "pin": "PA4", "can": ("adc",)},
    {"name": "a3", "pin": "PB0", "can": ("adc",)},
    {"name": "d2", "pin": "PA10", "can": ("in", "out"), "floating": True},
    {"name": "d4", "pin": "PB5", "can": ("in", "out"), "floating": True},
    {"name": "d5", "pin": "PB4", "can": ("in", "out"), "floating": True},
    {"name": "d6", "pin": "PB10", "can": ("in", "out"), "floating": True},
    {"name": "d7", "pin": "PA8", "can": ("in", "out"), "floating": True},
    {"name": "d8", "pin": "PA9", "can": ("in", "out"), "floating": True},
    {"name": "d9", "pin": "PC7", "can": ("in", "out"), "floating": True},
    {"name": "d10", "pin": "PB6", "can": ("in", "out"), "floating": True},
)

# What a configuration may use, and for what: digital, measuring, a timer's channel
# PA5 is not here: MicroPython lights it while it writes to flash, whatever hangs there
USABLE = {
    "PA0": "gpio adc pwm",
    "PA1": "gpio adc pwm",
    "PA4": "gpio adc",
    "PA6": "gpio adc pwm",
    "PA7": "gpio adc pwm",
    "PA8": "gpio pwm",
    "PA9": "gpio pwm",
    "PA10": "gpio pwm",
    "PA11": "gpio pwm",
    "PA12": "gpio",
    "PA15": "gpio pwm",
    "PB0": "gpio adc pwm",
    "PB1": "gpio adc pwm",
    "PB4": "gpio pwm",
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
    "PC0": "gpio adc",
    "PC1": "gpio adc",
    "PC2": "gpio adc",
    "PC3": "gpio adc",
    "PC4": "gpio adc",
    "PC5": "gpio adc",
    "PC6": "gpio pwm",
    "PC7": "gpio pwm",
    "PC8": "gpio pwm",
    "PC9": "gpio pwm",
    "PC10": "gpio",
    "PC11": "gpio",
    "PC12": "gpio",
    "PC13": "gpio",
    "PD2": "gpio",
}
