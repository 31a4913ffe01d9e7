"""Leaps in virtual time: the passes of the board's loop without those in which nothing can change.

Runs in `rule_program.py`, beside the firmware's own modules, and imports nothing of the agent.
"""

import importlib
from collections.abc import Iterator
from typing import Any

# The firmware's pass when nothing arrives
PASS_MS = 10
# The board's counter of milliseconds cannot tell longer times apart
_LONGEST_LEAP_MS = 86_400_000
_SECOND_MS = 1000
_MINUTE_MS = 60_000


class Leaps:
    """Passes over a history, without those in which nothing can change.

    A round is as many passes as every rule needs to have its turn and the turn to come back to the
    first. Rounds are done until one changes nothing; then nothing changes before the next wake.
    """

    def __init__(self, board: Any) -> None:
        self._board = board
        count = len(board.active)
        self._passes = max(1, count if count % 2 else count // 2)
        self._round = 0
        self._handled_ms = -1
        # Rules that are refused again and again, by what was so when they were
        self._stalled: dict[int, object] = {}

    def run(self) -> None:
        self._settle()
        while not self._board.is_enough:
            wake_ms = self._wake_ms()
            if wake_ms >= self._board.length_ms:
                break
            self._retry_before(wake_ms)
            self._go(wake_ms)
        if not self._board.is_enough:
            self._board.at_ms = self._board.length_ms

    def _go(self, wake_ms: int) -> None:
        """Do the round that the time is in, and those after it that change something."""
        # The first pass that is not before it
        at = max(1, -(-wake_ms // PASS_MS))
        self._round = max(self._round, (at - 1) // self._passes)
        before = self._signature()
        self._do_round()
        # Every rule has seen it, and nothing came of it
        if wake_ms > self._handled_ms or before != self._signature():
            self._settle()

    def _settle(self) -> None:
        before: object = None
        while before != (before := self._signature()):
            self._do_round()

    def _do_round(self) -> None:
        board = self._board
        first = self._round * self._passes + 1
        before = self._quiet() if self._is_any_refused() else None
        waits = [(rule.not_before_s, rule.fired) for rule in board.rules]
        for number in range(first, first + self._passes):
            if number * PASS_MS < board.length_ms:
                board.step(number * PASS_MS)
        self._round += 1
        self._handled_ms = first * PASS_MS
        if before is None or before != self._quiet():
            return
        for number, rule in enumerate(board.rules):
            wait_s, fired = waits[number]
            if rule.not_before_s != wait_s and rule.fired == fired:
                self._stalled[number] = before

    def _is_any_refused(self) -> bool:
        return any(rule._is_refused for rule in self._board.rules)  # noqa: SLF001 - as below

    def _retry_before(self, wake_ms: int) -> None:
        """Let rules that are refused every second try at the last second before that time."""
        second_ms = wake_ms // _SECOND_MS * _SECOND_MS
        if second_ms > self._handled_ms and self._is_any_refused() and self._is_any_stalled():
            self._go(second_ms)

    def _is_any_stalled(self) -> bool:
        quiet = self._quiet()
        return any(one == quiet for one in self._stalled.values())

    def _wake_ms(self) -> int:
        """Return the next time at which something may change."""
        board = self._board
        times: list[int] = [board.at_ms + _LONGEST_LEAP_MS, *board.orders.coming_ms]
        change_ms = board.next_change_ms(self._handled_ms)
        if change_ms is not None:
            times.append(change_ms)
        quiet = self._quiet()
        for number, rule in enumerate(board.rules):
            if rule._progress == 1:  # noqa: SLF001 - the firmware's own state, as below
                times.append(self._absolute(rule._since_ms) + rule._numbers[6])  # noqa: SLF001
            elif rule._progress and self._stalled.get(number) != quiet:  # noqa: SLF001
                times.append(rule.not_before_s * _SECOND_MS)
        for output in board.outputs._table:  # noqa: SLF001
            if output is not None:
                times += self._ends(output)
        return min(times)

    def _ends(self, output: Any) -> Iterator[int]:
        limits = output.limits
        if output.read() != output.safe:
            yield self._absolute(output.ends_ms)
            if limits.max_on_ms:
                early_ms = importlib.import_module("node.limits").EARLY_MS
                yield self._absolute(limits._on_ms) + limits.max_on_ms - early_ms  # noqa: SLF001
        if limits._is_resting:  # noqa: SLF001
            yield self._absolute(limits._off_ms) + limits._min_off_ms  # noqa: SLF001
        if limits._count:  # noqa: SLF001
            yield self._absolute(limits._switches_ms[limits._first]) + _MINUTE_MS  # noqa: SLF001

    def _absolute(self, ticks: int) -> int:
        """Return the time of a counter that goes around."""
        half = 1 << 29
        away = (ticks - self._board.at_ms + half) % (1 << 30) - half
        return int(self._board.at_ms + away)

    def _signature(self) -> tuple[object, ...]:
        rules = tuple((rule.fired, rule.refused, rule.not_before_s) for rule in self._board.rules)
        return (rules, len(self._board.orders.told), *self._quiet())

    def _quiet(self) -> tuple[object, ...]:
        """Return all that a refusal depends on."""
        board = self._board
        leased = board.outputs.leased
        outputs = tuple(
            # What the Pi renews in every pass ends at no time of its own
            (one.read(), not leased & 1 << at and one.ends_ms, *_pauses(one.limits))
            for at, one in enumerate(board.outputs._table)  # noqa: SLF001
            if one is not None
        )
        holding = tuple((rule._holds, rule._progress) for rule in board.rules)  # noqa: SLF001
        return (outputs, holding, board.outputs.held, board.changes_until(board.at_ms))


def _pauses(limits: Any) -> tuple[bool, int]:
    """Return what an output may have to wait for before it is switched on."""
    return limits._is_resting, limits._count  # noqa: SLF001 - the firmware's own state
