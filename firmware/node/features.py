# Which features a board has, in the order in which they are looked after in every pass.
#
# `system` comes first: the outputs' leases are looked at before anything that may take its time.

import frame
import slots
from node.attached import Attached
from node.gpio import Gpio
from node.on_demand import OnDemand
from node.store import Store
from node.unload import unload


def of(board, pins, system, configuration):
    features = [
        system,
        configuration,
        Gpio(pins),
        Attached(pins, board.DEVICE_METHODS),
    ]
    if board.HAS_MCU_TEMPERATURE:
        from node.own_sensors import OwnSensors  # noqa: PLC0415  - of no use to the others

        features.append(OwnSensors())
    make = _update(board, pins, system)
    features.append(OnDemand(frame.METHOD_UPDATE, make, slots.trial, _drop_update))
    store = Store(board.CLASS, "reflexes")
    has_rules = bool(store.load()) or store.is_damaged
    # Last, so that it finds every feature that has values
    make = _reflexes(pins, configuration, tuple(features), store, system)
    features.append(OnDemand(frame.METHOD_REFLEX, make, has_rules))
    return tuple(features)


def _update(board, pins, system):
    def make():
        from node.update import Update  # noqa: PLC0415  - on demand

        return Update(board, pins.outputs, system, slots.open_store())

    return make


def _drop_update():
    unload("update")
    slots.forget()


def _reflexes(pins, configuration, features, store, system):
    def make():
        from node.reflexes import Reflexes  # noqa: PLC0415  - on demand

        return Reflexes(pins, configuration, features, store, system)

    return make
