"""Says things to an agent, and asks the model service the same by itself, in turns.

The agent is the whole one in a folder of its own, with its journal and memory; no board and no
embedding model, which are slow in their own ways.
"""

import asyncio
import contextlib
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import msgspec

from agent.app import build
from agent.channels.base import Abilities
from agent.messaging import outbox
from agent.messaging.dispatcher import Dispatcher
from agent.net.http import FIRST_BYTE_TIMEOUT_S, HttpAnswer, HttpClient, HttpRequest
from agent.settings import Paths, Settings
from agent.storage.worker import DatabaseWorker
from scripts.lib.bench.process import flush_s, rss_bytes, written_bytes
from scripts.lib.bench.turn_service import ANSWER
from tests.fakes.channel import FakeChannel, message

# Most of every kind, before anything is measured: what each needs is loaded, files are open, caches
# filled, and the conversation is as long as it gets. No more than are measured
_WARM_UP = 200
_TOLD_EVERY = 500
_LOOKED_AT_EVERY = 50
# Between two looks whether an answer is marked as sent
_LOOK_S = 0.0005
_TURN_LIMIT_S = 10.0


class _AtTheDevice(FakeChannel):
    """Whoever speaks here is the owner."""

    abilities = Abilities(is_local=True)


@dataclass(frozen=True, slots=True)
class Pair:
    """A turn, and right after it bare requests with the same bodies, and one empty job of a thread.

    On a busy machine it is the jobs that wait.
    """

    turn_s: float
    bare_s: float
    hop_s: float = 0.0


@dataclass
class Taken:
    """Times and sizes of turns of one kind."""

    kind: str
    first_request_bytes: int
    pairs: list[Pair] = field(default_factory=list)
    stored_bytes: float = 0.0
    rss_bytes: list[int] = field(default_factory=list)
    flush_s: list[float] = field(default_factory=list)


async def measured(kinds: dict[str, str], turns: int, folder: Path | None) -> list[Taken]:
    """Turns of each kind with everything in a folder below `folder`; None is the usual place."""
    with _service() as url, tempfile.TemporaryDirectory(prefix="barnacle-", dir=folder) as made:
        agent = build.assemble(_settings(url), Paths(None, Path(made)), {}, sys.stderr)
        channel = _AtTheDevice()
        async with (
            build.at_work(agent, [channel]) as (dispatcher, _, tasks),
            httpx.AsyncClient(headers={"accept-encoding": "identity"}) as bare,
        ):
            posts = Posts(agent.http)
            speaker = Speaker(dispatcher, channel, tasks, posts, bare, agent.journal)
            first_bytes = [await speaker.warm_up(text, turns) for text in kinds.values()]
            scratch = Path(made) / "flushed"
            return [
                await speaker.measure(Taken(kind, first), text, turns, scratch)
                for (kind, text), first in zip(kinds.items(), first_bytes, strict=True)
            ]


class Posts:
    """Keeps what the agent's client sends, and passes it on."""

    def __init__(self, http: HttpClient) -> None:
        self.sent: list[HttpRequest] = []
        self._exchange = http.exchange
        http.exchange = self.exchange  # type: ignore[method-assign]  # the one way to see it

    @contextlib.asynccontextmanager
    async def exchange(
        self, request: HttpRequest, first_byte_timeout_s: float = FIRST_BYTE_TIMEOUT_S
    ) -> AsyncIterator[HttpAnswer]:
        self.sent.append(request)
        async with self._exchange(request, first_byte_timeout_s) as answer:
            yield answer


@dataclass
class Speaker:
    """A person of inhuman patience."""

    dispatcher: Dispatcher
    channel: FakeChannel
    tasks: asyncio.TaskGroup
    posts: Posts
    bare: httpx.AsyncClient
    journal: DatabaseWorker
    said: int = 0

    async def warm_up(self, text: str, turns: int) -> int:
        """Say it often enough for so many turns; return the bytes of the first request."""
        await self._pair(text)
        first_bytes = len(self.posts.sent[0].content)
        for _ in range(min(_WARM_UP, turns)):
            await self._pair(text)
        return first_bytes

    async def measure(self, taken: Taken, text: str, turns: int, scratch: Path) -> Taken:
        written_before = written_bytes()
        for number in range(1, turns + 1):
            taken.pairs.append(await self._pair(text))
            if number % _LOOKED_AT_EVERY == 0 or number == turns:
                taken.rss_bytes.append(rss_bytes())
            if number % _TOLD_EVERY == 0:
                print(f"  {number:,} of {turns:,} turns with {taken.kind}", flush=True)
        taken.stored_bytes = (written_bytes() - written_before) / turns
        taken.flush_s = [flush_s(scratch) for _ in range(_LOOKED_AT_EVERY)]
        return taken

    async def _pair(self, text: str) -> Pair:
        self.posts.sent.clear()
        turn_s = await self._turn(text)
        # Nothing of the turn may go on beside the bare requests
        async with asyncio.timeout(_TURN_LIMIT_S):
            while await self.journal.transact(outbox.undelivered):  # noqa: ASYNC110 - a state on disk
                await asyncio.sleep(_LOOK_S)
        bare_s = await self._repeat()
        began_s = time.perf_counter()
        await asyncio.to_thread(int)
        return Pair(turn_s, bare_s, time.perf_counter() - began_s)

    async def _turn(self, text: str) -> float:
        self.said += 1
        self.channel.sent.clear()
        self.channel.drafts.clear()
        self.channel.arrived.clear()
        began_s = time.perf_counter()
        async with asyncio.timeout(_TURN_LIMIT_S):
            await self.dispatcher.deliver(message(text, f"{self.said}"), self.tasks)
            await self.channel.arrived.wait()
        taken_s = time.perf_counter() - began_s
        if ANSWER not in (said := self.channel.sent[0].text):
            raise RuntimeError(f"the agent did not answer as the model did: {said}")
        return taken_s

    async def _repeat(self) -> float:
        """The same bodies, by the client alone."""
        taken_s = 0.0
        for post in self.posts.sent:
            began_s = time.perf_counter()
            async with self.bare.stream(
                post.method, post.url, headers=dict(post.headers), content=post.content
            ) as answer:
                async for _piece in answer.aiter_raw():
                    pass
            taken_s += time.perf_counter() - began_s
        return taken_s


def _settings(url: str) -> Settings:
    return msgspec.convert(
        {
            "provider": {"base_url": f"{url}/v1", "model": "fake-model"},
            # Its work is done when nobody speaks
            "memory": {"consolidate": False},
            "embeddings": {"provider": "none"},
            "log": {"level": "error"},
        },
        Settings,
    )


@contextlib.contextmanager
def _service() -> Iterator[str]:
    command = [sys.executable, str(Path(__file__).parents[1]), "bench.turn_service"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.kill()
