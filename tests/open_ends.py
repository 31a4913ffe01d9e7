"""What a test leaves open when its event loop ends.

Without this the garbage collector says so, in whatever test runs by then.
"""

import asyncio
from collections.abc import Iterator

import pytest

_close = asyncio.SelectorEventLoop.close
_left_open: list[str] = []


def _look_and_close(loop: asyncio.SelectorEventLoop) -> None:
    if not loop.is_closed():
        # The loop's own list of what it reads and writes: there is no public one
        open_ones = list(loop._transports.values())  # type: ignore[attr-defined]
        _left_open.extend(repr(each) for each in open_ones if not each.is_closing())
        for each in open_ones:
            each.abort()
        loop.run_until_complete(asyncio.sleep(0))
        own = loop._ssock.fileno()  # type: ignore[attr-defined]
        read = loop._selector.get_map().values()  # type: ignore[attr-defined]
        _left_open.extend(f"a reader: {key.data[0]!r}" for key in read if key.fd != own)
    _close(loop)


asyncio.SelectorEventLoop.close = _look_and_close  # type: ignore[method-assign,assignment]


@pytest.fixture(autouse=True)
def nothing_is_left_open() -> Iterator[None]:
    """Fails the test that has done it, by name."""
    _left_open.clear()
    yield
    assert not _left_open, f"still open when the event loop ended: {_left_open}"
