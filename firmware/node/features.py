# Which features a board has, in the order in which they are looked after in every pass.
#
# `system` comes first: the outputs' leases are looked at before anything that may take its time.

from node.analog import Analog
from node.gpio import Gpio
from node.thermometer import Thermometer


def of(board, pins, system):
    features = [system, Gpio(pins), Analog(pins)]
    if board.HAS_MCU_TEMPERATURE:
        features.append(Thermometer())
    return tuple(features)
