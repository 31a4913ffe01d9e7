"""Agent's side of one MCP server: the first call starts it, idle time ends it.

A server cannot block the agent longer than one call may take, nor make it keep more than one line.
After a crash the server pauses, each time for longer.
"""

import asyncio
import contextlib
import importlib.util
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from agent.errors import McpAway
from agent.security.environment import PATH, child_environment
from agent.security.redact import Redactor
from agent.system.clock import Clock
from agent.text.config_hints import install_hint
from agent.text.printable import printable_line
from agent.tools.mcp.bridge_process import BridgeConnection, BridgeProcess
from agent.tools.mcp.confinement import Confinement
from agent.tools.mcp.lines import (
    MAX_TROUBLE_CHARS,
    SESSION_ENDED,
    BridgeAnswer,
    BridgeRequest,
    CallRequest,
    Offered,
    ReplyRequest,
    ServerQuestion,
    ServerSetup,
    StartRequest,
)
from agent.tools.mcp.offer import ToolOffer, offers_of
from agent.tools.mcp.settings import McpSettings

REMEDY = install_hint("mcp")
# Of a server in one call; more of them are a nuisance
_MAX_QUESTIONS = 8
# In one call; a server that has other tools each time that it is asked is none to approve
_MAX_LISTINGS = 3


class ServerTimeouts(Struct, frozen=True):
    """Time limits of a server.

    Args:
        call_s: a call, with the waiting for those before it, but not that for the owner.
        start_s: until a server has said what it has; some load themselves from the network.
        idle_s: a server that nobody asks ends, since it may take as much memory as the agent.
        end_s: to say good-bye, which takes a program up to two seconds.
        away_s: after the first failure; each further one doubles it.
        longest_away_s: as often a person tries again.
    """

    call_s: float = 60.0
    start_s: float = 60.0
    idle_s: float = 300.0
    end_s: float = 4.0
    away_s: float = 1.0
    longest_away_s: float = 300.0


# Looks at what a server offers, at each start and when that is something else in the middle
Compare = Callable[[Sequence[ToolOffer]], Awaitable[None]]
# Puts a server's question to the owner; the reply names no connection yet
PutQuestion = Callable[[ServerQuestion], Awaitable[ReplyRequest]]


async def decline(_question: ServerQuestion) -> ReplyRequest:
    """Reply where nobody can be asked."""
    return ReplyRequest("", "decline")


class _SessionEnded(McpAway):
    """The server knows our session no more, and did not take the call."""


