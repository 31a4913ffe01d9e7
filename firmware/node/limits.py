# What an output is held to, whoever asks and however often: how long it may be on, how long it must
# rest after that, and how often it may be switched on in a minute.
#
# "On" is everything that is not the safe value. A limit of 0 is none.

from time import ticks_diff

from micropython import const

_MINUTE_MS = const(60_000)
_OPTIONS = ("max_on_ms", "min_off_ms", "per_minute")
# A pass of the loop with a collection in it: going safe this much early is going safe in time
EARLY_MS = 20


def limits_of(options, now_ms):
    # Those that have none share one that forbids nothing: memory
    for name in _OPTIONS:
        if options.get(name):
            return Limits(options, now_ms)
    return FREE


class Limits:
    def __init__(self, options, now_ms):
        self.max_on_ms = options.get("max_on_ms", 0)
        self._min_off_ms = options.get("min_off_ms", 0)
        self._per_minute = options.get("per_minute", 0)
        # When it was switched on within the last minute: a ring of its own, taken once
        self._switches_ms = [0] * self._per_minute
        self._first = 0
        self._count = 0
        self._on_ms = now_ms
        self._off_ms = now_ms
        # Nobody knows how long it was off before the start
        self._is_resting = self._min_off_ms > 0

    def refusal(self, now_ms):
        # Why it may not be switched on now, empty when it may
        if self._is_resting:
            left_ms = self._min_off_ms - ticks_diff(now_ms, self._off_ms)
            if left_ms > 0:
                return "must rest %s more (min_off_ms %d)" % (_told(left_ms), self._min_off_ms)
        if self._per_minute and self._count == self._per_minute:
            left_ms = _MINUTE_MS - ticks_diff(now_ms, self._switches_ms[self._first])
            if left_ms > 0:
                return "too often: wait %s (per_minute %d)" % (_told(left_ms), self._per_minute)
        return ""

    def note_on(self, now_ms):
        self._on_ms = now_ms
        if self._per_minute:
            self.tick(now_ms)
            self._switches_ms[(self._first + self._count) % self._per_minute] = now_ms
            self._count += 1

    def note_off(self, now_ms):
        self._off_ms = now_ms
        self._is_resting = self._min_off_ms > 0

    def is_over(self, now_ms):
        # Only asked while it is on
        if not self.max_on_ms:
            return False
        return ticks_diff(now_ms, self._on_ms) >= self.max_on_ms - EARLY_MS

    def tick(self, now_ms):
        # Forgets what has passed, before the counter of milliseconds comes around to it again
        if self._is_resting and ticks_diff(now_ms, self._off_ms) >= self._min_off_ms:
            self._is_resting = False
        while self._count and ticks_diff(now_ms, self._switches_ms[self._first]) >= _MINUTE_MS:
            self._first = (self._first + 1) % self._per_minute
            self._count -= 1


def _told(left_ms):
    tenths = (left_ms + 99) // 100
    return "%d.%d s" % (tenths // 10, tenths % 10)


FREE = Limits({}, 0)
