"""Slack by the Events API: signed posts to the gateway.

A post is answered when what it says is kept. Slack waits for 3 s and comes again, which is known
by the event's own number, over restarts too.
"""

import asyncio
import hashlib
import hmac
import logging
import re
from collections.abc import Mapping
from urllib.parse import parse_qs

import msgspec
from msgspec import Struct

from agent.channels.base import Deliver
from agent.channels.context import ChannelContext
from agent.channels.push import PushAnswer, PushRequest
from agent.channels.push_ledger import PushLedger
from agent.channels.settings import SlackSettings
from agent.channels.slack.client import SlackApi
from agent.channels.slack.events import SlackCommand, SlackEventCall, SlackInteraction, SlackPost
from agent.channels.slack.receive import SlackInbound, read
from agent.channels.slack.socket_mode import SlackChannel
from agent.config import Secret
from agent.errors import StorageFull
from agent.system.clock import Clock
from agent.text.printable import printable_line

SIGNATURE, TIME = "x-slack-signature", "x-slack-request-timestamp"
# As Slack advises: what was overheard is good for no longer
REPLAY_WINDOW_S = 300
_SIGNATURE = re.compile(r"v0=[0-9a-f]{64}")
_SECONDS = re.compile(r"[0-9]{1,12}")


def refusal(headers: Mapping[str, str], now_s: float) -> PushAnswer | None:
    """Return the refusal if no body can be right with these headers; else None."""
    time = headers.get(TIME, "")
    if not _SECONDS.fullmatch(time) or abs(now_s - int(time)) > REPLAY_WINDOW_S:
        return PushAnswer(401, f"{TIME} is missing, or not within {REPLAY_WINDOW_S} s of now")
    if not _SIGNATURE.fullmatch(headers.get(SIGNATURE, "")):
        return PushAnswer(401, f"{SIGNATURE} is missing or no signature")
    return None


def is_true(secret: str, headers: Mapping[str, str], body: bytes) -> bool:
    """Return true if the signature fits this body; the time taken reveals nothing."""
    right = signature(secret, headers.get(TIME, ""), body)
    return hmac.compare_digest(right.encode(), headers.get(SIGNATURE, "").encode())


def signature(secret: str, time: str, body: bytes) -> str:
    return (
        f"v0={hmac.new(secret.encode(), f'v0:{time}:'.encode() + body, hashlib.sha256).hexdigest()}"
    )


_log = logging.getLogger(__name__)

# Of events, of Interactivity and of every command
PATH = "/slack"
# Slack comes again at once, and after one and five minutes
AGAIN_S = 5
_FORM = "application/x-www-form-urlencoded"
# A command has about fifteen
_MAX_FIELDS = 60
_NUMBER = re.compile(r"[A-Za-z0-9.]{1,200}")
# Letters and digits so far; nothing that a browser would take for a page
_CHALLENGE = re.compile(r"[A-Za-z0-9._~+/=-]{1,300}")
# What stands there would be shown to whoever typed a command
_TAKEN = PushAnswer(200, "", is_bare=True)
_NOT_NOW = PushAnswer(503, "nobody listens now", AGAIN_S)


class EventsApiParts(Struct, frozen=True):
    """Parts for receiving posts.

    Args:
        secret: signs what is posted.
        ledger: knows what was taken.
    """

    secret: Secret
    ledger: PushLedger


