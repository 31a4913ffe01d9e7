"""Circuit breaker: a service that failed several times in a row rests."""

import enum

# One failure is an accident, two a bad minute
FAILURES_TO_OPEN = 3
FIRST_REST_S = 30.0
# Longer than a restart of a service takes; a person who mends something waits no more than this
LONGEST_REST_S = 300.0


class CircuitState(enum.Enum):
    """State of a circuit breaker."""

    # It is asked
    CLOSED = "closed"
    # It rests: nobody waits for a time limit that is sure to pass
    OPEN = "open"
    # The rest is over: one request finds out
    TRYING = "trying"


class CircuitBreaker:
    """Counts successes and failures of a service; `now_s` is monotonic time in seconds."""

    def __init__(self) -> None:
        self.failures = 0
        self._rest_s = FIRST_REST_S
        self._opens_at_s: float | None = None

    def state(self, now_s: float) -> CircuitState:
        if self._opens_at_s is None:
            return CircuitState.CLOSED
        return CircuitState.OPEN if now_s < self._opens_at_s else CircuitState.TRYING

    def succeeded(self) -> None:
        self.failures = 0
        self._rest_s = FIRST_REST_S
        self._opens_at_s = None

    def failed(self, now_s: float) -> None:
        self.failures += 1
        if self.state(now_s) is CircuitState.TRYING:
            self._rest_s = min(2 * self._rest_s, LONGEST_REST_S)
        if self.failures >= FAILURES_TO_OPEN:
            self._opens_at_s = now_s + self._rest_s
