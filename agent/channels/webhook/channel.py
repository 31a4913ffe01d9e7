"""Webhook channel, and the platform that builds it from the settings."""

import asyncio
import math
import secrets
from collections.abc import Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from agent.channels import approvals
from agent.channels.approvals import OpenApprovals
from agent.channels.base import Abilities, Answer, Channel, Deliver, Question
from agent.channels.credentials import find_secret
from agent.channels.platform import Platform, PlatformContext, SetupKey
from agent.channels.push import PushAnswer, PushRequest
from agent.channels.push_ledger import PushLedger
from agent.channels.settings import ChannelsSettings, WebhookSettings
from agent.channels.urgency import is_urgent
from agent.channels.webhook.messages import (
    NAME,
    claim_of,
    inbound_of,
    is_true,
    key_of,
    read,
    signed,
    told_by,
)
from agent.config import Secret
from agent.errors import (
    ChannelRefused,
    ChannelUnavailable,
    ConfigRefused,
    MessageRefused,
    NetworkError,
    StorageFull,
)
from agent.messages import Address, Outbound
from agent.net.http import HttpAnswer, HttpClient, HttpRequest
from agent.system.clock import Clock

# A program takes the message and works later
ANSWER_TIMEOUT_S = 15.0
# Whoever asks for more is asked again after this
MAX_RETRY_AFTER_S = 3600.0
# The program, or what is before it, does not know us
_NOT_OURS = frozenset({401, 403, 404, 405, 410})
# It will never take this one
_NEVER = frozenset({400, 413, 415, 422})
_ACCEPTED = range(200, 300)


async def post(http: HttpClient, url: str, headers: Mapping[str, str], body: bytes) -> None:
    """Post a message; return when the program has it.

    Raises:
        ChannelUnavailable: later, perhaps.
        ChannelRefused: a person has to look.
        MessageRefused: never.
    """
    sent = {**headers, "content-type": "application/json"}
    try:
        async with http.exchange(HttpRequest("POST", url, sent, body), ANSWER_TIMEOUT_S) as answer:
            _understand(answer)
    except NetworkError as err:
        raise ChannelUnavailable(f"webhook: {err}") from err


def _understand(answer: HttpAnswer) -> None:
    said = f"webhook: {answer.host} answered {answer.status}"
    if answer.status in _ACCEPTED:
        return
    if answer.status in _NEVER:
        raise MessageRefused(said)
    if answer.status in _NOT_OURS:
        raise ChannelRefused(f"{said}: check channels.webhook.reply_url and the secret")
    raise ChannelUnavailable(said, retry_after_s=_retry_after_s(answer.header("retry-after")))


def _retry_after_s(told: str) -> float | None:
    is_number = told.isascii() and told.isdigit() and len(told) < 10  # noqa: PLR2004 - no huge ints
    return min(float(told), MAX_RETRY_AFTER_S) if is_number else None


PATH = "/webhook"
# A sender that has waited so long comes again
AGAIN_S = 2
# Longer answers come in parts
MAX_PART_CHARS = 16_000
HINT = "Your answer is handed to a program: plain Markdown."
_TAKEN = PushAnswer(200, "taken")


class WebhookPeer(Struct, frozen=True):
    """Program at the other end: its address, and the key of both."""

    url: str
    key: bytes


