"""Gateway: opens its socket at the start, then runs the server."""

import contextlib
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from agent.channels.push import PushReceiver
from agent.errors import StorageFull
from agent.gateway.address import GatewayAddress, gateway_address, open_socket
from agent.gateway.application import CallerAccess, GatewayApplication, StatusSources
from agent.gateway.callers import UNIX, UNKNOWN, exact
from agent.gateway.connection_pool import GatewayConnectionPool
from agent.gateway.refused_callers import RefusalLimiter
from agent.gateway.route import GatewayRoute
from agent.gateway.server import serve
from agent.gateway.settings import GatewaySettings
from agent.gateway.tokens import GatewayTokens
from agent.system.clock import Clock

if TYPE_CHECKING:
    from socket import socket

_log = logging.getLogger(__name__)


class GatewayParts(Struct, frozen=True):
    """Parts of the agent that the gateway serves."""

    state_dir: Path
    limits_db: Path
    shown: StatusSources
    pushed: Sequence[PushReceiver]
    routes: Sequence[GatewayRoute] = ()


class Gateway:
    """Gateway; listens when made, answers while `run` runs."""

    def __init__(
        self,
        wanted: GatewaySettings,
        token: str,
        tokens: GatewayTokens,
        house: GatewayParts,
        clock: Clock,
    ) -> None:
        self.place: GatewayAddress = gateway_address(wanted, house.state_dir, token)
        self._socket: socket = open_socket(self.place)
        self.places = GatewayConnectionPool()
        self._limiter = RefusalLimiter(house.limits_db, clock)
        entrance = CallerAccess(
            self.place.hosts,
            frozenset(map(exact, wanted.trusted_proxies)),
            self._limiter,
            tokens,
            UNIX if self.place.path else UNKNOWN,
        )
        self._front = GatewayApplication(entrance, house.shown, house.pushed, house.routes)

    @property
    def port(self) -> int:
        """Return the port; the system's choice if the address says 0."""
        return int(self._socket.getsockname()[1])

    async def run(self) -> None:
        """Serve until cancelled."""
        try:
            await self._limiter.begin()
            _log.info("gateway: listening (address=%s)", self.place.in_words)
            await serve(self._front, self._socket, self.places)
        except StorageFull as err:
            # Without its limits it lets nobody in; the rest of the agent goes on
            _log.error("gateway: closed (reason=%s)", err)
        finally:
            self._socket.close()
            await self._limiter.aclose()
            if self.place.path is not None:
                with contextlib.suppress(OSError):
                    self.place.path.unlink()
