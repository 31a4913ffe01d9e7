"""On-time of outputs after the agent is killed, stopped, cut off or blocked.

Many boards and agents side by side, all with the board's own lease. The time is that of the
record, against the clock read just before the blow: too long, never too short.
"""

import itertools
import os
import random
import select
import signal
import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from scripts.lib.bench import keeper
from scripts.lib.bench.boards import ROWS, boards
from scripts.lib.bench.table import Row
from tests.fakes.board_sim import BoardSim

GRACE_MS = 50
LEASE_MS = next(row for row in ROWS if row["name"] == "led").get("lease_ms", 2_000)
BLOWS = {
    "kill -9": signal.SIGKILL,
    "SIGSTOP": signal.SIGSTOP,
    "closed port": keeper.CLOSE,
    "blocked loop": keeper.BLOCK,
}
# Together they use half of what a small machine has
_SIDE_BY_SIDE = 16
# A greeting and a call take milliseconds; many at once on a busy machine take longer
_CONFIRM_LIMIT_S = 15.0
# Blows fall at every moment between two renewals, and some after several
_HELD_AT_MOST_S = 1.2
# A miss is waited for, so that its time can be told
_PATIENCE_S = LEASE_MS / 1000 + 3.0
_LOOK_S = 0.05
# Of the record, when the lamp stays on: enough to see what the board did, and whether it lived
_TOLD_EVENTS = 8
# A few are the machine's; more than there are trials are a lamp that nobody keeps on
_MOST_VOID = 32


@dataclass(frozen=True, slots=True)
class Trial:
    """One agent's end; `safe_ms` is None when the output was not safe after all.

    It is void when the lamp was off before the blow: on a machine so busy that the agent was not
    heard for half a second, there was nothing left to make safe.
    """

    blow: str
    safe_ms: float | None
    is_void: bool = False

    @property
    def is_missed(self) -> bool:
        return self.safe_ms is None or self.safe_ms > LEASE_MS + GRACE_MS


def measure(count: int, seed: int = 1) -> Row:
    """The row of the safe state."""
    trials = list(run(count, seed))
    for line in by_blow(trials):
        print(f"  {line}", flush=True)
    misses = sum(trial.is_missed for trial in trials)
    taken = [trial.safe_ms for trial in trials if trial.safe_ms is not None]
    return Row(
        ", ".join(BLOWS),
        f"outputs safe within the lease + {GRACE_MS} ms, 0 misses",
        f"{misses} misses in {len(trials):,}, worst {max(taken):.0f} ms",
        f"the lease is {LEASE_MS:,} ms; median {statistics.median(taken):.0f} ms",
        misses == 0,
    )


def by_blow(trials: Sequence[Trial]) -> Iterator[str]:
    """A line for each way to end an agent."""
    for blow in BLOWS:
        mine = [trial for trial in trials if trial.blow == blow]
        taken = [trial.safe_ms for trial in mine if trial.safe_ms is not None]
        if taken:
            yield (
                f"{blow}: {len(mine)} trials, {sum(trial.is_missed for trial in mine)} misses,"
                f" median {statistics.median(taken):.0f} ms, worst {max(taken):.0f} ms"
            )


def run(count: int, seed: int) -> Iterator[Trial]:
    """That many trials, the blows in equal parts."""
    chance = random.Random(seed)  # noqa: S311 - moments that can be repeated
    due = list(itertools.islice(itertools.cycle(BLOWS), count))
    void = 0
    with boards(min(_SIDE_BY_SIDE, count)) as sims:
        while due:
            side = sims[: len(due)]
            blows, due = due[: len(side)], due[len(side) :]
            for trial in _round(side, blows, chance):
                if trial.is_void:
                    due.append(trial.blow)
                    void += 1
                else:
                    yield trial
            told = f"{count - len(due)} of {count} trials, {void} void and repeated"
            print(f"\r  safe state: {told}", end="", flush=True)
            if void > max(_MOST_VOID, count):
                raise RuntimeError("the lamp does not stay on: the machine is too busy to measure")
    print()


def _round(sims: Sequence[BoardSim], blows: Sequence[str], chance: random.Random) -> list[Trial]:
    agents = [keeper.fork(sim.port, sim.port.parent) for sim in sims]
    try:
        for process, pipe in agents:
            _confirm(process, pipe)
        fallen_ms = _strike([process for process, _ in agents], blows, chance)
        ends = zip(sims, blows, fallen_ms, strict=True)
        give_up_s = time.monotonic() + _PATIENCE_S
        return [_trial(sim, blow, at_ms, give_up_s) for sim, blow, at_ms in ends]
    finally:
        for process, pipe in agents:
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
            os.close(pipe)


def _confirm(process: int, pipe: int) -> None:
    ready, _, _ = select.select([pipe], [], [], _CONFIRM_LIMIT_S)
    if not ready or os.read(pipe, 1) != b"+":
        raise RuntimeError(f"the agent {process} did not switch its lamp on")


def _strike(
    processes: Sequence[int], blows: Sequence[str], chance: random.Random
) -> Sequence[float]:
    fallen_ms = [0.0] * len(processes)
    moments = sorted((chance.uniform(0, _HELD_AT_MOST_S), at) for at in range(len(processes)))
    began_s = time.monotonic()
    for moment_s, at in moments:
        time.sleep(max(0.0, began_s + moment_s - time.monotonic()))
        fallen_ms[at] = time.monotonic() * 1000
        os.kill(processes[at], BLOWS[blows[at]])
    return fallen_ms


def _trial(sim: BoardSim, blow: str, fallen_ms: float, give_up_s: float) -> Trial:
    while True:
        # Looked at once at least: one board that keeps the others waiting is not their miss
        is_last = time.monotonic() >= give_up_s
        value, at_ms = sim.changes("led")[-1]
        if value == 0:
            return Trial(blow, at_ms - fallen_ms, is_void=at_ms < int(fallen_ms))
        if is_last:
            print(f"\n  still on after {blow}: {sim.record()[-_TOLD_EVENTS:]}", flush=True)
            return Trial(blow, None)
        time.sleep(_LOOK_S)
