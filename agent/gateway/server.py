"""The server: connections are accepted one by one, each with a place, and uvicorn parses them.

Accepting is done here and not by uvicorn: where there is no place, a caller waits in the kernel,
and the end of the agent leaves nothing behind.
"""

import asyncio
import contextlib
import logging
from socket import socket
from typing import TYPE_CHECKING, cast

from uvicorn import Config

from agent.gateway.connection import GatewayConnection, Hall
from agent.gateway.front import Front
from agent.gateway.head import MAX_HEAD_BYTES
from agent.gateway.places import Places

if TYPE_CHECKING:
    from uvicorn._types import ASGI3Application, ASGIReceiveCallable, ASGISendCallable, Scope

# Answers that are under way when the agent ends
GRACE_S = 2.0
# The machine has no more open files; some are closed meanwhile
_OUT_OF_FILES_S = 0.1


async def serve(front: Front, listening: socket, places: Places) -> None:
    """Answer requests until cancelled; the socket is closed then."""
    # It says of every careless request that it was careless
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
    config = _config(front)
    config.load()
    hall = Hall(config, front.recognised, places, front.socket_peer)
    clearing = asyncio.ensure_future(hall.places.keep_clear())
    try:
        await _accept(hall, listening)
    finally:
        listening.close()
        clearing.cancel()
        await _end(hall)


async def _accept(hall: Hall, listening: socket) -> None:
    loop = asyncio.get_running_loop()
    while True:
        await hall.places.room()
        try:
            made, _ = await loop.sock_accept(listening)
        except OSError:
            await asyncio.sleep(_OUT_OF_FILES_S)
            continue
        try:
            await loop.connect_accepted_socket(lambda: GatewayConnection(hall), made)
        except OSError:
            made.close()


async def _end(hall: Hall) -> None:
    """Cut whoever has not asked; whoever has gets the answer, if it comes soon."""
    for one in hall.places:
        if one.gives_way:
            one.cut()
    if tasks := set(hall.state.tasks):
        await asyncio.wait(tasks, timeout=GRACE_S)
    for one in hall.places:
        one.cut()
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks)


def _config(front: Front) -> Config:
    return Config(
        # Both speak ASGI; each describes it in types of its own
        _ended_quietly(cast("ASGI3Application", front)),
        http="h11",
        ws="none",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        access_log=False,
        # Who calls is decided by us, from the connection itself
        proxy_headers=False,
        server_header=False,
        date_header=False,
        timeout_keep_alive=1,
        h11_max_incomplete_event_size=MAX_HEAD_BYTES,
    )


def _ended_quietly(application: "ASGI3Application") -> "ASGI3Application":
    """The same, for a server that takes the end of the agent for a fault and prints it."""

    async def run(scope: "Scope", receive: "ASGIReceiveCallable", send: "ASGISendCallable") -> None:
        with contextlib.suppress(asyncio.CancelledError):
            await application(scope, receive, send)

    return run
