"""Server of the console: systemd's socket or one of its own, and limits on what a caller holds.

uvicorn parses; what it has no limit for is limited here: how long TLS and a head may take, how long
an answer may lie unread, how many connections one address has. Accepting is done here too: uvicorn
sees a connection with TLS only once that is agreed on.
"""

import asyncio
import os
import re
import socket
import ssl
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct
from uvicorn import Config, Server
from uvicorn.protocols.http.h11_impl import H11Protocol

from agent.console.application import ConsoleApplication
from agent.console.unread_body import after_the_body
from agent.errors import ConfigRefused

if TYPE_CHECKING:
    from uvicorn._types import ASGI3Application

# Two ways there and back, and a signature of a small processor
TLS_TIMEOUT_S = 5.0
# A request's line and its headers come in one or two packets
HEAD_TIMEOUT_S = 5.0
# A page asks for its parts within it, and what is left of a second request that came with the first
# has no longer
KEEP_ALIVE_S = 10
# An answer is some kilobytes; a browser that reads nothing for so long is gone
UNREAD_TIMEOUT_S = 20.0
# A page keeps one connection for its events and some for its parts
MAX_CONNECTIONS_OF_ONE = 40
MAX_CONNECTIONS = 160
MAX_HEAD_BYTES = 16 * 1024
# A page that is looked at has a stream; nobody looks any more after this
IDLE_END_S = 600.0
_LOOK_S = 5.0
# The first descriptor that systemd hands over
_FIRST_FD = 3
_BACKLOG = 64
# The machine has no more open files; some are closed meanwhile
_OUT_OF_FILES_S = 0.1

_ODD_END = re.compile(rb"(?<!\r)\n|\r(?!\n)(?!\Z)|\x00")

_held: Counter[str] = Counter()


class GuardedProtocol(H11Protocol):
    """uvicorn's protocol with limits for its callers."""

    _head_timer: asyncio.TimerHandle | None = None
    _unread_timer: asyncio.TimerHandle | None = None
    # The last byte of what came before, where the head is not whole yet
    _last = b""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.is_lost = asyncio.Event()

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_lost.set()
        self._cancel_timers()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._is_between:
            if self._head_timer is None:
                self._await_head()
            if self._is_odd(data):
                # Two readers of one request could find two different ends of its head
                self.transport.abort()
                return
        super().data_received(data)
        if not self._is_between and self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def pause_writing(self) -> None:
        super().pause_writing()
        self._unread_timer = self.loop.call_later(UNREAD_TIMEOUT_S, self.transport.abort)

    def resume_writing(self) -> None:
        if self._unread_timer is not None:
            self._unread_timer.cancel()
        super().resume_writing()

    def send_400_response(self, msg: str) -> None:
        # None while no request has come, whatever its type says
        cycle: Any = self.cycle
        if cycle is None or cycle.response_complete:
            super().send_400_response("400")
            return
        # What has begun is not answered twice
        cycle.disconnected = True
        cycle.message_event.set()
        self.transport.abort()

    @property
    def _is_between(self) -> bool:
        """Return true while no request is whole that waits for its answer."""
        cycle: Any = self.cycle
        return cycle is None or bool(cycle.response_complete)

    def _is_odd(self, data: bytes) -> bool:
        """Return true for a line of the head that ends as no browser ends one."""
        head, end, _ = (self._last + data).partition(b"\r\n\r\n")
        self._last = b"" if end else data[-1:]
        return _ODD_END.search(head) is not None

    def _await_head(self) -> None:
        self._head_timer = self.loop.call_later(HEAD_TIMEOUT_S, self.transport.abort)

    def _cancel_timers(self) -> None:
        for timer in (self._head_timer, self._unread_timer):
            if timer is not None:
                timer.cancel()