class McpServer:
    """A configured server; handles one call at a time."""

    def __init__(
        self,
        name: str,
        settings: McpSettings,
        folder: Path,
        clock: Clock,
        compare: Compare | None = None,
        patience: ServerTimeouts | None = None,
    ) -> None:
        self._confinement = Confinement()
        self._process = BridgeProcess(folder)
        self.name = name
        self._settings = settings
        self._folder = folder
        self._clock = clock
        self._compare = compare
        self._patience = patience or ServerTimeouts()
        # What a server complains about may hold what it was given
        self._redact = Redactor(settings.secrets()).redact
        self._turn = asyncio.Lock()
        self._bridge: BridgeConnection | None = None
        # Told to end, or made to: gone in a moment, and waited for at our own end
        self._leaving: list[BridgeConnection] = []
        self._offers: dict[str, ToolOffer] = {}
        self._idle: asyncio.TimerHandle | None = None
        self._failures = 0
        self._away_until_s = 0.0
        self._trouble = ""

    async def offers(self, put: PutQuestion = decline) -> list[ToolOffer]:
        """Return the tools that the server offers now.

        Raises:
            McpAway: it does not say.
        """
        async with self._alone():
            await self._started(put)
            return list(self._offers.values())

    async def call(
        self,
        tool: str,
        digest: str,
        arguments: Mapping[str, object],
        put: PutQuestion = decline,
    ) -> BridgeAnswer:
        """Call the tool that was approved with this digest.

        Raises:
            McpAway: there is no answer, or it is not that tool any more.
        """
        async with self._alone():
            try:
                return await self._called(tool, digest, arguments, put)
            except _SessionEnded:
                # It was started again, and did nothing: a new session is another try
                return await self._called(tool, digest, arguments, put)

    async def aclose(self) -> None:
        """End the server and everything that it started."""
        self._stay()
        self._leave()
        leaving, self._leaving = self._leaving, []
        await asyncio.gather(*(bridge.end(self._patience.end_s) for bridge in leaving))
        await self._process.settle(self._patience.end_s)

    @contextlib.asynccontextmanager
    async def _alone(self) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout(self._patience.call_s):
                await self._turn.acquire()
        except TimeoutError as err:
            raise McpAway(f"the MCP server {self.name} is busy with another call") from err
        try:
            self._stay()
            yield
        finally:
            self._turn.release()
            if self._bridge is not None:
                loop = asyncio.get_running_loop()
                self._idle = loop.call_later(self._patience.idle_s, self._leave)

    def confine(self, confinement: Confinement) -> None:
        """Isolate the program like this from its next start."""
        self._confinement = confinement

    def share(self, process: BridgeProcess) -> None:
        """Use this bridge, with other servers, from the next start."""
        self._process = process

    def _stay(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None

    def _leave(self) -> None:
        """End the program; the next call starts it again."""
        self._leaving = [bridge for bridge in self._leaving if bridge.is_alive]
        if self._bridge is not None:
            self._bridge.leave(self._patience.end_s)
            self._leaving.append(self._bridge)
            self._bridge = None

    async def _called(
        self, tool: str, digest: str, arguments: Mapping[str, object], put: PutQuestion
    ) -> BridgeAnswer:
        bridge = await self._started(put)
        request = CallRequest(bridge.key, tool, dict(arguments))
        for _ in range(_MAX_LISTINGS):
            offer = self._offers.get(tool)
            if offer is None or offer.digest != digest:
                raise McpAway(changed(self.name, tool))
            answer = await self._answered(bridge, request, self._patience.call_s, put)
            if answer.trouble:
                said = self._redact(answer.trouble)
                raise McpAway(f"the MCP server {self.name} gave no result: {said}")
            if not answer.has_changed:
                self._failures = 0
                return answer
            await self._look_at(answer.tools)
        raise McpAway(
            f"the MCP server {self.name} changes its tools all the time: it is not called"
        )

    async def _started(self, put: PutQuestion) -> BridgeConnection:
        if self._bridge is not None and self._bridge.is_alive:
            return self._bridge
        if (left_s := self._away_until_s - self._clock.monotonic_s()) > 0:
            raise McpAway(
                f"the MCP server {self.name} is unavailable ({self._trouble}); next attempt in "
                f"{left_s:.0f} s"
            )
        self._bridge = bridge = await self._launched()
        request = StartRequest(bridge.key, self._setup())
        answer = await self._answered(bridge, request, self._patience.start_s, put)
        if answer.trouble:
            raise self._failed(answer.trouble)
        await self._look_at(answer.tools)
        return bridge

    async def _look_at(self, listed: Sequence[Offered]) -> None:
        where = self._settings.url or "\0".join(self._settings.command)
        offers = offers_of(self.name, where, listed)
        self._offers = {offer.tool: offer for offer in offers}
        if self._compare is not None:
            await self._compare(offers)

    async def _launched(self) -> BridgeConnection:
        trouble = trouble_with(self._settings)
        if not trouble and self._settings.command and self._settings.sandbox != "none":
            trouble = await asyncio.to_thread(self._confinement.trouble)
        if trouble:
            raise McpAway(f"the MCP server {self.name} cannot be used: {trouble}")
        try:
            await asyncio.to_thread(self._folder.mkdir, parents=True, exist_ok=True)
            return await self._process.open(self.name)
        except OSError as err:
            raise self._failed(f"it cannot be started: {err.strerror}") from err

    async def _answered(
        self, bridge: BridgeConnection, request: BridgeRequest, limit_s: float, put: PutQuestion
    ) -> BridgeAnswer:
        """Return the answer; what the server asks before it gets the owner's reply."""
        answer = await self._asked(bridge, request, limit_s)
        for _ in range(_MAX_QUESTIONS):
            if answer.question is None:
                return answer
            reply = await self._replied(bridge, answer.question, put)
            number = answer.question.number
            request = ReplyRequest(bridge.key, reply.action, reply.values, number)
            answer = await self._asked(bridge, request, limit_s)
        if answer.question is None:
            return answer
        self._give_up(bridge)
        raise self._failed(f"it asked more than {_MAX_QUESTIONS} questions in one call")

    async def _replied(
        self, bridge: BridgeConnection, question: ServerQuestion, put: PutQuestion
    ) -> ReplyRequest:
        reply = None
        try:
            reply = await put(question)
        finally:
            if reply is None:
                # The turn was stopped meanwhile
                self._give_up(bridge)
        return reply

    async def _asked(
        self, bridge: BridgeConnection, request: BridgeRequest, limit_s: float
    ) -> BridgeAnswer:
        """Return the answer to a request; end a server that gives no good one."""
        answer = None
        try:
            async with asyncio.timeout(limit_s):
                answer = await bridge.ask(request)
        except TimeoutError as err:
            sentence = f"no answer within {limit_s:g} s; it may or may not have acted"
            raise self._failed(sentence) from err
        finally:
            # Also where the turn was stopped: a late answer must not be the next one's
            if answer is None or answer.is_over:
                self._give_up(bridge)
        if answer.is_over and answer.trouble == SESSION_ENDED:
            raise _SessionEnded(f"the MCP server {self.name} is unavailable: {SESSION_ENDED}")
        if answer.is_over:
            raise self._failed(answer.trouble)
        return answer

    def _give_up(self, bridge: BridgeConnection) -> None:
        bridge.kill()
        self._leave()

    def _failed(self, why: str) -> McpAway:
        patience = self._patience
        away_s = min(patience.away_s * 2**self._failures, patience.longest_away_s)
        self._failures = min(self._failures + 1, 16)
        self._away_until_s = self._clock.monotonic_s() + away_s
        self._trouble = printable_line(self._redact(why), MAX_TROUBLE_CHARS)
        return McpAway(f"the MCP server {self.name} is unavailable: {self._trouble}")

    def _setup(self) -> ServerSetup:
        settings = self._settings
        headers = {name: value.reveal() for name, value in settings.headers.items()}
        if settings.url:
            return ServerSetup(
                url=settings.url,
                headers=headers,
                folder=str(self._folder),
                client_id=settings.client_id,
                client_secret=settings.client_secret.reveal(),
            )
        added = {name: value.reveal() for name, value in settings.env.items()}
        environment = {**added, **child_environment(self._folder)}
        if settings.sandbox == "none":
            return ServerSetup(settings.command, environment, str(self._folder))
        return self._confinement.setup(settings.command, environment, self._folder)


def trouble_with(settings: McpSettings) -> str:
    """Return the reason why this server cannot start; "" if it can."""
    if importlib.util.find_spec("mcp") is None:
        return f"the MCP SDK is not installed; {REMEDY}"
    if settings.command and shutil.which(settings.command[0], path=PATH) is None:
        return f"{settings.command[0]} is not in {PATH}; give its full path"
    return ""


def changed(server: str, tool: str) -> str:
    return (
        f"{tool} of the MCP server {server} has changed since the owner approved it, so it is "
        f"not used; `barnacle mcp approve {server}` shows the current one"
    )
