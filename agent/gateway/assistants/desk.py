"""Desk of the requests: makes each a message of its caller, once, and waits for the answer."""

import asyncio
import contextlib
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from functools import partial
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from agent.access.people import Person
from agent.errors import ChannelUnavailable, StorageFull
from agent.gateway.assistants import models
from agent.gateway.assistants.asked import Asked
from agent.gateway.assistants.channel import AssistantChannel
from agent.gateway.assistants.identity import (
    TRIED_AGAIN_S,
    RequestIdentity,
    identity_of,
    is_of,
    thread_of,
)
from agent.gateway.assistants.pending import PendingAnswer
from agent.gateway.assistants.refusals import RequestRefused
from agent.messages import Inbound, Provenance
from agent.messaging import earlier
from agent.messaging.earlier import EarlierMessage
from agent.storage.worker import DatabaseWorker
from agent.system.clock import Clock

# A turn may ask the owner several times, two minutes each
ANSWER_S = 900.0
# How often it is looked if the answer came another way, and a stream says that it is alive
BEAT_S = 10.0
# Requests that wait at once, of one caller and of all
MAX_OPEN_OF_ONE = 8
MAX_OPEN = 32
# New messages of one caller: a person says less, a program gone wild says more
MAX_MESSAGES = 60
WITHIN_S = 60.0
AGAIN_S = 2
MERGED_TEXT = "(No answer of its own: it was answered with a later message, or needs none.)"


class RequestOrigin(Protocol):
    """Origin of a request: a paired caller, by whatever protocol.

    Args:
        sender: the account by which the caller is a person.
        headers: names of the request and of its conversation.
    """

    @property
    def person(self) -> Person: ...

    @property
    def sender(self) -> str: ...

    @property
    def headers(self) -> Mapping[str, str]: ...


class OpenRequest(Struct, frozen=True):
    """Request that waits for its answer."""

    asked: Asked
    message: Inbound
    pending: PendingAnswer


class RequestRates:
    """Counter of new messages, by caller."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._of: defaultdict[str, deque[float]] = defaultdict(partial(deque, maxlen=MAX_MESSAGES))

    def wait_s(self, sender: str) -> float:
        """Return the wait until the caller's next message, 0 for now; a message is counted."""
        now_s = self._clock.monotonic_s()
        times = self._of[sender]
        if len(times) == MAX_MESSAGES and (left_s := times[0] + WITHIN_S - now_s) > 0:
            return left_s
        times.append(now_s)
        return 0.0


