"""Link of a Signal account, begun by the owner on a page: the code to scan, and what came of it.

The code is a secret: it is told to the owner's pages and the device's own screen while it is good,
and to nothing else.
"""

import asyncio
import enum
import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace

from agent.access.people import Person
from agent.access.roles import PersonRole
from agent.app.build import Agent
from agent.channels.settings import SignalSettings
from agent.channels.signal.client import SignalClient
from agent.channels.signal.linking import LinkRanOut, link_by_daemon
from agent.channels.signal.shown_code import ShownCode
from agent.errors import BadArguments, ChannelError, StorageFull
from agent.net.addresses import is_this_machine

if TYPE_CHECKING:
    from agent.security.audit_chain import Row

_log = logging.getLogger(__name__)

# Signal cuts a longer name of a device
_MOST_NAME_CHARS = 50


class LinkStep(enum.Enum):
    """State of the last link."""

    # None was begun since the agent's start
    NONE = "none"
    # signal-cli fetches a code
    ASKING = "asking"
    # The code waits to be scanned
    SHOWN = "shown"
    LINKED = "linked"
    # Nobody scanned it while it was good
    OVER = "over"
    FAILED = "failed"


class _Link(Struct, frozen=True):
    """One link, at one step.

    Args:
        number: another one after each change, for a page that looks again.
        uri: what the code says; there only while it can be scanned.
    """

    step: LinkStep = LinkStep.NONE
    number: int = 0
    uri: str = ""
    account: str = ""
    trouble: str = ""


class SignalLink:
    """The part of the page Channels that links an account, and its button."""

    def __init__(self, agent: Agent, screen: ShownCode | None = None) -> None:
        self._agent = agent
        self._screen = screen or ShownCode()
        self._link = _Link()
        self._linking: asyncio.Task[None] | None = None

    async def read(self, person: Person, arguments: Mapping[str, str]) -> dict[str, Any]:
        """Return whether a link can be begun here, and how the last one is."""
        link, is_owner = self._link, person.rank is PersonRole.OWNER
        return {
            "is_offered": self._settings() is not None,
            "step": link.step.value,
            "number": link.number,
            "uri": link.uri if is_owner else "",
            "account": link.account,
            "trouble": link.trouble,
        }

    async def begin(self, person: Person, arguments: Mapping[str, str]) -> dict[str, Any]:
        """Begin a link, unless one is at it.

        Raises:
            BadArguments: no signal-cli of this machine is configured.
            StorageFull: it cannot be recorded.
        """
        settings = self._settings()
        if settings is None:
            raise BadArguments("no signal-cli of this machine is configured: see [channels.signal]")
        if self._link.step in {LinkStep.ASKING, LinkStep.SHOWN}:
            return {}
        before = self._link
        # At once: a second press must find it begun
        self._step(LinkStep.ASKING)
        row = {"tool": "signal_link", "effect": "network", "person": person.name}
        said = {"kind": "decision", "verdict": "allow", "rule": "owner's console"}
        try:
            await self._agent.records.note({**said, **row})
        except StorageFull:
            self._link = before
            raise
        self._linking = asyncio.ensure_future(self._linked(settings, row))
        return {}

    async def aclose(self) -> None:
        """End a link that nobody has scanned yet."""
        if self._linking is not None:
            self._linking.cancel()
            await asyncio.wait([self._linking])
            self._screen.show("")

    def _settings(self) -> SignalSettings | None:
        """Return the settings where signal-cli runs on this machine."""
        wanted = self._agent.settings.channels.signal
        if wanted is None or not is_this_machine(urlsplit(wanted.base_url).hostname or ""):
            return None
        return wanted

    async def _linked(self, settings: SignalSettings, row: Mapping[str, str]) -> None:
        daemon = SignalClient(settings.base_url, "", self._agent.http)
        name = self._agent.settings.agent.name[:_MOST_NAME_CHARS]
        try:
            # Where none runs, its error says how to start one
            await daemon.check()
            account = await link_by_daemon(daemon, name, self._show)
        except LinkRanOut as err:
            self._step(LinkStep.OVER)
            await self._note(row, str(err), is_linked=False)
        except ChannelError as err:
            self._step(LinkStep.FAILED, trouble=str(err))
            await self._note(row, str(err), is_linked=False)
        else:
            self._step(LinkStep.LINKED, account=account)
            await self._note(row, account, is_linked=True)

    def _show(self, uri: str) -> None:
        self._step(LinkStep.SHOWN, uri=uri)

    def _step(self, step: LinkStep, **known: str) -> None:
        self._link = replace(_Link(step, self._link.number + 1), **known)
        self._screen.show(self._link.uri)

    async def _note(self, row: Mapping[str, str], result: str, *, is_linked: bool) -> None:
        log = _log.info if is_linked else _log.warning
        log("signal: %s", f"linked (account={result})" if is_linked else f"not linked: {result}")
        try:
            ended: Row = {"kind": "effect", "ok": is_linked, "result": result}
            await self._agent.records.note({**ended, **row})
        except StorageFull as err:
            _log.error("audit: result not recorded (tool=signal_link, error=%s)", err)