class GuardedServer(Server):
    """uvicorn's server for one socket, which counts a connection from its first packet on."""

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self._accepting: asyncio.Future[None] | None = None
        self._holding: set[asyncio.Task[None]] = set()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=[])
        for listening_at in sockets or []:
            listening_at.settimeout(0)
            self._accepting = asyncio.ensure_future(self._accept(listening_at))

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        if self._accepting is not None:
            self._accepting.cancel()
            await asyncio.wait([self._accepting])
        for task in self._holding:
            task.cancel()
        await super().shutdown(sockets)

    async def _accept(self, listening_at: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                made, address = await loop.sock_accept(listening_at)
            except OSError:
                await asyncio.sleep(_OUT_OF_FILES_S)
                continue
            who = address[0] if isinstance(address, tuple) else ""
            if _held[who] >= MAX_CONNECTIONS_OF_ONE or _held.total() >= MAX_CONNECTIONS:
                made.close()
                continue
            _held[who] += 1
            task = asyncio.create_task(self._hold(made, who))
            self._holding.add(task)
            task.add_done_callback(self._holding.discard)

    async def _hold(self, made: socket.socket, who: str) -> None:
        """Serve a connection until it is lost; its place is counted for so long."""
        loop, tls = asyncio.get_running_loop(), self.config.ssl
        # Of uvloop the call returns what speaks TLS for it
        protocol = GuardedProtocol(self.config, self.server_state, {})
        try:
            await loop.connect_accepted_socket(
                lambda: protocol,
                made,
                ssl=tls,
                ssl_handshake_timeout=TLS_TIMEOUT_S if tls else None,
            )
            await protocol.is_lost.wait()
        except OSError:
            made.close()
        finally:
            _held[who] -= 1
            if not _held[who]:
                del _held[who]


def listening(address: str) -> tuple[socket.socket, bool]:
    """Return the socket to accept from, and true if systemd made it.

    Raises:
        ConfigRefused: nothing can listen there.
    """
    if os.environ.get("LISTEN_PID") == str(os.getpid()) and os.environ.get("LISTEN_FDS") == "1":
        return socket.socket(fileno=_FIRST_FD), True
    host, _, port = address.rpartition(":")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((host.strip("[]"), int(port)))
        made.listen(_BACKLOG)
    except (OSError, OverflowError, ValueError) as err:
        made.close()
        raise ConfigRefused(
            f"the console cannot listen at {address} ({err}): choose another in [console]"
        ) from err
    return made, False


class Tls(Struct, frozen=True):
    """Files of a certificate with its chain, and of its key."""

    certificate: Path
    key: Path

    def check(self) -> None:
        """Raise ConfigRefused unless they can be used."""
        try:
            # Before a key with a passphrase asks for it at a terminal
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(self.certificate, self.key, lambda: "")
        except (OSError, ValueError) as err:
            raise ConfigRefused(
                f"the console cannot use its certificate ({self.certificate}, {self.key}: {err}): "
                "see certificate and key in [console]"
            ) from err


async def serve(
    application: ConsoleApplication,
    listening_at: socket.socket,
    idle_end_s: float | None,
    tls: Tls | None = None,
) -> None:
    """Answer requests until told to stop, or until nobody has asked for a while."""
    server = GuardedServer(_config(application, tls))
    is_plain = tls is None
    watching = asyncio.ensure_future(
        _end_idle(server, idle_end_s, lambda: is_plain and bool(application.names.certificate))
    )
    try:
        await server.serve(sockets=[listening_at])
    except asyncio.CancelledError:
        await server.shutdown([listening_at])
        raise
    finally:
        watching.cancel()
        await application.aclose()
        listening_at.close()


async def _end_idle(server: Server, idle_end_s: float | None, is_wrong: Callable[[], bool]) -> None:
    """End a console that nobody asks, or that began without the certificate of an agent away."""
    if idle_end_s is None:
        return
    loop = asyncio.get_running_loop()
    seen, since_s = -1, loop.time()
    while not server.should_exit:
        await asyncio.sleep(min(_LOOK_S, idle_end_s))
        asked = server.server_state.total_requests
        if asked != seen or _held.total():
            seen, since_s = asked, loop.time()
        server.should_exit = loop.time() - since_s >= idle_end_s or is_wrong()


def _config(application: ConsoleApplication, tls: Tls | None) -> Config:
    return Config(
        # Both speak ASGI; each describes it in types of its own
        after_the_body(cast("ASGI3Application", application)),
        ssl_certfile=tls.certificate if tls else None,
        ssl_keyfile=tls.key if tls else None,
        http=GuardedProtocol,
        ws="none",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        access_log=False,
        # Who calls is the connection's peer; no header says otherwise
        proxy_headers=False,
        server_header=False,
        date_header=False,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=2,
        h11_max_incomplete_event_size=MAX_HEAD_BYTES,
    )
