"""Orders of the Pi in virtual time: writes with an end, and leases that it goes on renewing.

Runs in `rule_program.py`, beside the firmware's own modules, and imports nothing of the agent. The
firmware decides what a write comes to. The Pi renews in time, so of its renewals only the last one
before a pass is done.
"""

import importlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

# The counter of milliseconds cannot tell much more apart; it is renewed in every pass
_LEASE_MS = 86_400_000
_NO_PIN = -1


class VirtualOrders:
    """Orders that are still to come, and those that hold an output.

    Args:
        board: the virtual one.
        given: the orders by their times: `at_ms`, `index`, `value`, and `for_ms` or 0 for no end.
    """

    def __init__(self, board: Any, given: Sequence[Mapping[str, Any]]) -> None:
        self._board = board
        self._coming = list(enumerate(given))[::-1]
        self._refusal = importlib.import_module("node.calls").Refusal
        # When the Pi brings an output back, by its index
        self._ends: dict[int, int] = {}
        # Bit n: the Pi holds pin n and renews its lease
        self._held = 0
        # Number of the order, begin, end, answer code, and the pin that an interlock waits for
        self.told: list[list[int]] = []
        for one in given:
            board.outputs.find(one["index"]).lease_ms = _LEASE_MS

    @property
    def coming_ms(self) -> Iterator[int]:
        """Yield the times at which the Pi does something by itself."""
        if self._coming:
            yield self._coming[-1][1]["at_ms"]
        yield from self._ends.values()

    def tick(self, at_ms: int, now_ms: int) -> None:
        """Renew what is held, and do what is due."""
        outputs = self._board.outputs
        if self._held:
            self._held &= outputs.renew(self._held, now_ms)
        for index in [index for index, end_ms in self._ends.items() if at_ms >= end_ms]:
            del self._ends[index]
            # What holds it now is not ours
            if self._held & 1 << index:
                outputs.write(index, outputs.find(index).safe, now_ms)
                self._held &= ~(1 << index)
        while self._coming and at_ms >= self._coming[-1][1]["at_ms"]:
            self._do(*self._coming.pop(), at_ms, now_ms)

    def _do(self, number: int, order: Mapping[str, Any], at_ms: int, now_ms: int) -> None:
        index, value = order["index"], order["value"]
        outputs = self._board.outputs
        output = outputs.find(index)
        try:
            outputs.write(index, value, now_ms)
        except self._refusal as refusal:
            self.told.append([number, at_ms, at_ms, refusal.code, _unmet(output)])
            return
        act = [number, at_ms, at_ms, 0, _NO_PIN]
        self.told.append(act)
        self._ends.pop(index, None)
        if value == output.safe:
            self._held &= ~(1 << index)
            return
        self._held |= 1 << index
        self._board.begin(index, act)
        if order["for_ms"]:
            self._ends[index] = at_ms + order["for_ms"]


def _unmet(output: Any) -> int:
    """Return the pin of the first thing that the output needs and does not have."""
    need = output.unmet()
    return _NO_PIN if need is None else int(need[2])
