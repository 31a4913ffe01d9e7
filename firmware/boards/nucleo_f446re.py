# NUCLEO-F446RE: a Nucleo-64, like its sisters.

from firmware.boards.shared import nucleo_64

NAME = "nucleo-f446re"
# What MicroPython calls it
MACHINES = ("NUCLEO_F446RE",)
LINK = nucleo_64.LINK
RECEIVE_WINDOW_BYTES = nucleo_64.RECEIVE_WINDOW_BYTES
FLASH_CLASS = nucleo_64.FLASH_CLASS
IS_SMALL = nucleo_64.IS_SMALL
SUPPLY_MV = nucleo_64.SUPPLY_MV
HAS_MCU_TEMPERATURE = nucleo_64.HAS_MCU_TEMPERATURE
PROMPT_WINDOW_MS = nucleo_64.PROMPT_WINDOW_MS
DEADMAN_TIMER = nucleo_64.DEADMAN_TIMER
BOOT_REGISTER = nucleo_64.BOOT_REGISTER
PINS = nucleo_64.PINS
# Its timer 12 has channels there, and the others have neither such a timer nor a DAC; MicroPython
# drives a PWM at PB9 by timer 4
USABLE = {
    **nucleo_64.USABLE,
    "PA4": "gpio adc dac",
    "PB9": "gpio pwm",
    "PB14": "gpio pwm",
    "PB15": "gpio pwm",
}
