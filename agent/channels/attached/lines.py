"""One connection, a line at a time; nothing longer than the limit is ever held."""

import asyncio
import socket

from agent.errors import ChannelRefused, ChannelUnavailable

_READ_BYTES = 64 * 1024
# Whoever reads nothing for as long is gone, or stopped by hand: it comes back and hears it again
WRITE_TIMEOUT_S = 20.0


class LineConnection:
    """Lines over a connected socket, which it owns."""

    def __init__(self, connection: socket.socket, limit_bytes: int) -> None:
        # Waited for by the event loop
        connection.settimeout(0)
        self._connection = connection
        self._limit_bytes = limit_bytes
        self._rest = bytearray()

    async def receive(self) -> bytes | None:
        """The next line; None when the other side has closed.

        Raises:
            ChannelRefused: the line is longer than anything that is said here.
            ChannelUnavailable: the connection has broken.
        """
        searched = 0
        while (end := self._rest.find(b"\n", searched)) < 0:
            searched = len(self._rest)
            if searched > self._limit_bytes:
                raise ChannelRefused(f"a line is longer than {self._limit_bytes} bytes")
            if not (more := await self._read()):
                return None
            self._rest += more
        line = bytes(self._rest[:end])
        del self._rest[: end + 1]
        if len(line) > self._limit_bytes:
            raise ChannelRefused(f"a line is longer than {self._limit_bytes} bytes")
        return line

    async def send(self, data: bytes) -> None:
        """Raises ChannelUnavailable: the other side does not take it."""
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(WRITE_TIMEOUT_S):
                await loop.sock_sendall(self._connection, data)
        except TimeoutError as err:
            raise ChannelUnavailable("the other side does not read") from err
        except OSError as err:
            raise ChannelUnavailable(f"connection lost: {err.strerror}") from err

    async def _read(self) -> bytes:
        loop = asyncio.get_running_loop()
        try:
            return await loop.sock_recv(self._connection, _READ_BYTES)
        except OSError as err:
            raise ChannelUnavailable(f"connection lost: {err.strerror}") from err

    def close(self) -> None:
        self._connection.close()
