"""Keeps a channel listening: begun again with patience when it fails, or when it has gone deaf.

A channel is well by the age of what it last heard from its platform, never by its task being alive.
Nothing that a channel does ends the agent.
"""

import asyncio
import enum
import logging
import random
from collections.abc import Awaitable, Callable, Iterable

from agent.channels.base import Channel, Deliver
from agent.errors import BarnacleError, ChannelRefused, ChannelUnavailable
from agent.system.activity import Activity
from agent.system.clock import Clock, rest

_log = logging.getLogger(__name__)

# After the first failure; doubled after each further one, up to a wait that a person bears
FIRST_WAIT_S = 2.0
MAX_WAIT_S = 60.0
# Whoever listened for as long has recovered: the next failure is a first one
HEALTHY_S = 60.0
# A person has to act; this is how soon it is noticed that they did
REFUSED_WAIT_S = 60.0
# Three polls of the longest kind: whoever has heard nothing for as long hears nothing at all
DEAF_S = 90.0
# How often that is looked at, with other looks: noticed within the same minute and a half
LOOK_S = 4.0
# Whoever does not let go within this is left behind: it is deaf and stays said to be
LET_GO_S = 10.0
DEAF_TEXT = f"nothing was received for {DEAF_S:.0f} s"

# Tells the owner; the first is the channel that cannot be used for it
Tell = Callable[[str, str], Awaitable[None]]


class ChannelHealth(enum.Enum):
    """State of listening on a channel."""

    # Not begun
    IDLE = "idle"
    # At it, and the platform was heard of late
    LISTENING = "listening"
    # Not reached; tried again by itself
    AWAY = "away"
    # Final until a person acts; tried again all the same
    REFUSED = "refused"
    # At it, and yet nothing was heard for too long
    DEAF = "deaf"
    # Nobody can write there any more
    OVER = "over"


class _Deaf(BarnacleError):
    """Nothing was heard, though the channel listens."""


class Supervisor:
    """Looks after one channel.

    Args:
        chance: a number from 0 to 1, so that many devices do not come back in one moment.
    """

    def __init__(
        self,
        channel: Channel,
        clock: Clock,
        activity: Activity,
        tell: Tell,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self.channel = channel
        self.hearing = ChannelHealth.IDLE
        self._clock = clock
        self._activity = activity
        self._tell = tell
        self._chance = chance
        self._told = ""
        self._logged = ""
        # When this try to listen began; None between two
        self._begun_s: float | None = None

    def is_healthy(self) -> bool:
        """False where it claims to listen and hears nothing: only a new start may help."""
        return self.hearing is not ChannelHealth.DEAF and not self._is_stale()

    async def run(self, deliver: Deliver) -> None:
        """Listen until nobody can write any more; for ever, on a platform."""
        wait_s = FIRST_WAIT_S
        while True:
            begun_s = self._clock.monotonic_s()
            failure = await self._listen(deliver)
            if failure is None and self.channel.abilities.is_local:
                self._note(ChannelHealth.OVER)
                return
            if self._clock.monotonic_s() - begun_s >= HEALTHY_S:
                wait_s = FIRST_WAIT_S
            await self._explain(failure)
            # Half of it for certain, the rest by chance
            pause_s = wait_s * (1 + self._chance()) / 2
            wait_s = min(2 * wait_s, MAX_WAIT_S)
            if isinstance(failure, ChannelRefused):
                pause_s, wait_s = REFUSED_WAIT_S, FIRST_WAIT_S
            elif isinstance(failure, ChannelUnavailable):
                pause_s = max(pause_s, failure.retry_after_s or 0.0)
            await self._clock.sleep(pause_s)

    async def _listen(self, deliver: Deliver) -> BaseException | None:
        """Listen until the channel ends; return the error, None if it ended by itself."""
        if self.channel.pulse is not None:
            # What was heard before is no sign of life of this try
            self.channel.pulse.beat()
        self._begun_s = self._clock.monotonic_s()
        listening = asyncio.ensure_future(self.channel.listen(deliver))
        watching = asyncio.ensure_future(self._watch())
        both = {listening, watching}
        try:
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            has_ended = listening.done()
        finally:
            self._begun_s = None
            for task in both:
                task.cancel()
            await asyncio.wait(both, timeout=LET_GO_S)
        if has_ended and not listening.cancelled():
            return listening.exception()
        return _Deaf(DEAF_TEXT)

    async def _watch(self) -> None:
        """Return when nothing was heard for too long."""
        while not self._is_stale():
            # Trouble is over when the platform was heard, not when a connection was tried
            if self._has_heard():
                self._note(ChannelHealth.LISTENING)
                self._activity.note_gap(self.channel.name, self.channel.gap)
            await rest(self._clock, LOOK_S)

    def _is_stale(self) -> bool:
        pulse = self.channel.pulse
        return self._begun_s is not None and pulse is not None and pulse.age_s > DEAF_S

    def _has_heard(self) -> bool:
        """Since this try has begun."""
        if self._begun_s is None:
            return False
        pulse, taken_s = self.channel.pulse, self._clock.monotonic_s() - self._begun_s
        if pulse is None:
            # That it did not fail at once has to do
            return self.hearing is ChannelHealth.IDLE or taken_s >= LOOK_S
        return pulse.age_s < taken_s

    async def _explain(self, failure: BaseException | None) -> None:
        name, said = self.channel.name, _in_words(failure)
        if isinstance(failure, _Deaf):
            self._note(ChannelHealth.DEAF, said)
            await self._tell_once(f"{name} receives nothing: {said}. I reconnect.")
        elif isinstance(failure, ChannelRefused):
            self._note(ChannelHealth.REFUSED, said)
            await self._tell_once(f"{name} does not work until you fix this: {said}")
        else:
            self._note(ChannelHealth.AWAY, said)
        is_ours = failure is None or isinstance(failure, BarnacleError)
        # Months without a network would be a line a minute, and each is written to a card
        is_known = is_ours and said == self._logged
        level = logging.DEBUG if is_known else logging.WARNING
        _log.log(level, "%s: %s", name, said, exc_info=None if is_ours else failure)
        self._logged = said

    async def _tell_once(self, text: str) -> None:
        """The same trouble again is no news."""
        if text != self._told:
            self._told = text
            await self._tell(self.channel.name, text)

    def _note(self, hearing: ChannelHealth, trouble: str = "") -> None:
        if hearing is ChannelHealth.LISTENING and self.hearing is not hearing:
            _log.info("%s: connected", self.channel.name)
            self._told = self._logged = ""
        self.hearing = hearing
        self._activity.note_trouble(self.channel.name, trouble)


def is_healthy(supervisors: Iterable[Supervisor]) -> bool:
    """Return true if a watchdog may be told that all is well."""
    return all(supervisor.is_healthy() for supervisor in supervisors)


def _in_words(failure: BaseException | None) -> str:
    if failure is None:
        return "it stopped listening"
    return (
        str(failure) if isinstance(failure, BarnacleError) else "it failed; the log has the details"
    )
