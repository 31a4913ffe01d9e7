"""The rate of the line: raised when the board agrees, and back by itself when that goes wrong.

Time is told; nothing is sent or set here. A rate that failed is not tried again: a new connection
has a new one of these.
"""

import enum

from msgspec import Struct

# What both ends of a serial line can be set to, by the kernel's names
RATES = (230_400, 460_800, 921_600)
# Beyond this, an interrupt for every byte leaves a board little time for anything else
TOP_BAUD = 921_600
# A board between two passes of its loop answers within 20 ms; an older one never does
RATE_ANSWER_S = 0.25
# The board sets its UART after the last bit of its answer
SETTLE_S = 0.01
# Ten of these fit into the silence that ends the attempt
TRIAL_PING_S = 0.1
# The board's own patience is the same: nothing valid for so long, and both are where they began
RATE_SILENCE_S = 1.0


class Rates(Struct, frozen=True):
    """Rates of a port: at opening and at most; 0 is unknown."""

    start: int = 0
    top: int = 0


class RateState(enum.Enum):
    """Progress of a change of the rate."""

    # A higher one is possible and was not asked for yet
    WANTED = "wanted"
    # The board was asked, at the start rate
    OFFERED = "offered"
    # It agreed; both have switched, and nothing was heard since
    TRIED = "tried"
    # It was heard at the new rate
    RAISED = "raised"
    # At the start rate for good: nothing higher is possible, agreed on, or works
    SETTLED = "settled"


class RateStep(enum.Enum):
    """Next action of the session in a change of the rate."""

    NOTHING = "nothing"
    # Ask for `baud_wanted`
    OFFER = "offer"
    # Say something that will be answered, at the rate that it is now
    PING = "ping"


class LineRate:
    """The rate of one connection."""

    def __init__(self, rates: Rates) -> None:
        self.baud = rates.start
        self.wanted_baud = max((one for one in RATES if one <= rates.top), default=0)
        # Whether the last thing that was heard says at which rate the board is
        self.is_sure = True
        self._start_baud = rates.start
        is_possible = self.wanted_baud > rates.start > 0
        self.state = RateState.WANTED if is_possible else RateState.SETTLED
        # When something is due, while it is
        self.due_at_s: float | None = None
        self._silent_from_s = 0.0

    @property
    def is_pending(self) -> bool:
        """True if everything else must wait because the two ends may differ."""
        return self.state is RateState.OFFERED or self.state is RateState.TRIED

    def step(self, now_s: float) -> RateStep:
        """Return the action that is due."""
        if self.state is RateState.WANTED:
            self.state, self.is_sure = RateState.OFFERED, False
            self.due_at_s = now_s + RATE_ANSWER_S
            return RateStep.OFFER
        if self.due_at_s is None or now_s < self.due_at_s:
            return RateStep.NOTHING
        if self.state is RateState.OFFERED:
            # Should it have agreed all the same, it is back within a second
            self._settle()
        elif now_s >= self._silent_from_s + RATE_SILENCE_S:
            self.is_sure = False
            self._settle()
            return RateStep.PING
        elif self.state is RateState.TRIED:
            self.due_at_s = min(now_s + TRIAL_PING_S, self._silent_from_s + RATE_SILENCE_S)
            return RateStep.PING
        return RateStep.NOTHING

    def answered(self, baud: int, now_s: float) -> None:
        """The board has agreed to a rate, at most the one that it was asked for; 0 is no."""
        if self.state is not RateState.OFFERED:
            return
        if baud in RATES and self._start_baud < baud <= self.wanted_baud:
            self.state, self.baud = RateState.TRIED, baud
            self.due_at_s, self._silent_from_s = now_s + SETTLE_S, now_s
        else:
            self.is_sure = baud == 0
            self._settle()

    def heard(self, now_s: float) -> bool:
        """A valid frame has come; whether only now it is certain at which rate the board is."""
        if self.state is RateState.TRIED:
            self.state = RateState.RAISED
        self.excuse(now_s)
        was_sure, self.is_sure = self.is_sure, self.state is not RateState.OFFERED
        return self.is_sure and not was_sure

    def excuse(self, until_s: float) -> None:
        """The board has said that it will be silent until then."""
        self._silent_from_s = max(self._silent_from_s, until_s)
        if self.state is RateState.RAISED:
            # Put off by each frame: a look that finds it not yet due would be a wake-up for nothing
            self.due_at_s = self._silent_from_s + RATE_SILENCE_S

    def _settle(self) -> None:
        self.state, self.baud, self.due_at_s = RateState.SETTLED, self._start_baud, None
