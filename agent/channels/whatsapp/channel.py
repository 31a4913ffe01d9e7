"""WhatsApp channel, and the platform that builds it from the settings."""

import asyncio
import logging
import math
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from agent.channels.approval_buttons import NOT_OPEN
from agent.channels.approvals import OpenApprovals
from agent.channels.base import Abilities, Answer, Channel, Deliver, Mark, Question
from agent.channels.context import ChannelContext
from agent.channels.credentials import find_secret
from agent.channels.file_stream import downloaded
from agent.channels.incoming_files import IncomingFile, IncomingFiles, unfetched
from agent.channels.platform import Platform, PlatformContext, SetupKey, channel_context
from agent.channels.push import PushAnswer, PushRequest
from agent.channels.push_ledger import PushLedger
from agent.channels.settings import ChannelsSettings, WhatsAppSettings
from agent.channels.urgent_first import went_ahead
from agent.channels.whatsapp import events
from agent.channels.whatsapp.client import UPLOAD_TIMEOUT_S, WhatsAppApi
from agent.channels.whatsapp.errors import in_words, is_window_over
from agent.channels.whatsapp.events import (
    FILES,
    WhatsAppInbound,
    WhatsAppMedia,
    WhatsAppStatus,
    challenged,
    is_true,
    refusal,
    verify_token,
)
from agent.channels.whatsapp.hidden_numbers import HiddenNumbers
from agent.channels.whatsapp.reply_windows import WhatsAppWindows
from agent.channels.whatsapp.send import WhatsAppSender, parts, to
from agent.config import Secret
from agent.errors import ChannelError, ConfigRefused, MessageRefused, StorageFull
from agent.messages import NOT_KEPT, Address, Attachment, Inbound, Outbound
from agent.system.clock import Clock
from agent.text.printable import printable_line

_log = logging.getLogger(__name__)

PATH = "/whatsapp"
# The platform comes again by itself, later each time
AGAIN_S = 5
# All files of a message; who posted it has gone by then, and finds it kept when it comes again
FETCH_TIMEOUT_S = 40.0
# It is shown for 25 s, or until a message comes
TYPING_EVERY_S = 20.0
HINT = "Your answer is shown in WhatsApp, as plain text: short paragraphs, no tables."
_SIGNS = {Mark.SEEN: "👀", Mark.DONE: "✅", Mark.FAILED: "❌"}
_TAKEN = PushAnswer(200, "taken")
_NOT_NOW = PushAnswer(503, "nobody listens now", AGAIN_S)


class WhatsAppParts(Struct, frozen=True):
    """Parts that the channel is made with.

    Args:
        app_secret: signs what is posted.
    """

    app_secret: Secret
    ledger: PushLedger
    windows: WhatsAppWindows
    numbers: HiddenNumbers
    place: ChannelContext
    clock: Clock


