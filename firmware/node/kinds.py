# Which kinds of things an entry of the configuration may be; loaded while one is judged.
#
# A kind that is no plain pin is a module under node/devices, with a class, of that name.

OUTPUT = "output"
INPUT = "input"
ANALOG = "analog"

_PWM = ("pwm", "servo")
_GPIO = (
    OUTPUT,
    INPUT,
    "counter",
    "encoder",
    "ds18b20",
    "dht22",
    "bme280",
    "neopixel",
    "i2c",
    "spi",
    "uart",
)
# Kinds whose lines are a bus: entries of these may name the same pins
BUS_KINDS = ("i2c", "bme280")


def needs(kind):
    # What its `pin` must be able to do, empty for a kind that there is none of; every other pin
    # that an entry names must be able to do "gpio"
    if kind in _GPIO:
        return "gpio"
    if kind in _PWM:
        return "pwm"
    return "adc" if kind == ANALOG else ""
