# NUCLEO-WB55RG: linked by the ST-Link's serial port, which is USART1 on PB6 and PB7.
#
# Left out on purpose: PA11 and PA12 (the second USB connector), PA13-PA15 and PB3 (debug),
# PC13-PC15 (the clock crystal and its domain, which drives little), PA4-PA7 (SPI, for later).

NAME = "nucleo-wb55"
# What MicroPython calls it
MACHINES = ("NUCLEO_WB55",)
# USART1 is also MicroPython's own console: it keeps its 115200 baud and its fixed buffer
LINK = ("uart", 1, 0)
# The console's ring holds 259 bytes
RECEIVE_WINDOW_BYTES = 256
# FAT on pages of 4 KB, which MicroPython also collects before it writes them
FLASH_CLASS = 1
SUPPLY_MV = 3300
# MicroPython is built for it without pyb.ADCAll
HAS_MCU_TEMPERATURE = False
PROMPT_WINDOW_MS = 600
# The timer that looks for a silent Pi; no PWM may take it
DEADMAN_TIMER = 17
# Where boots are counted: RTC_BKP19R, a backup register
BOOT_REGISTER = 0x4000289C

PINS = (
    {
        "name": "led",
        "pin": "PB5",
        "aliases": ("blue led", "light", "ld1"),
        "can": ("in", "out"),
    },
    {"name": "green_led", "pin": "PB0", "aliases": ("green led", "ld2"), "can": ("in", "out")},
    {"name": "red_led", "pin": "PB1", "aliases": ("red led", "ld3"), "can": ("in", "out")},
    {
        "name": "button",
        "pin": "PC4",
        "aliases": ("button 1", "user button", "sw1"),
        "can": ("in",),
        "active_low": True,
        "pull": "up",
    },
    {
        "name": "button_2",
        "pin": "PD0",
        "aliases": ("button 2", "sw2"),
        "can": ("in",),
        "active_low": True,
        "pull": "up",
    },
    {
        "name": "button_3",
        "pin": "PD1",
        "aliases": ("button 3", "sw3"),
        "can": ("in",),
        "active_low": True,
        "pull": "up",
    },
    {"name": "a0", "pin": "PC0", "can": ("adc",)},
    {"name": "a1", "pin": "PC1", "can": ("adc",)},
    {"name": "a2", "pin": "PA1", "can": ("adc",)},
    {"name": "a3", "pin": "PA0", "can": ("adc",)},
    {"name": "a4", "pin": "PC3", "can": ("adc",)},
    {"name": "a5", "pin": "PC2", "can": ("adc",)},
    {"name": "d0", "pin": "PA3", "can": ("in", "out"), "floating": True},
    {"name": "d1", "pin": "PA2", "can": ("in", "out"), "floating": True},
    {"name": "d2", "pin": "PC6", "can": ("in", "out"), "floating": True},
    {"name": "d3", "pin": "PA10", "can": ("in", "out"), "floating": True},
    {"name": "d4", "pin": "PC10", "can": ("in", "out"), "floating": True},
    {"name": "d6", "pin": "PA8", "can": ("in", "out"), "floating": True},
    {"name": "d8", "pin": "PC12", "can": ("in", "out"), "floating": True},
    {"name": "d9", "pin": "PA9", "can": ("in", "out"), "floating": True},
    {"name": "d14", "pin": "PB9", "can": ("in", "out"), "floating": True},
    {"name": "d15", "pin": "PB8", "can": ("in", "out"), "floating": True},
)

# What a configuration may use, and for what: digital, measuring, a timer's channel
# PB5 is not here: MicroPython lights it while it writes to flash, whatever hangs there
USABLE = {
    "PA0": "gpio adc pwm",
    "PA1": "gpio adc pwm",
    "PA2": "gpio adc pwm",
    "PA3": "gpio adc pwm",
    "PA8": "gpio adc pwm",
    "PA9": "gpio adc pwm",
    "PA10": "gpio pwm",
    "PB0": "gpio",
    "PB1": "gpio",
    "PB8": "gpio",
    "PB9": "gpio",
    "PC0": "gpio adc",
    "PC1": "gpio adc",
    "PC2": "gpio adc",
    "PC3": "gpio adc",
    "PC4": "gpio adc",
    "PC6": "gpio",
    "PC10": "gpio",
    "PC12": "gpio",
    "PD0": "gpio",
    "PD1": "gpio",
}
