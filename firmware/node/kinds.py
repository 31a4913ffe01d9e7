# Which kinds of things an entry of the configuration may be, and where the class of each lies.
#
# A class is loaded when the first entry of its kind is made: what is not wired takes no memory.

from micropython import const

OUTPUT = "output"
INPUT = "input"
ANALOG = "analog"

_MODULE = const(0)
_CLASS = const(1)
_NEEDS = const(2)
# Kind: module under node/devices, class in it, and what its `pin` must be able to do; every other
# pin that an entry names must be able to do "gpio"
_KINDS = {
    OUTPUT: ("", "", "gpio"),
    INPUT: ("", "", "gpio"),
    ANALOG: ("", "", "adc"),
    "pwm": ("pwm", "Pwm", "pwm"),
    "servo": ("servo", "Servo", "pwm"),
    "counter": ("counter", "Counter", "gpio"),
    "encoder": ("encoder", "Encoder", "gpio"),
    "ds18b20": ("ds18b20", "Ds18b20", "gpio"),
    "dht22": ("dht22", "Dht22", "gpio"),
    "bme280": ("bme280", "Bme280", "gpio"),
    "neopixel": ("neopixel", "Neopixel", "gpio"),
    "i2c": ("i2c", "I2c", "gpio"),
    "spi": ("spi", "Spi", "gpio"),
    "uart": ("uart", "Uart", "gpio"),
}
# Kinds whose lines are a bus: entries of these may name the same pins
BUS_KINDS = ("i2c", "bme280")


def needs(kind):
    # What its pin must be able to do; empty for a kind that there is none of
    known = _KINDS.get(kind)
    return known[_NEEDS] if known else ""


def device_class(kind):
    # None for those that are plain pins.
    # Raises ImportError or AttributeError where this build lacks it.
    known = _KINDS[kind]
    if not known[_MODULE]:
        return None
    path = "node.devices." + known[_MODULE]
    module = __import__(path, None, None, (known[_CLASS],))
    return getattr(module, known[_CLASS])
