"""Measures a message's way through the whole agent, from a platform and back to it.

The platform is the Bot API server of the tests, the model answers at once, all of it is kept on
disk. Beside every turn the same two HTTP calls are made bare, in the same loop, to such a server:
a poll that waits for the message, and the sending of the answer.
"""

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from scripts.lib.bench.flow_agent import ANSWER, Both, opened
from scripts.lib.bench.process import written_bytes
from scripts.lib.bench.table import Row, show
from tests.fakes.telegram_server import TelegramServer

ADDED_BUDGET_MS = 10.0
STORED_BUDGET_BYTES = 24 * 1024
# The last turns of a long session may take this much longer than the first, which is what a busy
# machine adds; a cost that grows with the session would add more
FLAT_BUDGET = 1.5
TURNS, QUICK_TURNS = 1_000, 150
WARM_UP = 30
AT_ONCE = 200
LIMIT_S = 60.0
_LOOK_S = 0.0002
_TENTH = 10


@dataclass
class Taken:
    """Seconds of every turn and of the bare calls beside it."""

    turn_s: list[float] = field(default_factory=list)
    bare_s: list[float] = field(default_factory=list)
    stored_bytes: float = 0.0
    per_s: float = 0.0

    @property
    def added_ms(self) -> list[float]:
        return [(t - b) * 1e3 for t, b in zip(self.turn_s, self.bare_s, strict=True)]


def main(arguments: Sequence[str]) -> int:
    """Measure, print, and say by the exit status whether every bar is held."""
    parser = argparse.ArgumentParser(prog="bench-flow", description=__doc__)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_TURNS} turns, in seconds")
    parser.add_argument("--turns", type=int, default=TURNS, help=f"default {TURNS:,}")
    given = parser.parse_args(arguments)
    taken = asyncio.run(_measured(QUICK_TURNS if given.quick else given.turns))
    rows = list(_rows(taken))
    print()
    show(rows)
    return 0 if all(row.held is not False for row in rows) else 1


async def _measured(turns: int) -> Taken:
    taken = Taken()
    with tempfile.TemporaryDirectory(prefix="barnacle-") as made:
        async with opened(Path(made)) as both:
            for number in range(WARM_UP):
                await _pair(both, f"warm up {number}", Taken())
            before = written_bytes()
            for number in range(turns):
                await _pair(both, f"message {number} of a long session", taken)
            taken.stored_bytes = (written_bytes() - before) / turns
            taken.per_s = await _at_once(both)
    return taken


async def _pair(both: Both, text: str, taken: Taken) -> None:
    taken.turn_s.append(await _turn(both.agents, text))
    bare = asyncio.ensure_future(both.bare())
    # The poll waits, as the agent's does
    await asyncio.sleep(_LOOK_S)
    taken.bare_s.append(await _turn(both.own, text))
    await bare


async def _turn(server: TelegramServer, text: str) -> float:
    """From the platform's having a message to its being asked to send the answer."""
    server.calls.clear()
    sent = len(server.world.sent)
    begun_s = asyncio.get_running_loop().time()
    await server.world.write(text)
    async with asyncio.timeout(LIMIT_S):
        while len(server.world.sent) == sent:  # noqa: ASYNC110 - the server has no event for it
            await asyncio.sleep(_LOOK_S)
    if ANSWER not in (said := str(server.world.sent[-1].get("text"))):
        raise RuntimeError(f"the agent did not answer as the model did: {said}")
    return next(one.at_s for one in server.calls if one.method == "sendMessage") - begun_s


async def _at_once(both: Both) -> float:
    """Messages per second, of several people who all write at once."""
    server = both.agents
    sent = len(server.world.sent)
    begun_s = time.perf_counter()
    for number in range(AT_ONCE):
        await server.world.write(f"at once {number}", both.people[number % len(both.people)])
    async with asyncio.timeout(LIMIT_S):
        while len(server.world.sent) < sent + AT_ONCE:  # noqa: ASYNC110 - as above
            await asyncio.sleep(0.005)
    return AT_ONCE / (time.perf_counter() - begun_s)


def _rows(taken: Taken) -> Iterator[Row]:
    added, turns = sorted(taken.added_ms), len(taken.turn_s)
    bare_ms = statistics.median(taken.bare_s) * 1e3
    p50, p99 = statistics.median(added), added[int(len(added) * 0.99)]
    yield Row(
        "what the agent adds to a message's way, p50",
        f"<= {ADDED_BUDGET_MS:g} ms",
        f"{p50:.2f} ms ({turns:,} turns, kept on disk)",
        f"{bare_ms:.2f} ms (the same two HTTP calls, bare, in turns)",
        p50 <= ADDED_BUDGET_MS,
    )
    yield Row("the same, p99", "-", f"{p99:.2f} ms", f"{bare_ms:.2f} ms at p50", None)
    tenth = max(1, turns // _TENTH)
    first, last = (statistics.median(taken.added_ms[part]) for part in _ends(tenth))
    yield Row(
        f"the last tenth of {turns:,} turns of one session",
        f"<= {FLAT_BUDGET:g}x the first",
        f"{last / first:.2f}x ({last:.2f} ms)",
        f"{first:.2f} ms in the first tenth",
        last <= FLAT_BUDGET * first,
    )
    yield Row(
        "bytes to storage for each turn",
        f"<= {STORED_BUDGET_BYTES:,}",
        f"{taken.stored_bytes:,.0f}",
        "0 (the bare calls keep nothing)",
        taken.stored_bytes <= STORED_BUDGET_BYTES,
    )
    yield Row("messages of 8 people at once", "-", f"{taken.per_s:.0f} per second", "", None)


def _ends(tenth: int) -> tuple[slice, slice]:
    return slice(tenth), slice(-tenth, None)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
