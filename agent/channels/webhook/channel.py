"""The webhook channel: signed messages come in by the gateway, and answers go out by a signed POST.

A sender is told that a message was taken when it is committed, never before.
"""

import asyncio
import math
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace

from agent.channels import answers
from agent.channels.answers import OpenQuestions
from agent.channels.base import Abilities, Answer, Channel, Deliver, Question
from agent.channels.ledger import Ledger
from agent.channels.pushed import Answered, Push
from agent.channels.webhook import letters, posting, signing
from agent.clock import Clock
from agent.errors import StorageFull
from agent.http import HttpClient
from agent.messages import Address, Inbound, Outbound

PATH = "/webhook"
# A sender that has waited so long comes again
AGAIN_S = 2
# Longer answers come in parts
MAX_PART_CHARS = 16_000
HINT = "Your answer is handed to a program: plain Markdown."
_TAKEN = Answered(200, "taken")


@dataclass(frozen=True, slots=True)
class Peer:
    """The program at the other end: where it takes answers, and the key that both sign with."""

    url: str
    key: bytes


class WebhookChannel(Channel):
    """One program that people, or machines, speak through."""

    name = letters.NAME
    abilities = Abilities(hint=HINT, asks=True)
    path = PATH

    def __init__(self, peer: Peer, ledger: Ledger, http: HttpClient, clock: Clock) -> None:
        self._peer = peer
        self._ledger = ledger
        self._http = http
        self._clock = clock
        self._deliver: Deliver | None = None
        self._is_closed = False
        self._one_at_a_time = asyncio.Lock()
        self._open = OpenQuestions()

    async def listen(self, deliver: Deliver) -> None:
        self._deliver = deliver
        try:
            await asyncio.Event().wait()
        finally:
            self._deliver = None

    def refusal(self, headers: Mapping[str, str]) -> Answered | None:
        claim = signing.claim_of(headers, self._clock.wall_s())
        return Answered(401, claim) if isinstance(claim, str) else None

    async def push(self, push: Push) -> Answered:
        claim = signing.claim_of(push.headers, self._clock.wall_s())
        if isinstance(claim, str):
            return Answered(401, claim)
        if not signing.is_true(self._peer.key, claim, push.body):
            return Answered(401, "no signature is over this body")
        try:
            # In the order in which they came, and none twice at the same time
            async with self._one_at_a_time:
                return await self._take(claim.message_id, push.body)
        except StorageFull:
            return Answered(503, "there is no room to keep it", AGAIN_S)

    async def send(self, message: Outbound) -> None:
        known = message.outbox_id or secrets.token_hex(8)
        await self._post(f"barnacle-{known}-{message.part}", message)

    def parts(self, text: str) -> tuple[str, ...]:
        from agent.channels.render import split  # noqa: PLC0415 - an answer needs it, no start

        return split(text, MAX_PART_CHARS, len)

    async def ask(self, address: Address, question: Question) -> Answer:
        text = answers.in_words(question)
        message = Outbound(0, self.name, address.target, text, "", address.thread)
        # Before it is shown: a quick answer must find the question open
        waiting = asyncio.ensure_future(self._open.wait(address, question))
        try:
            # Its first step opens it
            await asyncio.sleep(0)
            await self._post(f"barnacle-question-{secrets.token_hex(8)}", message)
            return await waiting
        finally:
            waiting.cancel()

    async def aclose(self) -> None:
        # Not before the message that is being kept
        async with self._one_at_a_time:
            if not self._is_closed:
                self._is_closed = True
                await self._ledger.aclose()

    async def _take(self, message_id: str, body: bytes) -> Answered:
        if self._deliver is None or self._is_closed:
            return Answered(503, "nobody listens now", AGAIN_S)
        known = await self._ledger.answered(message_id)
        if known is not None:
            return replace(known, text=f"{known.text}, and this again")
        if wait_s := await self._ledger.wait_s():
            return Answered(429, "too many messages", math.ceil(wait_s))
        answered = await self._deliver_or_say_why(message_id, body, self._deliver)
        await self._ledger.keep(message_id, answered)
        return answered

    async def _deliver_or_say_why(self, message_id: str, body: bytes, deliver: Deliver) -> Answered:
        try:
            letter = letters.read(body)
        except ValueError as err:
            return Answered(400, str(err))
        inbound: Inbound = letters.inbound_of(letter, message_id, self._clock.wall_s())
        if not self._open.answer(inbound):
            await deliver(inbound)
        return _TAKEN

    async def _post(self, message_id: str, message: Outbound) -> None:
        body = letters.told_by(message)
        headers = signing.signed(self._peer.key, message_id, self._clock.wall_s(), body)
        await posting.post(self._http, self._peer.url, headers, body)
