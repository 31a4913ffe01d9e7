"""Turns of the agent and of the floor, one after the other, and what the agent used for them."""

import asyncio
import time
from dataclasses import dataclass, field
from pathlib import Path

from agent.embeddings.base import TextPassage
from agent.embeddings.onnx import OnnxEmbedder
from scripts.lib.bench.flow_agent import Both
from scripts.lib.bench.process import Used
from scripts.lib.bench.turn_service import ANSWER
from tests.fakes.telegram_server import TelegramServer

# Of every kind of turn, before anything is measured: files are open, and the history has its length
WARM_UP = 20
LIMIT_S = 60.0
AT_ONCE = 200
READINGS = 50
_LOOK_S = 0.0002
# What follows an answer is over by then: the agent has written that it was sent
_SETTLED_S = 0.3
# Told apart by the service, which has `tool` call one
ASKED = {
    "plain": "Is everything all right with lamp {number}?",
    "tool": "Ask the tool for lamp {number}, please.",
}


@dataclass
class Taken:
    """Seconds of turns of one kind, and of the floor's beside them."""

    turn_s: list[float] = field(default_factory=list)
    floor_s: list[float] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Spent:
    """Resources of one turn, from many in a row; without the pauses between them."""

    cpu_s: float
    written_bytes: float


async def start(both: Both) -> tuple[float, float]:
    """Start the agent; return the seconds and the CPU seconds until its first poll."""
    both.agents.calls.clear()
    begun_s = time.perf_counter()
    await asyncio.to_thread(both.agent.start)
    async with asyncio.timeout(LIMIT_S):
        while not both.agents.called("getUpdates"):  # noqa: ASYNC110 - the server has no event for it
            await asyncio.sleep(_LOOK_S)
    return time.perf_counter() - begun_s, both.agent.used.cpu_s


async def in_turns(both: Both, turns: int) -> dict[str, Taken]:
    """Turns of every kind, the agent's and the floor's in rotation."""
    taken = {kind: Taken() for kind in ASKED}
    for number in range(turns):
        for kind, asked in ASKED.items():
            text = asked.format(number=number)
            taken[kind].turn_s.append(await turn(both.agents, text))
            await asyncio.sleep(_SETTLED_S / 10)
            taken[kind].floor_s.append(await turn(both.floors, text))
    return taken


async def in_a_row(both: Both, kind: str, turns: int) -> Spent:
    """Turns of one kind without a pause, with all that follows the last."""
    await asyncio.sleep(_SETTLED_S)
    before = both.agent.used
    for number in range(turns):
        await turn(both.agents, ASKED[kind].format(number=number))
    await asyncio.sleep(_SETTLED_S)
    after = both.agent.used
    return Spent(
        (after.cpu_s - before.cpu_s) / turns, (after.written_bytes - before.written_bytes) / turns
    )


async def reading_cpu_s(model: Path) -> float:
    """Return the CPU seconds of one reading by the embedding model, which a turn has some of."""
    embedder = OnnxEmbedder(model)
    passage = TextPassage(ASKED["plain"].format(number=1), ANSWER)
    await embedder.read([passage])
    begun_s = time.process_time()
    for _ in range(READINGS):
        await embedder.read([passage])
    spent_s = time.process_time() - begun_s
    await embedder.aclose()
    return spent_s / READINGS


async def turn(server: TelegramServer, text: str) -> float:
    """Seconds from the platform's having a message to its being asked to send the answer."""
    server.calls.clear()
    server.world.drafts.clear()
    sent = len(server.world.sent)
    begun_s = asyncio.get_running_loop().time()
    await server.world.write(text)
    await _sent(server, sent + 1)
    if ANSWER not in (said := str(server.world.sent[-1].get("text"))):
        raise RuntimeError(f"it did not answer as the model did: {said}")
    return next(one.at_s for one in server.calls if one.method == "sendMessage") - begun_s


async def at_once(both: Both) -> float:
    """Messages per second, of several people who all write at once."""
    server = both.agents
    sent = len(server.world.sent)
    begun_s = time.perf_counter()
    for number in range(AT_ONCE):
        await server.world.write(f"at once {number}", both.people[number % len(both.people)])
    await _sent(server, sent + AT_ONCE)
    return AT_ONCE / (time.perf_counter() - begun_s)


async def idle(both: Both, seconds: float) -> tuple[float, float, Used]:
    """Return the wake-ups and the CPU seconds of a second without messages, and what is used."""
    before = both.agent.used
    await asyncio.sleep(seconds)
    after = both.agent.used
    return (after.waits - before.waits) / seconds, (after.cpu_s - before.cpu_s) / seconds, after


async def _sent(server: TelegramServer, number: int) -> None:
    async with asyncio.timeout(LIMIT_S):
        while len(server.world.sent) < number:  # noqa: ASYNC110 - as above
            await asyncio.sleep(_LOOK_S)
