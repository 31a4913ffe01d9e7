"""A light on a board that shows how the agent is: an LED by its rhythm, a NeoPixel also by colour.

Promises: one small call at a time, and only when the look changes; whoever else moves that output
has it until it is off again; the board lets it lapse as any output. It must not tell a person
anything that is not told elsewhere as well.
"""

import asyncio
import contextlib
import enum
import logging
from collections.abc import Callable, Iterable, Mapping

from msgspec import Struct

from agent.errors import LinkError
from agent.link.base import Board, BoardState, Value
from agent.link.manifest import BoardPin, Manifest
from agent.link.settings import BoardSettings
from agent.security.estop import EmergencyStop
from agent.system.activity import Activity
from agent.system.clock import Clock

_log = logging.getLogger(__name__)

# Between two calls: a light must never crowd out what a person asks of the board
LEAST_INTERVAL_S = 0.2
# A lease that lapsed unnoticed has the light back after this
REFRESH_S = 5.0
# A board that is away, or refuses: it is looked at again after this
RETRY_S = 1.0

Colour = tuple[int, int, int]


class LightState(enum.Enum):
    """State of the agent for the light; of several that are true the first counts."""

    # Everything is locked at its safe value, and so is the light: dark
    SAFE = "safe"
    # A question waits for a person
    WAITING = "waiting"
    # A turn is at work
    THINKING = "thinking"
    # A channel does not take messages, so that somebody may speak and not be heard
    DEAF = "deaf"
    # The model's service cannot be reached; what works without it works
    OFFLINE = "offline"
    # Nothing to do
    READY = "ready"


class LightPattern(Struct, frozen=True):
    """A colour, and for how long it is on and off; never off is steady."""

    colour: Colour
    on_s: float = 0.0
    off_s: float = 0.0

    def is_lit(self, since_s: float) -> bool:
        period_s = self.on_s + self.off_s
        return not self.off_s or since_s % period_s < self.on_s

    def next_change_s(self, since_s: float) -> float | None:
        """Return the time until the pattern changes; None for never."""
        if not self.off_s:
            return None
        at_s = since_s % (self.on_s + self.off_s)
        return (self.on_s if at_s < self.on_s else self.on_s + self.off_s) - at_s


# Apart by rhythm alone, for an LED and for people who do not see colours
LOOKS: Mapping[LightState, LightPattern | None] = {
    LightState.SAFE: None,
    LightState.WAITING: LightPattern((48, 32, 0), 0.25, 0.25),
    LightState.THINKING: LightPattern((0, 0, 48), 1.0, 0.5),
    LightState.DEAF: LightPattern((40, 0, 40), 0.3, 1.2),
    LightState.OFFLINE: LightPattern((48, 12, 0), 0.3, 2.7),
    LightState.READY: LightPattern((0, 24, 0)),
}


class LightSigns(Struct, frozen=True):
    """Sources of the light's state."""

    activity: Activity
    stop: EmergencyStop
    is_offline: Callable[[], bool]

    def state(self) -> LightState:
        holds = {
            LightState.SAFE: self.stop.is_set,
            LightState.WAITING: self.activity.questions > 0,
            LightState.THINKING: self.activity.turns > 0,
            LightState.DEAF: bool(self.activity.deaf),
            LightState.OFFLINE: self.is_offline(),
        }
        return next((state for state, is_so in holds.items() if is_so), LightState.READY)


class StatusLight:
    """The light on one board; `run` has to be at work.

    Args:
        pin: the name of an output, a PWM or a chain of NeoPixels.
        pixels: how many of the chain there are.
    """

    def __init__(self, board: Board, pin: str, clock: Clock, pixels: int = 1) -> None:
        self._board = board
        self._pin = pin
        self._clock = clock
        self._pixels = pixels
        self._changed = asyncio.Event()
        self._state = LightState.READY
        self._since_s = clock.monotonic_s()
        self._is_taken = False
        # What the board was told last; None when that is not known to hold any more
        self._shown: Colour | None = None
        self._shown_at_s = 0.0
        self._complained = ""

    def moved(self, pin: str, *, is_at_rest: bool) -> None:
        """Somebody else has set that output: it is theirs until it is at rest."""
        if pin == self._pin:
            self._is_taken = not is_at_rest
            self._shown = None
            self._changed.set()

    async def run(self, signs: LightSigns) -> None:
        """Until cancelled; whoever cancels it makes the outputs safe."""
        signs.activity.listen(self._changed.set)
        signs.stop.listen(self._changed.set, self._changed.set)
        while True:
            self._changed.clear()
            wait_s = await self._turn(signs.state())
            # Rate-limited in any case, then until something changes
            await self._clock.sleep(LEAST_INTERVAL_S)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(max(0.0, wait_s - LEAST_INTERVAL_S)):
                    await self._changed.wait()

    async def _turn(self, state: LightState) -> float:
        """Show the state as it looks now; how long that will do."""
        now_s = self._clock.monotonic_s()
        if state is not self._state:
            self._state, self._since_s = state, now_s
        look = LOOKS[state]
        if look is None or self._board.status.state is not BoardState.READY:
            # Every output has gone to its safe value, whoever had it
            self._shown, self._is_taken = None, False
            return RETRY_S
        if self._is_taken:
            return RETRY_S
        passed_s = now_s - self._since_s
        colour = look.colour if look.is_lit(passed_s) else (0, 0, 0)
        if colour != self._shown or now_s - self._shown_at_s >= REFRESH_S:
            try:
                await self._show(colour)
            except LinkError as err:
                self._complain(str(err))
                return RETRY_S
            self._shown, self._shown_at_s = colour, now_s
        return look.next_change_s(passed_s) or REFRESH_S

    async def _show(self, colour: Colour) -> None:
        manifest = self._board.manifest
        pin = _pin_of(manifest, self._pin)
        call = None if pin is None else _call_for(pin, colour, self._pixels)
        if call is None:
            self._complain(f"there is no output {self._pin} for a light")
            return
        method, arguments = call
        await self._board.call(method, arguments)
        self._complained = ""

    def _complain(self, reason: str) -> None:
        self._shown = None
        if reason != self._complained:
            self._complained = reason
            _log.warning("status light: failed (board=%s, reason=%s)", self._board.name, reason)


def light_on(board: Board, settings: BoardSettings, clock: Clock) -> StatusLight | None:
    """The light that is configured for a board."""
    if not settings.status_light:
        return None
    wired = settings.pins.get(settings.status_light)
    return StatusLight(board, settings.status_light, clock, (wired and wired.count) or 1)


async def shine(lights: Iterable[StatusLight | None], signs: LightSigns) -> None:
    """Every light at work, until cancelled."""
    async with asyncio.TaskGroup() as group:
        for light in lights:
            if light is not None:
                group.create_task(light.run(signs))


def _pin_of(manifest: Manifest | None, name: str) -> BoardPin | None:
    pins = manifest.pins if manifest else ()
    return next((pin for pin in pins if pin.name == name), None)


def _call_for(pin: BoardPin, colour: Colour, pixels: int) -> tuple[str, dict[str, Value]] | None:
    red, green, blue = colour
    if "pixels" in pin.can:
        whole: dict[str, Value] = {"pin": pin.name, "first": 0, "count": pixels}
        return "pixels_write", whole | {"red": red, "green": green, "blue": blue}
    is_lit = any(colour)
    if "pwm" in pin.can:
        return "pwm_write", {"pin": pin.name, "frequency": 0, "duty": 100 if is_lit else 0}
    if "out" in pin.can:
        return "gpio_write", {"pin": pin.name, "value": "on" if is_lit else "off"}
    return None
