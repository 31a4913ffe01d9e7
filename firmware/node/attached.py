# The devices behind the configured pins: their methods, found by the pin that a call names first.

import frame
from node.calls import Refusal, need


class Attached:
    # `methods` are the numbers of those that begin with the index of a pin that has a device

    def __init__(self, pins, methods):
        self._pins = pins
        self._methods = methods

    def handlers(self):
        return {}

    def obey(self, method, arguments, answer):
        # A method of a device, whichever it is
        if method not in list(self._methods):
            raise Refusal(frame.NOT_SUPPORTED, "this board has no such method")
        need(arguments, 1)
        slot = self._pins.find(arguments[0])
        handler = slot and slot.handlers and slot.handlers.get(method)
        if not handler:
            raise Refusal(frame.BAD_PIN, "that pin has nothing behind it for this")
        return handler(arguments, answer, self._pins.outputs)

    def sample(self, index, part):
        # For those who watch values: the device's number, None when that pin has none
        slot = self._pins.find(index)
        if slot is None or slot.device is None or not hasattr(slot.device, "value"):
            return None
        if slot.output is not None:
            # An argument would drive it
            return None if part else slot.device.value()
        return slot.device.value(part)

    def tick(self, now_ms):
        for one in self._pins.ticking:
            try:
                one.tick(now_ms)
            except OSError:  # it was pulled out; whoever asks it is told so
                continue