class AssistantDesk:
    """Takes requests and waits for answers.

    Args:
        name: of the agent, which its models are called by.
        person: returns the person whose account it is; None for no access.
    """

    def __init__(
        self,
        channel: AssistantChannel,
        journal: DatabaseWorker,
        clock: Clock,
        name: str,
        person: Callable[[str], Person | None],
    ) -> None:
        self._channel = channel
        self._journal = journal
        self._clock = clock
        self.name = name
        self.person = person
        self.rates = RequestRates(clock)
        # Between looking for an earlier one and accepting this nobody else may look
        self._one_at_a_time = asyncio.Lock()

    @contextlib.asynccontextmanager
    async def opened(
        self,
        asked: Asked,
        origin: RequestOrigin,
        body: bytes,
        *,
        ends_if_cancelled: bool = False,
    ) -> AsyncIterator[OpenRequest]:
        """Accept the request, or find it; while it is open its answer is waited for.

        Args:
            ends_if_cancelled: whoever is cancelled in the middle takes the request back.

        Raises:
            RequestRefused: it is not taken.
        """
        message = self._message(asked, origin)
        identity = identity_of(origin.sender, origin.headers, body)
        with contextlib.ExitStack() as stack:
            try:
                async with self._one_at_a_time:
                    known = await self._known(identity)
                    message = replace(message, message_id=_id(known, identity))
                    pending = stack.enter_context(self._place(message))
                    if ends_if_cancelled:
                        stack.enter_context(self._withdrawing(message, pending))
                    if known is None:
                        await _to_the_end(self._accept(asked, message))
            except (ChannelUnavailable, StorageFull) as err:
                raise RequestRefused(503, str(err), retry_after_s=AGAIN_S) from err
            if known is not None:
                _settle(pending, known)
            yield OpenRequest(asked, message, pending)

    async def beats(self, request: OpenRequest) -> AsyncIterator[bool]:
        """Yield true for each change of an answer, false where none came for a while.

        Raises:
            RequestRefused: no answer will come, or not in time.
        """
        end_s = self._clock.monotonic_s() + ANSWER_S
        while not request.pending.is_ended:
            changed = await request.pending.change(BEAT_S)
            if not changed:
                await self._look(request)
            if self._clock.monotonic_s() >= end_s:
                raise RequestRefused(
                    504,
                    "no answer yet: ask again with the same Idempotency-Key, and it is told",
                    code="timeout",
                )
            yield changed

    async def answer(self, request: OpenRequest) -> str:
        """Return the whole answer.

        Raises:
            RequestRefused: no answer will come, or not in time.
        """
        async for _ in self.beats(request):
            pass
        return request.pending.whole

    @property
    def now_s(self) -> int:
        return int(self._clock.wall_s())

    def _message(self, asked: Asked, origin: RequestOrigin) -> Inbound:
        is_relay = models.is_relay(asked.model, self.name, origin.person.rank)
        if asked.follows and not is_of(asked.follows, origin.sender):
            raise RequestRefused(404, "there is no such response", param="previous_response_id")
        return Inbound(
            message_id="",
            channel=self._channel.name,
            sender=origin.sender,
            reply_target=origin.sender,
            text=asked.text,
            received_at_s=self._clock.wall_s(),
            provenance=Provenance.WEB,
            thread=thread_of(origin.headers, asked.conversation) or None,
            sender_name=origin.person.name,
            is_forwarded=is_relay,
            is_spoken=asked.is_spoken,
        )

    async def _known(self, identity: RequestIdentity) -> EarlierMessage | None:
        if not identity.prefix:
            return None
        found = await self._find(identity.prefix)
        if found is None:
            return None
        if identity.is_keyed:
            if found.message_id != identity.message_id:
                raise RequestRefused(
                    422,
                    "this Idempotency-Key was used for another request",
                    code="idempotency_key_reused",
                )
            return found
        age_s = self._clock.wall_s() - found.received_at_s
        return found if age_s <= TRIED_AGAIN_S else None

    @contextlib.contextmanager
    def _place(self, message: Inbound) -> Iterator[PendingAnswer]:
        """Wait for an answer, if there is a place to wait at."""
        answers = self._channel.answers
        of_caller = sum(one.waiters for one in answers.of_recipient(message.reply_target))
        if of_caller >= MAX_OPEN_OF_ONE or len(answers) >= MAX_OPEN:
            raise RequestRefused(429, "too many requests wait already", retry_after_s=AGAIN_S)
        with answers.waiting(message.message_id, message.reply_target) as pending:
            yield pending

    @contextlib.contextmanager
    def _withdrawing(self, message: Inbound, pending: PendingAnswer) -> Iterator[None]:
        """End the turn on a message with whoever waits, unless somebody else waits for it, too."""
        try:
            yield
        except asyncio.CancelledError:
            withdraw = self._channel.withdraw
            if withdraw is not None and pending.waiters == 1:
                withdraw(message.channel, message.message_id)
            raise

    async def _accept(self, asked: Asked, message: Inbound) -> None:
        if wait_s := self.rates.wait_s(message.sender):
            raise RequestRefused(
                429, f"more than {MAX_MESSAGES} messages a minute", retry_after_s=int(wait_s) + 1
            )
        thread = message.thread
        if asked.follows:
            followed = await self._find(asked.follows)
            if followed is None:
                raise RequestRefused(404, "there is no such response", param="previous_response_id")
            thread = followed.thread
        # A conversation that nobody names is no other's
        message = replace(message, thread=thread or message.message_id)
        is_known = await self._journal.look(
            lambda db: earlier.has_history(db, message.conversation)
        )
        await self._channel.hand_over(replace(message, beside=asked.beside(is_known=is_known)))

    async def _look(self, request: OpenRequest) -> None:
        """Look for an answer that was not sent here, and for the end of the caller's access."""
        if self.person(request.message.sender) is None:
            raise RequestRefused(401, "this token gives no access any more", code="invalid_api_key")
        found = await self._find(request.message.message_id)
        if found is not None:
            _settle(request.pending, found)

    async def _find(self, prefix: str) -> EarlierMessage | None:
        channel = self._channel.name
        return await self._journal.look(lambda db: earlier.find(db, channel, prefix))


async def _to_the_end(work: Coroutine[None, None, None]) -> None:
    """Wait for it, and be cancelled after it: what is committed has to be begun as well."""
    task = asyncio.create_task(work)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.gather(task, return_exceptions=True)
        raise


def _id(known: EarlierMessage | None, identity: RequestIdentity) -> str:
    return identity.message_id if known is None else known.message_id


def _settle(pending: PendingAnswer, found: EarlierMessage) -> None:
    if not found.is_open:
        pending.end(MERGED_TEXT if found.answer is None else found.answer)
