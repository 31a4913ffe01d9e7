"""An event loop whose time jumps to the next timer: minutes of back-off pass in milliseconds.

What a thread would do is done at once, so that no virtual time passes meanwhile.
"""

import asyncio
import functools
import selectors
from collections.abc import Callable, Coroutine
from typing import Any, ParamSpec

P = ParamSpec("P")


class _JumpingSelector(selectors.DefaultSelector):
    """Never waits: with nothing ready it moves the time on by as much as it would have waited."""

    now_s = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if not ready and timeout is None:
            raise RuntimeError("nothing is ready and no timer is set: the test would wait for ever")
        if not ready:
            self.now_s += timeout or 0.0
        return ready


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """A loop for tests of what takes time but no files."""

    def __init__(self) -> None:
        self._jumping = _JumpingSelector()
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.now_s

    def run_in_executor(self, executor: Any, func: Any, *args: Any) -> Any:
        future = self.create_future()
        try:
            future.set_result(func(*args))
        except OSError as err:
            future.set_exception(err)
        return future


class LoopClock:
    """The running loop's own time as a `Clock`."""

    def monotonic_s(self) -> float:
        return asyncio.get_running_loop().time()

    def wall_s(self) -> float:
        return 1_800_000_000.0 + self.monotonic_s()

    async def sleep(self, duration_s: float) -> None:
        await asyncio.sleep(duration_s)


async def elapse(duration_s: float) -> None:
    """Let so much time of a virtual loop pass: it costs none of the real one."""
    assert isinstance(asyncio.get_running_loop(), VirtualTimeLoop), "this test runs in real time"
    await asyncio.sleep(duration_s)


def in_virtual_time(test: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, None]:
    """Run an async test in a virtual-time loop of its own."""

    @functools.wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
            runner.run(test(*args, **kwargs))

    return run
