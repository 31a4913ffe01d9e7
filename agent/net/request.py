"""Request over HTTP and its limits; its failures by what was being done, and their sentences."""

import contextlib
import time
from collections.abc import AsyncIterable, Callable, Iterator, Mapping
from typing import Protocol

from msgspec import Struct, field

from agent import __version__
from agent.errors import NetworkError
from agent.system.clock import RELEASED_S

# Idle connections are kept for the next turn, and let go before most servers do it
KEEP_ALIVE_S = 55.0
# Every part together on a small device
MAX_CONNECTIONS = 20
# Of every request
HEADERS = {"user-agent": f"barnacle/{__version__}", "accept-encoding": "identity"}


class HttpRequest(Struct, frozen=True):
    """Request; `content` is the whole body, or yields it piece by piece, once.

    Args:
        address: where to connect to, whatever the URL's host leads to by now; the host is still
            what the certificate must be for. Such a request passes no proxy.
        is_held_open: it waits for something to happen; it takes no place from those that do not.
    """

    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    content: bytes | AsyncIterable[bytes] = b""
    address: str = ""
    is_held_open: bool = False


class HttpLimits(Struct, frozen=True):
    """Seconds of each step.

    Args:
        connect_s: for name and connection, and for TLS.
        write_s: for a piece of the request.
        answer_s: until the answer begins.
        moved: called when a piece of the request has gone.
    """

    connect_s: float
    write_s: float
    answer_s: float
    moved: Callable[[], None] = lambda: None


class BegunAnswer(Protocol):
    """An answer whose head was read; its body comes piece by piece."""

    @property
    def status(self) -> int: ...

    @property
    def headers(self) -> Mapping[str, str]:
        """Return them by their names in lower case."""

    async def piece(self, timeout_s: float) -> bytes:
        """Return the next piece of the body, at most 64 KB; empty at its end.

        Raises:
            BrokenOff: the connection ended.
            TimeoutError: nothing came in time.
        """

    async def aclose(self) -> None:
        """Cut off what is still to come."""


class HttpWay(Protocol):
    """A way to servers; `http` knows two."""

    async def ask(
        self, request: HttpRequest, limits: HttpLimits, release: Callable[[], None]
    ) -> BegunAnswer:
        """Send a request; return its answer, of which the head has come.

        Args:
            release: is called once, when the request is over.

        Raises:
            NotReached, BrokenOff, UnfitRequest, OSError: as their names say.
            TimeoutError: it does not answer.
        """

    async def aclose(self) -> None:
        """Give up what is under way."""


class NotReached(Exception):
    """There is no connection; the text is what the system or TLS says, empty for too slow."""


class BrokenOff(Exception):
    """The connection ended before the answer did, or what came is no HTTP."""


class UnfitRequest(Exception):
    """The request cannot be made; the text names the kind of mistake."""


@contextlib.contextmanager
def told(host: str, too_slow: str, connect_timeout_s: float) -> Iterator[None]:
    """Turn every failure into a `NetworkError` with a sentence.

    Args:
        too_slow: the sentence of a `TimeoutError`, without its host.
    """
    try:
        yield
    except TimeoutError as err:
        raise NetworkError(f"{host} {too_slow}") from err
    except (NotReached, BrokenOff, UnfitRequest, OSError) as err:
        raise NetworkError(f"{host} {_reason(err, connect_timeout_s)}") from err


def _reason(err: Exception, connect_timeout_s: float) -> str:
    text = str(err)
    if "CERTIFICATE_VERIFY_FAILED" in text:
        return f"cannot be trusted, its certificate is not valid here: {_likely_distrust(text)}"
    if any(clue in text for clue in ("Name or service", "name resolution", "No address")):
        return "was not found: is there a network, and is the name right?"
    if isinstance(err, NotReached) and not text:
        return f"could not be reached within {connect_timeout_s:.0f} s: is there a network?"
    if isinstance(err, NotReached):
        return "could not be reached: is it running, and is there a network?"
    if isinstance(err, BrokenOff):
        return "broke off the connection"
    return f"could not be used ({text if isinstance(err, UnfitRequest) else type(err).__name__})"


def _likely_distrust(text: str) -> str:
    # A clock that systemd has set to its own making looks right, and is behind
    if time.time() < RELEASED_S or "not yet valid" in text:
        return "the clock of this device is not set, or is behind"
    return "a sign-in page of this network answers instead, or a proxy of your own"


def closed() -> NetworkError:
    """Return the error of whoever asks, or waits, while the agent ends."""
    return NetworkError("no request is made any more: the agent is ending")
