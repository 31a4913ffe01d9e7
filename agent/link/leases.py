"""Which outputs this agent holds, as bits of the wire format's masks.

Only what was switched on in this session is ever renewed: a lease that ended stays ended.
"""

from agent.link.manifest import Manifest

# A lease is renewed this many times while it runs, so that three may be lost
RENEWALS_PER_LEASE = 4
# A board that asks for more is renewed no faster: its link could do nothing else
MIN_LEASE_MS = 200


class Leases:
    """The outputs held in one session."""

    def __init__(self) -> None:
        self.held = 0

    def hold(self, bits: int) -> None:
        self.held |= bits

    def renewed(self, asked: int, granted: int) -> int:
        """Keep what the board granted of what it was asked; the bits that were lost."""
        lost = asked & ~granted & self.held
        self.held &= ~lost
        return lost


def renewal_interval_s(manifest: Manifest, lease_ms: int) -> float:
    """How often to renew so that the shortest lease of any output holds."""
    outputs = [pin.lease_ms for pin in manifest.pins_that_can("out")]
    shortest_ms = max(MIN_LEASE_MS, min([lease_ms, *outputs]))
    return shortest_ms / 1000 / RENEWALS_PER_LEASE
