# NUCLEO-F411RE: a Nucleo-64, like its sisters.

from firmware.boards.shared import nucleo_64

NAME = "nucleo-f411re"
# What MicroPython calls it
MACHINES = ("NUCLEO_F411RE",)
LINK = nucleo_64.LINK
RECEIVE_WINDOW_BYTES = nucleo_64.RECEIVE_WINDOW_BYTES
FLASH_CLASS = nucleo_64.FLASH_CLASS
IS_SMALL = nucleo_64.IS_SMALL
SUPPLY_MV = nucleo_64.SUPPLY_MV
HAS_MCU_TEMPERATURE = nucleo_64.HAS_MCU_TEMPERATURE
PROMPT_WINDOW_MS = nucleo_64.PROMPT_WINDOW_MS
DEADMAN_TIMER = nucleo_64.DEADMAN_TIMER
PINS = nucleo_64.PINS
USABLE = nucleo_64.USABLE
