"""Far side: does for other devices what is lent to them, each act once, behind this agent's gate.

The other device is a paired caller: its words are at most a user's, and what changes something asks
this device's owner. An act is on the disk before it begins; a second message with its id is told
what is known of the first.
"""

import asyncio
import logging
import secrets
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial

import msgspec
from msgspec import Struct

from agent.access.people import Person
from agent.devices.ledger import DeviceLedger, TakenAct
from agent.devices.wire import (
    MAX_TEXT_CHARS,
    DeviceReply,
    DeviceRequest,
    OfferedBoard,
    Outcome,
    RequestKind,
)
from agent.errors import BadArguments, StorageFull
from agent.gateway.assistants.mcp.hand import HandResult
from agent.link.base import Board, BoardState
from agent.link.manifest import BoardPin, Manifest, Method
from agent.system.clock import Clock
from agent.system.crash_points import crash_point
from agent.tools.board import BoardTool

_log = logging.getLogger(__name__)

# Of one other device within a minute: a person asks less, a program gone wild more
MAX_REQUESTS = 240
WITHIN_S = 60.0
# Acts at work for one other device: each may wait for the owner
MAX_AT_WORK = 8
NAME = "devices"
READING_TOOLS = frozenset({"readings_list", "readings_query"})
UNPAIRED = "{name} has no access here yet: run `barnacle pair --device {name}` on this device"
_SESSION_BYTES = 8

Answer = Callable[[DeviceReply], Awaitable[None]]


class UseLent(Struct, frozen=True):
    """Call of a tool for another device, as the gate of this one sees it."""

    caller: "DeviceOrigin"
    tool: str
    arguments: str
    is_relayed: bool


class DeviceOrigin(Struct, frozen=True):
    """Other device as a paired caller; `sender` is its name, which is its account."""

    person: Person
    sender: str
    headers: Mapping[str, str] = {}


class Loan(Struct, frozen=True):
    """Hand that is lent to one other device.

    Args:
        pins: names of outputs; one of a further board stands behind its name and a colon.
        has_readings: every input and recorded reading may be looked at.
    """

    pins: frozenset[str] = frozenset()
    has_readings: bool = True

    def of(self, board: str, manifest: Manifest) -> Manifest:
        """Return the part of a board's manifest that is lent."""
        acting = {
            field.pins
            for method in manifest.methods
            if not _looks(method)
            for field in method.arguments
        }
        pins = (self._pin(board, pin, acting) for pin in manifest.pins)
        kept = tuple(pin for pin in pins if pin.can)
        methods = tuple(one for one in manifest.methods if self._lends(one))
        return msgspec.structs.replace(manifest, pins=kept, methods=methods)

    def _pin(self, board: str, pin: BoardPin, acting: set[str]) -> BoardPin:
        named = {pin.name, f"{board}:{pin.name}"} if board == "board" else {f"{board}:{pin.name}"}
        if named & self.pins:
            return pin
        can = tuple(one for one in pin.can if self.has_readings and one not in acting)
        return msgspec.structs.replace(pin, can=can)

    def _lends(self, method: Method) -> bool:
        has_pin = any(field.pins for field in method.arguments)
        return has_pin or (self.has_readings and _looks(method))