class WhatsAppChannel(Channel):
    """Channel of one business number."""

    name = events.NAME
    abilities = Abilities(
        hint=HINT,
        typing_every_s=TYPING_EVERY_S,
        upload_s=UPLOAD_TIMEOUT_S,
        shows_marks=True,
        takes_files=True,
        asks=True,
        answers_only=True,
    )
    path = PATH

    def __init__(self, api: WhatsAppApi, house: WhatsAppParts) -> None:
        self._api = api
        self._house = house
        self._place = house.place
        self._deliver: Deliver | None = None
        self._is_closed = False
        # What cannot wait, and everything else, in the order in which it came
        self._at_once = asyncio.Lock()
        self._in_turn = asyncio.Lock()
        self._questions = OpenApprovals()
        self._sending = WhatsAppSender(api, house.windows, self._questions)
        self._files = IncomingFiles(house.place.recogniser, lambda: None, FETCH_TIMEOUT_S)

    async def listen(self, deliver: Deliver) -> None:
        self._deliver = deliver
        try:
            await asyncio.Event().wait()
        finally:
            self._deliver = None

    def challenge(self, query: bytes) -> PushAnswer:
        return challenged(query, verify_token(self._house.app_secret.reveal()))

    def refusal(self, headers: Mapping[str, str]) -> PushAnswer | None:
        return refusal(headers)

    async def push(self, push: PushRequest) -> PushAnswer:
        if not is_true(self._house.app_secret.reveal(), push.headers, push.body):
            return PushAnswer(401, "no signature is over this body")
        try:
            told = tuple(events.read(push.body, self._api.number_id))
        except ValueError as err:
            # It is the platform's own, and would come again for days
            _log.warning("whatsapp: request failed (reason=%s)", err)
            return _TAKEN
        try:
            return await self._take(told)
        except StorageFull:
            return PushAnswer(503, "there is no room to keep it", AGAIN_S)

    async def send(self, message: Outbound) -> None:
        # Whoever has the number now may hear that nobody knows them, and no more
        is_kept = message.outbox_id != NOT_KEPT or not message.in_reply_to
        if is_kept and await self._house.numbers.is_left(message.recipient):
            raise MessageRefused("the person of that number has changed to another number")
        await self._sending.send(message)

    def attends(self, message: Outbound) -> bool:
        """Return true if they wrote lately; the platform takes nothing for anybody else."""
        return self._house.windows.is_open(message.recipient)

    def parts(self, text: str) -> tuple[str, ...]:
        return parts(text)

    async def ask(self, address: Address, question: Question) -> Answer:
        return await self._sending.ask(address, question)

    async def typing(self, inbound: Inbound) -> None:
        """Show typing, which also shows that it was read: the platform knows only both."""
        read = {"status": "read", "message_id": inbound.message_id}
        await self._courtesy({**read, "typing_indicator": {"type": "text"}})

    async def mark(self, inbound: Inbound, mark: Mark) -> None:
        sign = {"message_id": inbound.message_id, "emoji": _SIGNS[mark]}
        recipient = to(inbound.reply_target)
        await self._courtesy({**recipient, "type": "reaction", "reaction": sign})

    async def aclose(self) -> None:
        # Not before the message that is being kept
        async with self._in_turn, self._at_once:
            if not self._is_closed:
                self._is_closed = True
                await self._house.ledger.aclose()

    async def _courtesy(self, message: Mapping[str, object]) -> None:
        try:
            await self._api.send(message)
        except ChannelError as err:
            _log.info("whatsapp: request failed (reason=%s)", err)

    async def _take(self, told: Sequence[WhatsAppInbound | WhatsAppStatus]) -> PushAnswer:
        """Keep each message by itself: the rest of an interrupted post comes again."""
        async with self._at_once:
            if not self._listens():
                return _NOT_NOW
            said = [await self._named(one) for one in told if isinstance(one, WhatsAppInbound)]
            wait_s = await self._house.ledger.wait_s()
            # Strangers, whoever they are, keep out nobody whom the agent knows
            taken = [one for one in said if not wait_s or self._knows(one) or one.message.left]
            waiting = [one for one in taken if not await self._has(one, self._hurry)]
        for status in (one for one in told if isinstance(one, WhatsAppStatus)):
            await self._note(status)
        if waiting:
            async with self._in_turn:
                if not self._listens():
                    return _NOT_NOW
                for one in waiting:
                    await self._has(one, self._hear)
        if len(taken) < len(said):
            return PushAnswer(429, "too many messages", math.ceil(wait_s))
        return _TAKEN

    async def _named(self, said: WhatsAppInbound) -> WhatsAppInbound:
        """Return the message with its sender's number, also where that is hidden by now."""
        message, numbers = said.message, self._house.numbers
        user_id = message.from_user_id or ""
        if user_id and not message.sender and (number := await numbers.find(user_id)):
            return replace(said, message=replace(message, sender=number))
        if user_id and message.sender and self._knows(said):
            await numbers.note(user_id, message.sender)
        return said

    def _knows(self, said: WhatsAppInbound) -> bool:
        inbound = events.inbound_of(said, self._house.clock.wall_s())
        return inbound is not None and self._place.knows(inbound)

    def _listens(self) -> bool:
        return self._deliver is not None and not self._is_closed

    async def _has(
        self, said: WhatsAppInbound, take: Callable[[WhatsAppInbound, Deliver], Awaitable[bool]]
    ) -> bool:
        """Keep a message if it is new; return true if it is kept by now."""
        ledger, deliver = self._house.ledger, self._deliver
        known = said.message.id
        if deliver is None:
            return False
        if await ledger.answered(known) is not None:
            return True
        if not await take(said, deliver):
            return False
        await ledger.keep(known, _TAKEN)
        return True

    async def _hurry(self, said: WhatsAppInbound, deliver: Deliver) -> bool:
        """Deliver it at once if it needs no file; return true if it was delivered."""
        if left := said.message.left:
            await self._leave(left)
            return True
        inbound = events.inbound_of(said, self._house.clock.wall_s())
        if inbound is None:
            _log.info("whatsapp: event skipped (type=%s)", printable_line(said.message.type, 30))
            return True
        await self._open(inbound)
        if pressed := said.message.pressed:
            if not self._sending.press(inbound.address, pressed):
                await self._tell(inbound, NOT_OPEN)
            return True
        has_files = said.message.media is not None
        return await went_ahead(inbound, self._questions, deliver, has_files=has_files)

    async def _leave(self, number: str) -> None:
        """End what its person had there: it may be anybody's from now on."""
        _log.info("whatsapp: number changed by its person")
        await self._place.account_left(events.NAME, number)
        await self._house.numbers.leave(number)
        await self._house.windows.close(number)

    async def _open(self, inbound: Inbound) -> None:
        said_at_s = inbound.sent_at_s or inbound.received_at_s
        is_known = self._place.knows(inbound)
        if is_known:
            await self._house.numbers.take(inbound.reply_target)
        await self._house.windows.open(inbound.reply_target, said_at_s, is_known=is_known)

    async def _hear(self, said: WhatsAppInbound, deliver: Deliver) -> bool:
        inbound = events.inbound_of(said, self._house.clock.wall_s())
        if inbound is not None:
            await deliver(await self._with_file(inbound, said.message.type, said.message.media))
        return True

    async def _tell(self, inbound: Inbound, text: str) -> None:
        try:
            await self._sending.say(inbound.reply_target, text)
        except ChannelError as err:
            _log.info("whatsapp: request failed (reason=%s)", err)

    async def _note(self, status: WhatsAppStatus) -> None:
        """Log a message that was accepted and not delivered: nobody else knows."""
        if status.status != "failed":
            return
        why = "; ".join(in_words(one.code) for one in status.errors[:3])
        _log.warning("whatsapp: message not delivered (reason=%s)", why or "none given")
        if any(is_window_over(one.code) for one in status.errors):
            await self._house.windows.close(status.recipient_id, events.time_of(status.timestamp))

    async def _with_file(self, inbound: Inbound, kind: str, media: WhatsAppMedia | None) -> Inbound:
        if media is None:
            return inbound
        what = FILES.get(kind, "a file")
        if not self._place.knows(inbound):
            # A stranger fills no disk
            return unfetched(inbound, [what])
        coming = IncomingFile(what, partial(self._fetch, media), media.voice)
        return await self._files.added_to(inbound, [coming])

    async def _fetch(self, media: WhatsAppMedia) -> Attachment | str:
        async with self._api.media(media.id) as answer:
            pieces = downloaded(answer)
            kind = printable_line(media.mime_type, 100).strip() or "application/octet-stream"
            return await self._place.keeping.keep(pieces, kind, media.filename)


