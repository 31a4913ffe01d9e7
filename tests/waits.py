"""Waits of tests: for something that has to come, and for nothing that may come.

A test never sleeps for as long as something usually takes: it names what it waits for.
"""

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")

# Nearly all comes within milliseconds. The bound is for a machine that does much else at once: an
# agent of its own process then takes several seconds to start, and half of pytest's limit is left
PATIENCE_S = 60.0
# Rare enough to cost nothing, often enough that no test is slower for it
LOOK_S = 0.005


async def wait_until(
    condition: Callable[[], T | Awaitable[T]],
    bound_s: float = PATIENCE_S,
    *,
    look_s: float = LOOK_S,
) -> T:
    """Return what the condition gives as soon as that is true; fail when the bound is over."""
    try:
        async with asyncio.timeout(bound_s) as bound:
            while not (found := await _value_of(condition)):  # noqa: ASYNC110 - of anything
                await asyncio.sleep(look_s)
            return found
    except TimeoutError:
        if not bound.expired():
            raise
        raise AssertionError(_complaint(condition, f"not so within {bound_s:g} s")) from None


def wait_until_sync(
    condition: Callable[[], T],
    bound_s: float = PATIENCE_S,
    *,
    look_s: float = LOOK_S,
    told: Callable[[], object] = str,
) -> T:
    """Do the same in a test without an event loop; `told` is what else may explain a failure."""
    ends_s = time.monotonic() + bound_s
    while not (found := condition()):
        assert time.monotonic() < ends_s, (
            f"{_complaint(condition, f'not so within {bound_s:g} s')}\n{told()}"
        )
        time.sleep(look_s)
    return found


async def stays(
    condition: Callable[[], object | Awaitable[object]], for_s: float, *, look_s: float = LOOK_S
) -> None:
    """Fail as soon as the condition ends before this time is over: what may not happen did."""
    loop = asyncio.get_running_loop()
    ends_s = loop.time() + for_s
    while True:
        assert await _value_of(condition), _complaint(condition, f"no more so within {for_s:g} s")
        if (left_s := ends_s - loop.time()) <= 0:
            return
        await asyncio.sleep(min(look_s, left_s))


def stays_sync(condition: Callable[[], object], for_s: float, *, look_s: float = LOOK_S) -> None:
    """Do the same in a test without an event loop."""
    ends_s = time.monotonic() + for_s
    while True:
        assert condition(), _complaint(condition, f"no more so within {for_s:g} s")
        if (left_s := ends_s - time.monotonic()) <= 0:
            return
        time.sleep(min(look_s, left_s))


async def _value_of(condition: Callable[[], T | Awaitable[T]]) -> T:
    value = condition()
    return await value if inspect.isawaitable(value) else value  # type: ignore[return-value]


def _complaint(condition: Callable[[], object], how: str) -> str:
    """Quote the condition: a bare lambda has no name."""
    try:
        source = " ".join(inspect.getsource(condition).split())
    except (OSError, TypeError):
        source = repr(condition)
    return f"{how}: {source}"
