# Time since the start. The counter of the board goes around after 12 days and comparing two of its
# values is wrong after 6; this one lasts for decades.

from time import ticks_add, ticks_diff, ticks_ms


class Uptime:
    def __init__(self):
        self._since_ms = ticks_ms()
        # Whole seconds fit a small integer, which costs no memory to change
        self._seconds = 0

    def advance(self, now_ms):
        # To be called at least every 6 days
        passed = ticks_diff(now_ms, self._since_ms) // 1000
        if passed > 0:
            self._since_ms = ticks_add(self._since_ms, passed * 1000)
            self._seconds += passed

    def milliseconds(self, now_ms):
        self.advance(now_ms)
        return (self._seconds * 1000 + ticks_diff(now_ms, self._since_ms)) & 0xFFFFFFFF