class WhatsApp(Platform):
    """Platform of a business number, by the Cloud API."""

    name = WhatsAppChannel.name
    about = "a number of yours at WhatsApp's Cloud API, which posts to the gateway"
    is_confirmed = False
    wanted = (
        SetupKey("phone_number_id", "The id of the number", "Not the number: the app's API Setup"),
        SetupKey(
            "token",
            "The token",
            "Of a system user of the business, with whatsapp_business_messaging",
            is_secret=True,
        ),
        SetupKey(
            "app_secret", "The app's secret", "The app's page Settings, Basic", is_secret=True
        ),
    )
    is_pushed = True

    def secrets(self, channels: ChannelsSettings, environ: Mapping[str, str]) -> Iterator[Secret]:
        wanted = _wanted(channels)
        yield _token(wanted, environ)
        yield _app_secret(wanted, environ)

    def open(self, channels: ChannelsSettings, reach: PlatformContext) -> Channel:
        place = channel_context(self.name, channels, reach)
        ledger = PushLedger(place.folder / "ledger.db", reach.clock)
        secret, api = _signing(channels, reach), _api(channels, reach)
        windows = WhatsAppWindows(place.folder / "windows.json", api.number_id, reach.clock)
        numbers = HiddenNumbers(place.folder / "numbers.json", api.number_id)
        house = WhatsAppParts(secret, ledger, windows, numbers, place, reach.clock)
        return WhatsAppChannel(api, house)

    async def identify(self, channels: ChannelsSettings, reach: PlatformContext) -> str:
        token = verify_token(_signing(channels, reach).reveal())
        who = await _api(channels, reach).whoami()
        return f"{who}; posts come to {PATH} of the gateway, with the verify token {token}"


PLATFORM = WhatsApp()


def _wanted(channels: ChannelsSettings) -> WhatsAppSettings:
    return channels.whatsapp or WhatsAppSettings()


def _token(wanted: WhatsAppSettings, environ: Mapping[str, str]) -> Secret:
    return find_secret("whatsapp_token", wanted.token, wanted.token_file, environ)


def _app_secret(wanted: WhatsAppSettings, environ: Mapping[str, str]) -> Secret:
    return find_secret("whatsapp_app_secret", wanted.app_secret, wanted.app_secret_file, environ)


def _signing(channels: ChannelsSettings, reach: PlatformContext) -> Secret:
    secret = _app_secret(_wanted(channels), reach.environ)
    if not secret:
        raise ConfigRefused(
            "channels.whatsapp has no app_secret, so anybody could write there: set "
            "app_secret_file to a file with the secret on the app's page Settings, Basic"
        )
    return secret


def _api(channels: ChannelsSettings, reach: PlatformContext) -> WhatsAppApi:
    wanted = _wanted(channels)
    if not wanted.phone_number_id:
        raise ConfigRefused(
            "channels.whatsapp has no phone_number_id: find it below the number on the app's "
            "page API Setup"
        )
    token = _token(wanted, reach.environ)
    if not token:
        raise ConfigRefused(
            "channels.whatsapp has no token: set token_file to a file with the token of a "
            "system user of the business that has whatsapp_business_messaging"
        )
    return WhatsAppApi(wanted.base_url, wanted.phone_number_id, token, reach.http)
