"""Connection to an IRC server: lines both ways, and the server's confirmation.

IRC acknowledges nothing. A server answers a PING after everything that was sent before it, so what
it had not refused by then it has taken.
"""

import asyncio
from collections.abc import AsyncGenerator, Iterable

from agent.channels.irc.inbound import (
    MAX_LINE_BYTES,
    MAX_TAGS_BYTES,
    IrcLine,
    read_line,
    write_line,
)
from agent.errors import ChannelUnavailable
from agent.system.clock import Clock
from agent.text.printable import printable_line

# Servers count some five lines as a person's haste
BURST_LINES = 5
# And then one in a second or two; more is a flood, for which they close the connection
EVERY_S = 1.2


class IrcRateLimit:
    """Rate limit of one connection."""

    def __init__(self, clock: Clock, every_s: float = EVERY_S) -> None:
        self._every_s = every_s
        self._clock = clock
        # When all that was said would have been said at an even pace
        self._even_s = 0.0
        self._turn = asyncio.Lock()

    async def wait(self) -> None:
        """Wait until one more line may go."""
        async with self._turn:
            now_s = self._clock.monotonic_s()
            self._even_s = max(self._even_s, now_s)
            early_s = self._even_s - now_s - (BURST_LINES - 1) * self._every_s
            if early_s > 0:
                await self._clock.sleep(early_s)
            self._even_s += self._every_s


# A silent server is asked whether it is there, and given the same time to say so
SILENCE_LIMIT_S = 40.0
# A line that the network does not take in this time never goes
WRITE_TIMEOUT_S = 20.0
# The server's word that it took something, behind whatever else it has to do
SETTLE_TIMEOUT_S = 30.0
# Whatever a server answers to one message
MAX_HEARD = 100
MAX_REASON_CHARS = 200
# What is read at once: a line with its tags
READ_LIMIT_BYTES = MAX_LINE_BYTES + MAX_TAGS_BYTES

Words = tuple[str, ...]


class IrcConnection:
    """Connection to an IRC server."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._sending = asyncio.Lock()
        self._count = 0
        # What was heard since the lines that wait for the server's word
        self._heard: list[IrcLine] = []
        self._settled: asyncio.Future[None] | None = None
        self._ended: ChannelUnavailable | None = None

    async def lines(self) -> AsyncGenerator[IrcLine, None]:
        """Yield the server's lines; pings are answered here, and are signs of life like any line.

        Raises:
            ChannelUnavailable: it has closed the connection or fallen silent.
        """
        try:
            while True:
                line = await self._next()
                if line.command == "PING":
                    await self.say("PONG", line.parameter(-1))
                else:
                    self._note(line)
                yield line
        except ChannelUnavailable as err:
            self._end(err)
            raise

    async def say(self, *words: str) -> None:
        """Write a line: a command and its parameters.

        Raises:
            ValueError: it cannot be one.
            ChannelUnavailable: the connection is gone.
        """
        line = write_line(*words)
        if self._ended is not None:
            raise self._ended
        try:
            async with asyncio.timeout(WRITE_TIMEOUT_S):
                self._writer.write(line)
                await self._writer.drain()
        except (OSError, TimeoutError) as err:
            raise ChannelUnavailable(f"cannot write to the IRC server: {err!r}") from err

    async def settle(self, lines: Iterable[Words]) -> list[IrcLine]:
        """Write lines; return the server's answers up to its confirmation. `lines` must run.

        Raises:
            ValueError: one cannot be one.
            ChannelUnavailable: it does not say that it took them.
        """
        async with self._sending:
            self._heard = []
            self._settled = asyncio.get_running_loop().create_future()
            self._count += 1
            try:
                for words in lines:
                    await self.say(*words)
                await self.say("PING", self._token)
                async with asyncio.timeout(SETTLE_TIMEOUT_S):
                    await self._settled
            except TimeoutError as err:
                raise ChannelUnavailable("the IRC server did not confirm in time") from err
            finally:
                self._settled = None
            return self._heard

    async def aclose(self) -> None:
        self._end(ChannelUnavailable("the connection to the IRC server is closed"))
        self._writer.close()

    @property
    def _token(self) -> str:
        return f"barnacle-{self._count}"

    async def _next(self) -> IrcLine:
        """Return the next valid line; others are skipped."""
        while True:
            try:
                raw = await self._read()
            except TimeoutError:
                raw = await self._first_sign()
            if (line := read_line(raw.rstrip(b"\r\n"))) is not None:
                return line

    async def _first_sign(self) -> bytes:
        await self.say("PING", "barnacle")
        try:
            return await self._read()
        except TimeoutError as err:
            raise ChannelUnavailable("the IRC server no longer answers") from err

    async def _read(self) -> bytes:
        """Return the next line; raises TimeoutError after a silence."""
        try:
            async with asyncio.timeout(SILENCE_LIMIT_S):
                return await self._reader.readuntil(b"\n")
        except TimeoutError:
            raise
        except (OSError, asyncio.IncompleteReadError) as err:
            raise ChannelUnavailable("the IRC server closed the connection") from err
        except asyncio.LimitOverrunError as err:
            raise ChannelUnavailable("the IRC server sent a line that is too long") from err

    def _note(self, line: IrcLine) -> None:
        if line.command == "ERROR":
            raise ChannelUnavailable(f"the IRC server closed the connection: {reason_of(line)}")
        if self._settled is None or self._settled.done():
            return
        if line.command == "PONG" and line.parameter(-1) == self._token:
            self._settled.set_result(None)
        elif len(self._heard) < MAX_HEARD:
            self._heard.append(line)

    def _end(self, why: ChannelUnavailable) -> None:
        self._ended = self._ended or why
        if self._settled is not None and not self._settled.done():
            self._settled.set_exception(why)


def reason_of(line: IrcLine) -> str:
    """Return the server's own reason, for a person."""
    return printable_line(line.parameter(-1), MAX_REASON_CHARS)
