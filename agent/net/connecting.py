"""Connection to a name by the first of its addresses that answers.

asyncio's own loop does it by itself (`happy_eyeballs_delay`); uvloop, which the agent runs on, asks
one address after the other, and each that leads nowhere takes the whole limit.
"""

import asyncio
import contextlib
import errno
import ipaddress
import os
import socket
import threading
from collections import deque
from collections.abc import Sequence
from functools import partial
from itertools import zip_longest
from typing import Any

# When the next address of a name is tried besides: what a healthy network needs, as RFC 8305 has it
_NEXT_ADDRESS_S = 0.25


class HostLookups:
    """Lookups of names, each on a thread of its own.

    The loop has few threads for them, and uses them for other things: two names whose server says
    nothing would hold up all other hosts, and those of the house are needed just then. A name has
    one thread, however often it is asked for: it may take a minute.
    """

    def __init__(self) -> None:
        self._running: dict[tuple[str, int], asyncio.Future[list[Any]]] = {}

    async def find(self, host: str, port: int) -> list[Any]:
        """Return the addresses, as `socket.getaddrinfo` does.

        Raises:
            OSError: there is none.
        """
        if (known := _as_address(host, port)) is not None:
            return [known]
        running = self._running.get((host, port))
        # Whoever gives up leaves it to the others, and to whoever comes again
        return await asyncio.shield(self._begin(host, port) if running is None else running)

    def _begin(self, host: str, port: int) -> "asyncio.Future[list[Any]]":
        loop = asyncio.get_running_loop()
        running = self._running[host, port] = loop.create_future()
        running.add_done_callback(partial(self._ended, (host, port)))

        def look_up() -> None:
            try:
                found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
                told = partial(running.set_result, found)
            except Exception as err:  # noqa: BLE001 - whoever waits is told
                told = partial(running.set_exception, err)
            # The agent may have ended meanwhile
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(told)

        threading.Thread(target=look_up, name="lookup", daemon=True).start()
        return running

    def _ended(self, key: tuple[str, int], running: "asyncio.Future[list[Any]]") -> None:
        del self._running[key]
        # Perhaps nobody waits any more
        running.exception()


async def reach(lookups: HostLookups, host: str, port: int) -> socket.socket:
    """Return a socket that is connected to the first address that answers.

    Raises:
        OSError: none does.
    """
    found = await lookups.find(host, port)
    failed: list[BaseException] = []
    attempts: set[asyncio.Task[socket.socket]] = set()
    left = deque(_in_turns([(one[0], one[4]) for one in found]))
    try:
        while left or attempts:
            if left:
                attempts.add(asyncio.create_task(_connected(*left.popleft())))
            limit_s = _NEXT_ADDRESS_S if left else None
            done, _ = await asyncio.wait(
                attempts, timeout=limit_s, return_when=asyncio.FIRST_COMPLETED
            )
            for attempt in done:
                if (error := attempt.exception()) is None:
                    attempts.discard(attempt)
                    return attempt.result()
                failed.append(error)
            attempts -= done
    finally:
        for attempt in attempts:
            attempt.add_done_callback(_closed)
            attempt.cancel()
    raise failed[0] if failed else OSError("no address")


def _as_address(host: str, port: int) -> Any:
    """Return what a lookup would find, without one; None for a name."""
    try:
        is_short = ipaddress.ip_address(host).version == 4  # noqa: PLR2004 - the version of the protocol
    except ValueError:
        return None
    family = socket.AF_INET if is_short else socket.AF_INET6
    return family, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (host, port)


def _in_turns(found: Sequence[tuple[int, Any]]) -> list[tuple[int, Any]]:
    """Return the addresses, those of both families in turns: one of them may lead nowhere."""
    first = [one for one in found if one[0] == found[0][0]]
    other = [one for one in found if one[0] != found[0][0]]
    turns = zip_longest(first, other)
    return [one for pair in turns for one in pair if one is not None]


async def _connected(family: int, address: Any) -> socket.socket:
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.settimeout(0)
        await _connect(made, address)
    except BaseException:
        made.close()
        raise
    return made


async def _connect(made: socket.socket, address: Any) -> None:
    # Not `sock_connect`: that of uvloop looks the address up once more, behind all names
    error = made.connect_ex(address)
    if error == errno.EINPROGRESS:
        await _writable(made)
        error = made.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    if error:
        raise OSError(error, os.strerror(error))


async def _writable(connecting: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    is_writable = asyncio.Event()
    loop.add_writer(connecting, is_writable.set)
    try:
        await is_writable.wait()
    finally:
        loop.remove_writer(connecting)


def _closed(attempt: "asyncio.Task[socket.socket]") -> None:
    """Close what came too late."""
    with contextlib.suppress(asyncio.CancelledError, OSError):
        attempt.result().close()
