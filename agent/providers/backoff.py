"""Delay before a service is asked again."""

import random

# The reference's figures: a phone network comes back within a few of these
BASE_S = 0.5
MOST_S = 10.0
# Somebody waits for the answer: a service that wants more is passed over instead
MOST_ASKED_S = 30.0


def wait_s(failures: int, asked_s: float | None, chance: random.Random) -> float:
    """Doubling with jitter, at least what the service asked for.

    Args:
        failures: how often it has failed in a row, from 1.
        asked_s: its own Retry-After.
    """
    span_s = min(MOST_S, BASE_S * 2.0 ** min(failures - 1, 10))
    # Half of it by chance: devices that lost the service together do not come back together
    waited_s = span_s / 2 + chance.random() * span_s / 2
    return max(waited_s, min(asked_s or 0.0, MOST_ASKED_S))
