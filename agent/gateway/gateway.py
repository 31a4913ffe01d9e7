"""The gateway at work: a socket that is open from the start, and the server behind it."""

import contextlib
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from agent.channels.pushed import Pushed
from agent.clock import Clock
from agent.errors import StorageFull
from agent.gateway.binding import Place, open_socket, place_of
from agent.gateway.callers import UNIX, UNKNOWN, normal
from agent.gateway.front import Entrance, Front, Shown
from agent.gateway.limiter import Limiter
from agent.gateway.places import Places
from agent.gateway.server import serve
from agent.gateway.settings import GatewaySettings
from agent.gateway.tokens import Tokens

if TYPE_CHECKING:
    from socket import socket

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class House:
    """What the gateway stands before."""

    state_dir: Path
    limits_db: Path
    shown: Shown
    pushed: Sequence[Pushed]


class Gateway:
    """Listens from its making on; answers while `run` does."""

    def __init__(
        self, wanted: GatewaySettings, token: str, tokens: Tokens, house: House, clock: Clock
    ) -> None:
        self.place: Place = place_of(wanted, house.state_dir, token)
        self._socket: socket = open_socket(self.place)
        self.places = Places()
        self._limiter = Limiter(house.limits_db, clock)
        entrance = Entrance(
            self.place.hosts,
            frozenset(map(normal, wanted.trusted_proxies)),
            self._limiter,
            tokens,
            UNIX if self.place.path else UNKNOWN,
        )
        self._front = Front(entrance, house.shown, house.pushed)

    @property
    def port(self) -> int:
        """Where the place says 0, what the system has chosen."""
        return int(self._socket.getsockname()[1])

    async def run(self) -> None:
        """Until cancelled."""
        try:
            await self._limiter.begin()
            _log.info("the gateway listens at %s", self.place.in_words)
            await serve(self._front, self._socket, self.places)
        except StorageFull as err:
            # Without its limits it lets nobody in; the rest of the agent goes on
            _log.error("the gateway is closed: %s", err)
        finally:
            self._socket.close()
            await self._limiter.aclose()
            if self.place.path is not None:
                with contextlib.suppress(OSError):
                    self.place.path.unlink()