class EventsApiChannel(SlackChannel):
    """Channel of one app in one workspace, by the gateway."""

    path = PATH

    def __init__(
        self,
        api: SlackApi,
        settings: SlackSettings,
        place: ChannelContext,
        clock: Clock,
        mailbox: EventsApiParts,
    ) -> None:
        super().__init__(api, settings, place, clock)
        # Nobody is heard from while nobody writes
        self.pulse = None
        self._mailbox = mailbox
        self._clock = clock
        self._deliver: Deliver | None = None
        self._is_closed = False
        # What cannot wait, and everything else, in the order in which it came
        self._at_once = asyncio.Lock()
        self._in_turn = asyncio.Lock()

    async def listen(self, deliver: Deliver) -> None:
        await self._hearing.begin()
        self._deliver = deliver
        try:
            await asyncio.Event().wait()
        finally:
            self._deliver = None

    def refusal(self, headers: Mapping[str, str]) -> PushAnswer | None:
        return refusal(headers, self._clock.wall_s())

    async def push(self, push: PushRequest) -> PushAnswer:
        headers, body = push.headers, push.body
        if not is_true(self._mailbox.secret.reveal(), headers, body):
            return PushAnswer(401, "no signature is over this body")
        if again := headers.get("x-slack-retry-num"):
            why = headers.get("x-slack-retry-reason", "")
            _log.info(
                "slack: event delivered again (number=%s, reason=%s)",
                *(printable_line(i, 40) for i in (again, why)),
            )
        try:
            if headers.get("content-type", "").partition(";")[0].strip().lower() == _FORM:
                return await self._form(body)
            return await self._post(body)
        except StorageFull:
            return PushAnswer(503, "there is no room to keep it", AGAIN_S)

    async def aclose(self) -> None:
        # Not before the message that is being kept
        async with self._in_turn, self._at_once:
            if not self._is_closed:
                self._is_closed = True
                await self._mailbox.ledger.aclose()
        await super().aclose()

    async def _post(self, body: bytes) -> PushAnswer:
        post = read(body, SlackPost)
        if post is None:
            # It is Slack's own, and would come again
            return _TAKEN
        if post.type == "url_verification":
            is_right = _CHALLENGE.fullmatch(post.challenge)
            return PushAnswer(200, post.challenge, is_bare=True) if is_right else _TAKEN
        if post.type == "app_rate_limited":
            _log.warning("slack: hourly limit of events reached; Slack holds back messages")
        if post.type != "event_callback":
            return _TAKEN
        if self._deliver is None:
            return _NOT_NOW
        call = read(body, SlackEventCall)
        said = self._hearing.said(call) if call is not None else None
        return await self._keep(post.event_id, said)

    async def _form(self, body: bytes) -> PushAnswer:
        if self._deliver is None:
            return _NOT_NOW
        try:
            found = parse_qs(body.decode("ascii"), max_num_fields=_MAX_FIELDS)
        except ValueError:
            _log.warning("slack: form skipped, not readable")
            return _TAKEN
        told = {name: values[0] for name, values in found.items()}
        if "payload" in told:
            pressed = read(told["payload"], SlackInteraction)
            if pressed is not None:
                self._hearing.press(pressed)
            return _TAKEN
        command = read(msgspec.json.encode(told), SlackCommand)
        if command is None or not _NUMBER.fullmatch(command.trigger_id):
            return _TAKEN
        number = command.trigger_id
        return await self._keep(number, self._hearing.commanded(command, number))

    async def _keep(self, number: str, said: SlackInbound | None) -> PushAnswer:
        """Keep each number once; `said` is None if it is not for us."""
        if said is None or not _NUMBER.fullmatch(number):
            return _TAKEN
        async with self._at_once:
            if await self._has(number, said, is_urgent=True):
                return _TAKEN
        async with self._in_turn:
            return _TAKEN if await self._has(number, said, is_urgent=False) else _NOT_NOW

    async def _has(self, number: str, said: SlackInbound, *, is_urgent: bool) -> bool:
        """Return true if it is kept; an urgent message does not wait for files."""
        ledger, deliver = self._mailbox.ledger, self._deliver
        if self._is_closed or deliver is None:
            return False
        if await ledger.answered(number) is not None:
            return True
        if not is_urgent:
            await self._hearing.take(said, deliver)
        elif not await self._hearing.hurry(said, deliver):
            return False
        await ledger.keep(number, _TAKEN)
        return True
