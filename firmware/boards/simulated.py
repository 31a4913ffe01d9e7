# The board that scripts/board-sim plays: a small garden of things one might connect.

NAME = "simulated"
# What MicroPython calls it
MACHINES = ()
LINK = ("uart", 0, 115200)
# A pseudo-terminal holds about 4 KB
RECEIVE_WINDOW_BYTES = 1024
# Raw slots: firmware/simulator/raw/raw_slots.py
FLASH_CLASS = 3
SUPPLY_MV = 3300
HAS_MCU_TEMPERATURE = True
PROMPT_WINDOW_MS = 0
# The timer that looks for a silent Pi; no PWM may take it
DEADMAN_TIMER = 1
# Where boots are counted: RTC_BKP19R, a backup register
BOOT_REGISTER = 0x4000289C

PINS = (
    {
        "name": "led",
        "pin": "PC13",
        "aliases": ("blue led", "lamp"),
        "can": ("in", "out"),
        "active_low": True,
    },
    {"name": "pump", "pin": "PB0", "aliases": ("water pump",), "can": ("in", "out")},
    {"name": "relay", "pin": "PB1", "aliases": ("fan",), "can": ("in", "out"), "active_low": True},
    {
        "name": "button",
        "pin": "PA0",
        "aliases": ("key", "switch"),
        "can": ("in",),
        "active_low": True,
        "pull": "up",
    },
    {
        "name": "a0",
        "pin": "PA1",
        "aliases": ("moisture", "soil moisture", "soil"),
        "can": ("adc",),
    },
    {"name": "light", "pin": "PA2", "aliases": ("a1", "brightness"), "can": ("adc",)},
    {"name": "d2", "pin": "PB10", "can": ("in", "out"), "floating": True, "lease_ms": 400},
)

# What a configuration may use, and for what: digital, measuring, a timer's channel
USABLE = {
    "PA0": "gpio adc pwm",
    "PA1": "gpio adc pwm",
    "PA2": "gpio adc pwm",
    "PA3": "gpio adc pwm",
    "PA4": "gpio adc dac",
    "PA5": "gpio adc pwm dac",
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
    "PB2": "gpio",
    "PB3": "gpio pwm",
    "PB4": "gpio pwm",
    "PB5": "gpio pwm",
    "PB6": "gpio pwm",
    "PB7": "gpio pwm",
    "PB8": "gpio pwm",
    "PB9": "gpio pwm",
    "PB10": "gpio pwm",
    "PB12": "gpio",
    "PB13": "gpio",
    "PB14": "gpio",
    "PB15": "gpio",
    "PC13": "gpio",
}
