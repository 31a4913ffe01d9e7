"""Race of model services: a fallback is asked beside a service that says nothing.

The first that says anything answers. The other is given up before a word of it is shown, so one
model alone is read and calls tools.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing

from agent.providers.base import ChatResponse, TextDelta
from agent.providers.candidate import ModelCandidate
from agent.providers.circuit_breaker import CircuitState
from agent.system.clock import Clock

_log = logging.getLogger(__name__)

# Each of them costs money
MOST_AT_ONCE = 2

Items = AsyncGenerator[TextDelta | ChatResponse, None]
# Asks a service, and calls the function at each event of its answer
AskService = Callable[[ModelCandidate, Callable[[], None]], Items]


class Runner:
    """Service in a race: a task reads its answer ahead until it wins or is given up."""

    def __init__(self, candidate: ModelCandidate, ask: AskService) -> None:
        self.candidate = candidate
        # True at the first event of its answer, false at an end without one
        self.spoke: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._read: asyncio.Queue[TextDelta | ChatResponse | None] = asyncio.Queue()
        self._task = asyncio.create_task(self._run(ask(candidate, self._speaks)))

    async def items(self) -> Items:
        """Yield the answer, then raise what ended it; closed early, it gives up."""
        try:
            while (item := await self._read.get()) is not None:
                yield item
            await self._task
        finally:
            await self.give_up()

    async def give_up(self) -> None:
        """Close the connection; what was read is lost."""
        self._task.cancel()
        await asyncio.wait({self._task})
        if not self._task.cancelled():
            # Nobody is to be told any more
            self._task.exception()

    def _speaks(self) -> None:
        if not self.spoke.done():
            self.spoke.set_result(True)

    async def _run(self, answer: Items) -> None:
        try:
            async with aclosing(answer) as items:
                async for item in items:
                    self._speaks()
                    self._read.put_nowait(item)
        finally:
            if not self.spoke.done():
                self.spoke.set_result(False)
            self._read.put_nowait(None)


class Race:
    """Asks services in their order, one beside another that is silent.

    Args:
        beside_after_s: silence after which the next one is asked too; 0 never asks two at once.
    """

    def __init__(
        self,
        candidates: Sequence[ModelCandidate],
        ask: AskService,
        clock: Clock,
        beside_after_s: float,
    ) -> None:
        self._waiting = list(candidates)
        self._ask = ask
        self._clock = clock
        self._beside_after_s = beside_after_s
        # In the order in which they were asked
        self._running: list[Runner] = []

    async def next(self) -> Runner | None:
        """Return the first service that says something or fails; None after the last one."""
        while self._running or self._waiting:
            if not self._running:
                self._start()
            spoken = [runner.spoke for runner in self._running]
            done, _ = await asyncio.wait(
                spoken, timeout=self._patience_s(), return_when=asyncio.FIRST_COMPLETED
            )
            if not done:
                silent = self._running[0].candidate.name
                beside = self._start().candidate.name
                _log.warning("provider: silent (service=%s, asked_too=%s)", silent, beside)
                continue
            first = next(runner for runner in self._running if runner.spoke.done())
            if first.spoke.result():
                await self._give_up_others(first)
            self._running.remove(first)
            return first
        return None

    async def aclose(self) -> None:
        for runner in self._running:
            await runner.give_up()
        self._running.clear()

    def _start(self) -> Runner:
        runner = Runner(self._waiting.pop(0), self._ask)
        self._running.append(runner)
        return runner

    def _patience_s(self) -> float | None:
        """Return the silence after which one more is asked; None if nobody else is to be."""
        if not self._beside_after_s or not self._waiting or len(self._running) >= MOST_AT_ONCE:
            return None
        rests = self._waiting[0].circuit.state(self._clock.monotonic_s()) is CircuitState.OPEN
        return None if rests else self._beside_after_s

    async def _give_up_others(self, first: Runner) -> None:
        others = [runner for runner in self._running if runner is not first]
        is_earlier = self._running[0] is not first
        self._running = [first]
        for runner in others:
            await runner.give_up()
            if is_earlier:
                # Silent three times, it rests: then nobody waits for it first
                runner.candidate.circuit.failed(self._clock.monotonic_s())
        # Asked again only if the first one fails before its first word
        self._waiting = [*(runner.candidate for runner in others), *self._waiting]
