# Run by a MicroPython of 32 bits: the firmware's announcer over a history, every pass of its loop.
#
# Reads cases as JSON lines and prints the events of each: time in milliseconds and value.

import json
import struct
import sys
import time

_PASS_MS = 10
_CREDITS = 255


class _Clock:
    pass


# The counter goes around as on the board; who asks for it by himself is told the present pass
_clock = _Clock()
_clock.now_ms = 0
_clock.ticks_add = time.ticks_add
_clock.ticks_diff = time.ticks_diff
_clock.ticks_ms = lambda: _clock.now_ms
sys.modules["time"] = _clock

import frame  # noqa: E402  - after the clock
from node.announcer import Announcer  # noqa: E402


class World:
    # A board whose pins have no interrupts
    value = None

    def watch(self, _index, _ring):
        return None

    def uptime_ms(self, at_ms):
        return at_ms

    def sample(self, _index, _part):
        return self.value


def events_of(case):
    world = World()
    announcer = Announcer(world, world, [world])
    wanted = struct.pack(
        frame.SUBSCRIBE_FORMAT,
        *(0, 0, case["mode"], case["least_ms"], case["low"], case["high"], 8, _CREDITS),
    )
    told = []
    place = 0
    is_open = False
    for now_ms in range(_PASS_MS, case["length_ms"], _PASS_MS):
        _clock.now_ms = now_ms
        while place < len(case["times"]) and case["times"][place] <= now_ms:
            world.value = case["values"][place]
            place += 1
        if not is_open and world.value is not None:
            announcer.subscribe(wanted)
            is_open = True
        announcer.tick(now_ms)
        while announcer.is_ready and announcer.pack(0):
            fields = struct.unpack(frame.EVENT_FORMAT, announcer.payload(0))
            told.append([now_ms, fields[-1]])
            announcer.credit(struct.pack(frame.CREDIT_FORMAT, 0, 1))
    return {"events": told, "largest": sys.maxsize}


for line in sys.stdin:
    sys.stdout.write(json.dumps(events_of(json.loads(line))) + "\n")
