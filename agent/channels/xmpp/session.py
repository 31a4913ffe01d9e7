"""Start and end of a session, with errors in plain sentences."""

import asyncio
import ssl
from typing import TYPE_CHECKING

from agent.channels.xmpp.login import XmppLogin
from agent.channels.xmpp.stanzas import host_of
from agent.errors import ChannelRefused, ChannelUnavailable
from agent.net.addresses import connect_error
from agent.text.printable import printable_line

if TYPE_CHECKING:
    from collections.abc import Callable

    from slixmpp.xmlstream import StanzaBase

    from agent.channels.xmpp.client import XmppClient

# Name, connection, TLS, login
LOGIN_TIMEOUT_S = 30.0
CLOSE_TIMEOUT_S = 2.0
MAX_REASON_CHARS = 200
# The server's own trouble, which passes
_PASSING = frozenset({"temporary-auth-failure"})


class XmppEntrance:
    """Watcher of one client from its first byte to its last."""

    def __init__(self, client: "XmppClient", login: XmppLogin) -> None:
        self._client = client
        self._login = login
        loop = asyncio.get_running_loop()
        self._ready: asyncio.Future[None] = loop.create_future()
        self.lost: asyncio.Future[None] = loop.create_future()
        self._why = ""
        handlers: dict[str, Callable[..., None]] = {
            "stream_negotiated": self._settled,
            "failed_auth": self._note,
            "failed_all_auth": self._no_login,
            "ssl_invalid_chain": self._untrusted,
            "connection_failed": self._failed,
            "stream_error": self._note,
            "disconnected": self._gone,
        }
        for name, handler in handlers.items():
            client.add_event_handler(name, handler)

    @property
    def place(self) -> str:
        """Return the server's name for a person."""
        login = self._login
        return f"{login.host}:{login.port}" if login.host else host_of(login.address)

    async def enter(self) -> None:
        """Start the session; raises ChannelError if that fails."""
        host, port = self._login.host or None, self._login.port or None
        try:
            async with asyncio.timeout(LOGIN_TIMEOUT_S):
                if await self._client.connect(host, port if host else None) is not None:
                    # It would try for ever
                    self._client.cancel_connection_attempt()
                    raise self._not_entered()
                await asyncio.wait({self._ready, self.lost}, return_when=asyncio.FIRST_COMPLETED)
        except TimeoutError as err:
            raise ChannelUnavailable(f"{self.place} did not answer in time") from err
        if not self._ready.done():
            raise self._not_entered()
        self._ready.result()

    def let_go(self) -> None:
        """Close at once; `left` waits until the loop has closed it."""
        if self._client.transport is None:
            self._gone(None)
        self._client.let_go()

    async def left(self) -> None:
        await asyncio.wait({self.lost}, timeout=CLOSE_TIMEOUT_S)

    def check(self) -> None:
        """Raise ChannelUnavailable if the session has ended."""
        if self.lost.done() or not self._client.bound:
            raise self.cut()

    def cut(self, why: str = "") -> ChannelUnavailable:
        self._why = self._why or why
        because = f": {self._why}" if self._why else ""
        return ChannelUnavailable(f"the connection to {self.place} is lost{because}")

    def end(self, why: str) -> None:
        """End the running entrance."""
        self._why = why
        self._client.abort()

    def _settled(self, _: object) -> None:
        if self._client.bound:
            if not self._ready.done():
                self._ready.set_result(None)
        else:
            self._refuse(f"{self.place} does not offer TLS and a login")

    def _note(self, told: "StanzaBase") -> None:
        self._why = printable_line(str(told["condition"]), MAX_REASON_CHARS)

    def _no_login(self, _: object) -> None:
        address = self._login.address
        if not self._why:
            self._refuse(f"{self.place} offers no login for {address} that is safe here")
        elif self._why not in _PASSING:
            self._refuse(
                f"{self.place} does not take the password of {address} ({self._why}): "
                f"set channels.xmpp password_file anew"
            )

    def _untrusted(self, err: object) -> None:
        said = printable_line(str(err), MAX_REASON_CHARS)
        self._refuse(
            f"the certificate of {self.place} is not trusted for {host_of(self._login.address)} "
            f"({said}): that of an authority of your own goes into channels.xmpp ca_file"
        )

    def _failed(self, err: object) -> None:
        if isinstance(err, ssl.SSLCertVerificationError):
            self._untrusted(err)
        said = connect_error(err) if isinstance(err, OSError) else str(err)
        self._why = printable_line(said, MAX_REASON_CHARS)

    def _gone(self, _: object) -> None:
        self._why = self._why or self._client.disconnect_reason or ""
        if not self.lost.done():
            self.lost.set_result(None)

    def _refuse(self, sentence: str) -> None:
        if not self._ready.done():
            self._ready.set_exception(ChannelRefused(sentence))
            # There may be nobody who waits
            self._ready.exception()

    def _not_entered(self) -> Exception:
        if self._ready.done() and isinstance(refused := self._ready.exception(), ChannelRefused):
            return refused
        return ChannelUnavailable(f"{self.place} cannot be reached: {self._why or 'it hung up'}")