class DeviceHost:
    """Answers the requests of other devices.

    Args:
        ledger: of this device, for what is done for others and for what is asked of them.
        use: runs a call; None while the agent is not at work.
        person: returns the person that another device was paired as.
    """

    def __init__(
        self,
        loans: Mapping[str, Loan],
        boards: Sequence[Board],
        ledger: DeviceLedger,
        use: Callable[[UseLent], Awaitable[HandResult | None]],
        person: Callable[[str], Person | None],
        clock: Clock,
    ) -> None:
        self._loans = loans
        self._boards = boards
        self.ledger = ledger
        self._use = use
        self._person = person
        self._clock = clock
        self._session = secrets.token_hex(_SESSION_BYTES)
        self._begun_s = clock.monotonic_s()
        # Acts at work; they end in their time, whether a connection stays or not
        self._at_work: dict[tuple[str, str], asyncio.Task[None]] = {}
        self._came_s: defaultdict[str, deque[float]] = defaultdict(
            partial(deque, maxlen=MAX_REQUESTS)
        )

    async def take(self, caller: str, request: DeviceRequest, answer: Answer) -> None:
        """Answer a request; one beyond the limits is dropped, and said again by its sender."""
        if self._is_too_often(caller):
            return
        try:
            book = await self.ledger.book()
            blank = DeviceReply(
                id=request.id,
                outcome=Outcome.REFUSED,
                session=self._session,
                book=book,
                clock_ms=self._now_ms,
            )
            match request.kind:
                case RequestKind.HELLO:
                    await answer(self._offer(caller, blank))
                case RequestKind.LOOK:
                    await answer(await self._looked(caller, request, blank))
                case RequestKind.ACT:
                    await self._act(caller, request, blank, answer)
                case RequestKind.SETTLE:
                    await answer(await self._settled(caller, request.id, blank))
        except StorageFull as err:
            # Nobody can say now, and a word that does not hold is worse than none
            _log.warning("devices: request not answered (caller=%s, reason=%s)", caller, err)

    async def aclose(self) -> None:
        """Give up what is at work: the next start says that its outcome is unknown."""
        every = list(self._at_work.values())
        for one in every:
            one.cancel()
        await asyncio.gather(*every, return_exceptions=True)

    @property
    def _now_ms(self) -> int:
        return int((self._clock.monotonic_s() - self._begun_s) * 1000)

    def _offer(self, caller: str, blank: DeviceReply) -> DeviceReply:
        loan = self._loans[caller]
        boards = tuple(
            OfferedBoard(
                board.name,
                board.status.state is BoardState.READY,
                msgspec.Raw(msgspec.json.encode(loan.of(board.name, board.manifest))),
            )
            for board in self._boards
            if board.manifest is not None
        )
        offered = msgspec.structs.replace(blank, outcome=Outcome.OFFER, boards=boards)
        return msgspec.structs.replace(offered, has_readings=loan.has_readings)

    async def _looked(self, caller: str, request: DeviceRequest, blank: DeviceReply) -> DeviceReply:
        try:
            use = self._judged(caller, request, may_act=False)
        except BadArguments as err:
            return msgspec.structs.replace(blank, text=str(err))
        return await self._used(use, blank)

    async def _act(
        self, caller: str, request: DeviceRequest, blank: DeviceReply, answer: Answer
    ) -> None:
        key = (caller, request.id)
        if key in self._at_work:
            await answer(msgspec.structs.replace(blank, outcome=Outcome.AT_WORK))
            return
        if len([one for one, _ in self._at_work if one == caller]) >= MAX_AT_WORK:
            return
        # Held from here on: a second message with this id may come while the first is noted
        self._at_work[key] = asyncio.ensure_future(self._begin(caller, request, blank, answer))
        self._at_work[key].add_done_callback(lambda _: self._at_work.pop(key, None))

    async def _begin(
        self, caller: str, request: DeviceRequest, blank: DeviceReply, answer: Answer
    ) -> None:
        try:
            await answer(await self._begun(caller, request, blank, answer))
        except StorageFull as err:
            _log.warning("devices: act not answered (caller=%s, reason=%s)", caller, err)

    async def _begun(
        self, caller: str, request: DeviceRequest, blank: DeviceReply, answer: Answer
    ) -> DeviceReply:
        is_late = request.session != self._session or self._now_ms > request.until_ms
        if is_late:
            known = await self.ledger.known(caller, request.id)
            return _as_known(blank, known) if known else _with(blank, Outcome.STALE)
        if (known := await self.ledger.take(caller, request.id)) is not None:
            return _as_known(blank, known)
        crash_point("device act taken")
        await answer(_with(blank, Outcome.AT_WORK))
        try:
            done = await self._used(self._judged(caller, request, may_act=True), blank)
        except BadArguments as err:
            done = _with(blank, Outcome.REFUSED, str(err))
        crash_point("device act done")
        await self.ledger.end(caller, request.id, done.outcome, done.text)
        return done

    async def _settled(self, caller: str, act: str, blank: DeviceReply) -> DeviceReply:
        if (caller, act) in self._at_work:
            return _with(blank, Outcome.AT_WORK)
        return _as_known(blank, await self.ledger.settle(caller, act))

    async def _used(self, use: UseLent, blank: DeviceReply) -> DeviceReply:
        done = await self._use(use)
        if done is None:
            return _with(blank, Outcome.REFUSED, "the agent takes no calls now")
        text = done.result.text[:MAX_TEXT_CHARS]
        if done.result.success:
            return _with(blank, Outcome.DONE, text)
        return _with(blank, Outcome.FAILED if done.has_acted else Outcome.REFUSED, text)

    def _judged(self, caller: str, request: DeviceRequest, *, may_act: bool) -> UseLent:
        """Return the call if it is one of what is lent.

        Raises:
            BadArguments: it is not.
        """
        person = self._person(caller)
        if person is None:
            raise BadArguments(UNPAIRED.format(name=caller))
        origin = DeviceOrigin(person, caller)
        loan = self._loans[caller]
        if request.tool in READING_TOOLS and loan.has_readings:
            return UseLent(origin, request.tool, request.arguments, request.is_relayed)
        for board in self._boards:
            method = request.tool.removeprefix(f"{board.name}_")
            lent = loan.of(board.name, board.manifest) if board.manifest else None
            found = lent.method(method) if lent and method != request.tool else None
            if lent is None or found is None or (not may_act and not _looks(found)):
                continue
            # It knows the pins that are lent, and no others
            BoardTool(board, lent, found).parse(request.arguments)
            return UseLent(origin, request.tool, request.arguments, request.is_relayed)
        raise BadArguments("that is not lent to this device")

    def _is_too_often(self, caller: str) -> bool:
        now_s, came_s = self._clock.monotonic_s(), self._came_s[caller]
        if len(came_s) == MAX_REQUESTS and now_s - came_s[0] < WITHIN_S:
            return True
        came_s.append(now_s)
        return False


def _looks(method: Method) -> bool:
    return method.safety == "read"


def _with(reply: DeviceReply, outcome: Outcome, text: str = "") -> DeviceReply:
    return msgspec.structs.replace(reply, outcome=outcome, text=text)


def _as_known(reply: DeviceReply, known: TakenAct) -> DeviceReply:
    # On record as at work, and not at work: a cut came in between
    is_cut = known.outcome is Outcome.AT_WORK
    return _with(reply, Outcome.UNKNOWN if is_cut else known.outcome, known.text)
