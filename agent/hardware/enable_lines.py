"""Enable lines: the Pi powers the outputs only while the agent is healthy.

The lines go off at the emergency stop, when the agent ends, and when its event loop hangs, which
a separate thread watches. They add to the limits of the boards and replace none: a killed process
can switch nothing off.
"""

import logging
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from agent.errors import PinRefused
from agent.security.estop import EmergencyStop
from agent.system.clock import Clock

if TYPE_CHECKING:
    from agent.peripherals.enable import EnableLine

_log = logging.getLogger(__name__)

# How often the loop shows that it is alive
BEAT_S = 0.25
# Longer than any turn of the loop may take, as short as a board's own lease
STILL_S = 2.0


class EnableLineGuard:
    """The enable lines of one agent; off until `run` is at work, and after it.

    Args:
        still_s: the loop counts as standing still after so long.
    """

    def __init__(
        self,
        lines: Sequence["EnableLine"],
        stop: EmergencyStop,
        clock: Clock,
        still_s: float = STILL_S,
    ) -> None:
        self._lines = lines
        self._stop = stop
        self._clock = clock
        self._still_s = still_s
        self._is_on = False
        self._trouble = ""
        self._is_running = False
        self._beaten_at_s = clock.monotonic_s()
        # The loop and the thread both switch
        self._switching = threading.Lock()
        self._over = threading.Event()
        stop.listen(self._settle, self._settle)

    async def run(self) -> None:
        """Until cancelled."""
        if not self._lines:
            return
        self._is_running = True
        watching = threading.Thread(target=self._watch, name="enabling", daemon=True)
        self._beat()
        watching.start()
        try:
            while True:
                await self._clock.sleep(BEAT_S)
                self._beat()
        finally:
            self._is_running = False
            self._over.set()
            self._settle()

    def close(self) -> None:
        """Off for good."""
        for line in self._lines:
            try:
                line.close()
            except PinRefused as err:
                _log.error("enable lines: %s", err)

    def _beat(self) -> None:
        self._beaten_at_s = self._clock.monotonic_s()
        self._settle()

    def _watch(self) -> None:
        while not self._over.wait(min(BEAT_S, self._still_s / 4)):
            if self._is_on and self._stands_still():
                _log.error("enable lines: the agent hangs, so the outputs lose power")
                self._settle()

    def _stands_still(self) -> bool:
        return self._clock.monotonic_s() - self._beaten_at_s > self._still_s

    def _settle(self) -> None:
        with self._switching:
            is_well = self._is_running and not self._stop.is_set and not self._stands_still()
            if is_well == self._is_on and not self._trouble:
                return
            self._is_on = is_well
            # The next beat tries again; what fails must not keep a stop from all that it stops
            told = "; ".join(filter(None, [_switched(line, on=is_well) for line in self._lines]))
            if told != self._trouble:
                _log.error("enable lines: %s", told or "as it should be again")
            self._trouble = told


def _switched(line: "EnableLine", *, on: bool) -> str:
    """Switch the lines; return what went wrong."""
    try:
        line.switch(on=on)
    except PinRefused as err:
        return str(err)
    return ""


def open_enable_lines(gpios: Sequence[int]) -> list["EnableLine"]:
    """A line for each GPIO.

    Raises:
        ConfigRefused: one of them cannot be driven here.
    """
    if not gpios:
        return []
    from agent.peripherals.enable import open_line  # noqa: PLC0415 - only where a pin is named

    return [open_line(gpio) for gpio in gpios]
