# Which features a board has, in the order in which they are looked after in every pass.
#
# `system` comes first: the outputs' leases are looked at before anything that may take its time.

import slots
from node.analog import Analog
from node.attached import Attached
from node.gpio import Gpio
from node.reflexes import Reflexes
from node.store import Store
from node.supply import Supply
from node.thermometer import Thermometer
from node.update import Update


def of(board, pins, system, configuration):
    features = [system, configuration, Gpio(pins), Analog(pins), Attached(pins)]
    features.append(Update(board, pins.outputs, system, slots.open_store()))
    if board.HAS_MCU_TEMPERATURE:
        features += [Thermometer(), Supply()]
    # Last, so that it finds every feature that has values
    store = Store(board.FLASH_CLASS, "reflexes")
    features.append(Reflexes(pins, configuration, features, store, system))
    return tuple(features)
