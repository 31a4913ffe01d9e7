"""Which tools a language model is always shown, and why: the rest waits behind a search.

Most needed first: what no longer fits into the room there is for tools waits too.
"""

from collections.abc import Mapping

# By name, or by how a board's tool ends whatever the board is called
ALWAYS_SHOWN: Mapping[str, str] = {
    "*_info": "what is wired to the board is asked before anything is done with it",
    "*_gpio_write": "switching something on or off is what most orders are about",
    "*_gpio_read": "whether something is on is asked as often",
    "time_now": "anything about today needs it, and it is the smallest of all",
    "memory_recall": "a person expects to be remembered without saying where to look",
    "memory_store": "what is not stored when it is said is lost",
    "file_read": "long results are read on with it",
    "*_adc_read": "most simple sensors are a voltage",
    "*_mcu_temperature": "the one measurement that every board has",
    "system_info": "a person asks how the device is when it is in trouble",
    "file_list": "a file cannot be read before its name is known",
    "file_write": "lists and notes are kept in files",
    "*_climate_read": "temperature and humidity are the commonest sensors",
    "watch_add": "an order for later is easily mistaken for one for now",
}