class WebhookChannel(Channel):
    """Channel of one program that people, or machines, speak through."""

    name = NAME
    abilities = Abilities(hint=HINT, asks=True)
    path = PATH

    def __init__(
        self, peer: WebhookPeer, ledger: PushLedger, http: HttpClient, clock: Clock
    ) -> None:
        self._peer = peer
        self._ledger = ledger
        self._http = http
        self._clock = clock
        self._deliver: Deliver | None = None
        self._is_closed = False
        self._one_at_a_time = asyncio.Lock()
        self._open = OpenApprovals()

    async def listen(self, deliver: Deliver) -> None:
        self._deliver = deliver
        try:
            await asyncio.Event().wait()
        finally:
            self._deliver = None

    def refusal(self, headers: Mapping[str, str]) -> PushAnswer | None:
        claim = claim_of(headers, self._clock.wall_s())
        return PushAnswer(401, claim) if isinstance(claim, str) else None

    async def push(self, push: PushRequest) -> PushAnswer:
        claim = claim_of(push.headers, self._clock.wall_s())
        if isinstance(claim, str):
            return PushAnswer(401, claim)
        if not is_true(self._peer.key, claim, push.body):
            return PushAnswer(401, "no signature is over this body")
        try:
            # In the order in which they came, and none twice at the same time
            async with self._one_at_a_time:
                return await self._take(claim.message_id, push.body)
        except StorageFull:
            return PushAnswer(503, "there is no room to keep it", AGAIN_S)

    async def send(self, message: Outbound) -> None:
        known = message.outbox_id or secrets.token_hex(8)
        await self._post(f"barnacle-{known}-{message.part}", message)

    def parts(self, text: str) -> tuple[str, ...]:
        from agent.channels.render.splitter import split  # noqa: PLC0415 - an answer needs it, no start

        return split(text, MAX_PART_CHARS, len)

    async def ask(self, address: Address, question: Question) -> Answer:
        async def put(message: Outbound) -> None:
            await self._post(f"barnacle-question-{secrets.token_hex(8)}", message)

        return await approvals.ask(self._open, address, question, put)

    async def aclose(self) -> None:
        # Not before the message that is being kept
        async with self._one_at_a_time:
            if not self._is_closed:
                self._is_closed = True
                await self._ledger.aclose()

    async def _take(self, message_id: str, body: bytes) -> PushAnswer:
        if self._deliver is None or self._is_closed:
            return PushAnswer(503, "nobody listens now", AGAIN_S)
        known = await self._ledger.answered(message_id)
        if known is not None:
            return replace(known, text=f"{known.text}, and this again")
        try:
            inbound = inbound_of(read(body), message_id, self._clock.wall_s())
        except ValueError as err:
            inbound, answered = None, PushAnswer(400, str(err))
        else:
            answered = _TAKEN
        # What stops the agent comes through, however much else is said
        may_wait = inbound is None or not is_urgent(inbound.text)
        if may_wait and (wait_s := await self._ledger.wait_s()):
            return PushAnswer(429, "too many messages", math.ceil(wait_s))
        if inbound is not None and not self._open.answer(inbound):
            await self._deliver(inbound)
        await self._ledger.keep(message_id, answered)
        return answered

    async def _post(self, message_id: str, message: Outbound) -> None:
        body = told_by(message)
        headers = signed(self._peer.key, message_id, self._clock.wall_s(), body)
        await post(self._http, self._peer.url, headers, body)


class Webhook(Platform):
    """Platform of a program that speaks for people."""

    name = WebhookChannel.name
    about = "a program of yours that speaks for people"
    wanted = (
        SetupKey("reply_url", "Where it takes answers, by a signed POST"),
        SetupKey(
            "secret",
            "What both sign with",
            'It is made by: echo "whsec_$(openssl rand -base64 32)"',
            is_secret=True,
        ),
    )
    is_pushed = True

    def secrets(self, channels: ChannelsSettings, environ: Mapping[str, str]) -> Iterator[Secret]:
        yield _secret(_wanted(channels), environ)

    def open(self, channels: ChannelsSettings, reach: PlatformContext) -> Channel:
        peer = _peer(_wanted(channels), reach.environ)
        ledger = PushLedger(reach.paths.webhook_db, reach.clock)
        return WebhookChannel(peer, ledger, reach.http, reach.clock)

    async def identify(self, channels: ChannelsSettings, reach: PlatformContext) -> str:
        return f"answers go to {_peer(_wanted(channels), reach.environ).url}, which was not asked"


PLATFORM = Webhook()


def _wanted(channels: ChannelsSettings) -> WebhookSettings:
    return channels.webhook or WebhookSettings()


def _secret(wanted: WebhookSettings, environ: Mapping[str, str]) -> Secret:
    return find_secret("webhook_secret", wanted.secret, wanted.secret_file, environ)


def _peer(wanted: WebhookSettings, environ: Mapping[str, str]) -> WebhookPeer:
    """Return the address of answers, and the key that messages are signed with."""
    secret = _secret(wanted, environ)
    if not secret:
        raise ConfigRefused(
            "channels.webhook has no secret, so anybody could write there: set secret_file "
            'to a file with the output of `echo "whsec_$(openssl rand -base64 32)"`'
        )
    if not wanted.reply_url:
        raise ConfigRefused(
            "channels.webhook has no reply_url: set it to the address that takes the answers"
        )
    return WebhookPeer(wanted.reply_url, key_of(secret.reveal()))
