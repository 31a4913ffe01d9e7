# Events: what the board tells by itself, once the Pi has subscribed to something.

import frame

# Of the eight frames on their way these many may be events: the rest is for answers
FRAMES = 3
EVENT_BYTES = 13


class Events:
    # `features` are asked for values: one that can has sample(index, part), which gives the number
    # that its read method would give, or None when that pin is not its own.

    def __init__(self, pins, system, features):
        self._made = None
        self._parts = (pins, system, features)

    def handlers(self):
        return {
            frame.METHOD_SUBSCRIBE: self._subscribe,
            frame.METHOD_UNSUBSCRIBE: self._unsubscribe,
            frame.METHOD_CREDIT: self._credit,
        }

    def begin_session(self, _is_open):
        if self._made is not None:
            self._made.end_all()

    def tick(self, now_ms):
        if self._made is not None:
            self._made.tick(now_ms)

    @property
    def is_ready(self):
        return self._made is not None and self._made.is_ready

    def pack(self, slot):
        return self._announcer().pack(slot)

    def payload(self, slot):
        return self._announcer().payload(slot)

    def _subscribe(self, arguments, _answer):
        return self._announcer().subscribe(arguments)

    def _unsubscribe(self, arguments, _answer):
        return self._announcer().unsubscribe(arguments)

    def _credit(self, arguments, _answer):
        return self._announcer().credit(arguments)

    def _announcer(self):
        if self._made is None:
            from node.announcer import Announcer  # noqa: PLC0415  - on demand

            self._made = Announcer(*self._parts)
        return self._made
