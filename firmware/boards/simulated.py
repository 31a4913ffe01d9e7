# The board that scripts/board-sim plays: a small garden of things one might connect.

NAME = "simulated"
LINK = ("uart", 0, 115200)
# A pseudo-terminal holds about 4 KB
RECEIVE_WINDOW_BYTES = 1024
FLASH_CLASS = 0
SUPPLY_MV = 3300
HAS_MCU_TEMPERATURE = True
PROMPT_WINDOW_MS = 0

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
