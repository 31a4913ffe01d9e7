# A servo: it turns towards the angle that its pulses tell, at the speed that it has.

import time

import world

_RECORD_EVERY_MS = 50


class Thing:
    changeable = ("degrees_per_s",)

    def __init__(self, name, pin, degrees_per_s=300, least_us=500, most_us=2400, degrees=180):
        self.name = name
        self.pin = pin
        self.quantities = ()
        self.degrees_per_s = degrees_per_s
        self._least_us = least_us
        self._us_per_degree = (most_us - least_us) / degrees
        self._degrees = degrees
        self._angle = 0.0
        self._target = None
        self._at_ms = time.ticks_ms()
        self._recorded_ms = self._at_ms

    def pulse(self, width_us):
        # No pulses: it stays where it is, and holds nothing
        if not width_us:
            self._target = None
            return
        angle = (width_us - self._least_us) / self._us_per_degree
        self._target = max(0, min(self._degrees, angle))

    def tick(self, now_ms):
        passed_ms = time.ticks_diff(now_ms, self._at_ms)
        self._at_ms = now_ms
        if self._target is None or self._target == self._angle:
            return
        most = self.degrees_per_s * passed_ms / 1000
        way = self._target - self._angle
        self._angle += max(-most, min(most, way))
        arrived = abs(way) <= most
        if arrived:
            self._angle = self._target
        if arrived or time.ticks_diff(now_ms, self._recorded_ms) >= _RECORD_EVERY_MS:
            self._recorded_ms = now_ms
            angle = round(self._angle, 1)
            world.record(
                {"event": "servo", "name": self.name, "angle": angle, "moving": not arrived}
            )
