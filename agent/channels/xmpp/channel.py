"""XMPP channel, and the platform that builds it; its library is an extra."""

import logging
from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec
from urllib.parse import urlsplit

from agent.channels import approvals
from agent.channels.approvals import OpenApprovals
from agent.channels.base import Abilities, Answer, Channel, Deliver, Mark, Pulse, Question
from agent.channels.certificate_authority import trust
from agent.channels.context import ChannelContext
from agent.channels.credentials import find_secret
from agent.channels.incoming_files import IncomingFiles
from agent.channels.platform import Platform, PlatformContext, SetupKey, channel_context
from agent.channels.settings import ChannelsSettings, XmppSettings
from agent.channels.xmpp.connection import connected
from agent.channels.xmpp.cursor import XmppCursor
from agent.channels.xmpp.files import UPLOAD_TIMEOUT_S
from agent.channels.xmpp.inbound import NAME, about
from agent.channels.xmpp.login import XmppLogin
from agent.channels.xmpp.receive import XmppReceiver, XmppReceiverParts
from agent.channels.xmpp.send import XmppSender, parts
from agent.channels.xmpp.stanzas import REACTIONS, STATES, element, within
from agent.config import Secret
from agent.errors import ChannelError, ConfigRefused
from agent.messages import Address, Inbound, Outbound
from agent.net.http import HttpClient
from agent.system.clock import Clock
from agent.text.config_hints import install_hint

_log = logging.getLogger(__name__)

# Programs show it for about half a minute
TYPING_EVERY_S = 20.0
# All files of a message; nothing else is heard meanwhile
FETCH_TIMEOUT_S = 45.0
HINT = "Your answer is shown in XMPP, as plain text: a few short paragraphs, no tables."
_SIGNS = {Mark.SEEN: "👀", Mark.DONE: "👍", Mark.FAILED: "😢"}


class XmppChannel(Channel):
    """Channel of one account on its server."""

    name = NAME
    abilities = Abilities(
        hint=HINT,
        typing_every_s=TYPING_EVERY_S,
        upload_s=UPLOAD_TIMEOUT_S,
        shows_drafts=True,
        shows_marks=True,
        takes_files=True,
        asks=True,
    )

    def __init__(
        self,
        login: XmppLogin,
        rooms: tuple[str, ...],
        place: ChannelContext,
        http: HttpClient,
        clock: Clock,
    ) -> None:
        self.pulse: Pulse = Pulse(clock)
        position = XmppCursor(place.folder / "position.json")
        self._sending = XmppSender(rooms, http, place.keeping, position, clock)
        self._questions = OpenApprovals()
        files = IncomingFiles(place.recogniser, self.pulse.beat, FETCH_TIMEOUT_S)
        ears = XmppReceiverParts(self._questions, files, self._sending.files, place.knows, rooms)
        self._listening = XmppReceiver(login, ears, self._sending, self.pulse, clock)
        self._typing: set[str] = set()

    @property
    def gap(self) -> str:
        rooms = self._sending.rooms
        told = "" if rooms is None else rooms.gap
        return f"cannot join {told}: check channels.xmpp.rooms" if told else ""

    async def listen(self, deliver: Deliver) -> None:
        await self._listening.run(deliver)

    async def send(self, message: Outbound) -> None:
        await self._sending.send(message)

    def parts(self, text: str) -> tuple[str, ...]:
        return parts(text)

    async def draft(self, inbound: Inbound, text_so_far: str) -> None:
        if text_so_far.strip() and not inbound.is_group:
            self._sending.drafts.show(inbound, text_so_far)

    async def break_off(self, inbound: Inbound) -> None:
        await self._sending.drafts.break_off(inbound)

    async def ask(self, address: Address, question: Question) -> Answer:
        return await approvals.ask(self._questions, address, question, self.send)

    async def typing(self, inbound: Inbound) -> None:
        target = inbound.reply_target
        self._typing.add(target)
        _courtesy(lambda: self._sending.show(target, element(STATES, "composing")))

    async def mark(self, inbound: Inbound, mark: Mark) -> None:
        target = inbound.reply_target
        if mark is not Mark.SEEN and target in self._typing:
            self._typing.discard(target)
            _courtesy(lambda: self._sending.show(target, element(STATES, "active")))
        known = about(inbound.message_id, in_group=inbound.is_group)
        if known:
            sign = element(REACTIONS, "reaction", _SIGNS[mark])
            signs = within(element(REACTIONS, "reactions", id=known), [sign])
            _courtesy(lambda: self._sending.show(target, signs, is_kept=True))

    async def aclose(self) -> None:
        await self._sending.drafts.aclose()


def _courtesy(shown: Callable[[], None]) -> None:
    """Do something optional; an answer never waits for it, nor fails with it."""
    try:
        shown()
    except ChannelError as err:
        _log.info("xmpp: request failed (reason=%s)", err)


LIBRARY = "slixmpp"
REMEDY = f"channels.xmpp needs slixmpp: {install_hint('xmpp')}"
_PORT, _TLS_PORT = 5222, 5223


class Xmpp(Platform):
    """Platform of an account on any XMPP server."""

    name = XmppChannel.name
    about = "an account on any server, in private and in rooms"
    wanted = (
        SetupKey(
            "address",
            "The address of its account, such as barnacle@example.org",
            "Make an account for the agent with any program for XMPP, or at your own server.",
        ),
        SetupKey("password", "The password", is_secret=True),
        SetupKey("rooms", "Rooms to be in", is_needed=False, is_list=True),
    )

    def secrets(self, channels: ChannelsSettings, environ: Mapping[str, str]) -> Iterator[Secret]:
        yield _password(_wanted(channels), environ)

    def open(self, channels: ChannelsSettings, reach: PlatformContext) -> Channel:
        place = channel_context(self.name, channels, reach)
        login = login_of(_wanted(channels), reach.environ)
        return XmppChannel(login, _wanted(channels).rooms, place, reach.http, reach.clock)

    async def identify(self, channels: ChannelsSettings, reach: PlatformContext) -> str:
        login = login_of(_wanted(channels), reach.environ)
        async with connected(login, lambda: None) as connection:
            return f"{connection.address}, which is told at once of what is said"


PLATFORM = Xmpp()


def login_of(wanted: XmppSettings, environ: Mapping[str, str]) -> XmppLogin:
    """Return the configured account.

    Raises:
        ConfigRefused: it cannot be used.
    """
    if find_spec(LIBRARY) is None:
        raise ConfigRefused(REMEDY)
    if not wanted.address:
        raise ConfigRefused(
            "channels.xmpp has no address: set it to the address of the agent's account"
        )
    password = _password(wanted, environ)
    if not password:
        raise ConfigRefused(
            "channels.xmpp has no password: set password_file or password, or "
            "BARNACLE_XMPP_PASSWORD"
        )
    parts = urlsplit(wanted.server)
    is_direct = parts.scheme == "xmpps"
    try:
        port = parts.port or (_TLS_PORT if is_direct else _PORT)
    except ValueError as err:
        raise ConfigRefused("invalid port in channels.xmpp.server: expected 1 to 65535") from err
    context = trust(NAME, wanted.ca_file, environ)
    return XmppLogin(wanted.address, password, context, parts.hostname or "", port, is_direct)


def _wanted(channels: ChannelsSettings) -> XmppSettings:
    return channels.xmpp or XmppSettings()


def _password(wanted: XmppSettings, environ: Mapping[str, str]) -> Secret:
    return find_secret("xmpp_password", wanted.password, wanted.password_file, environ)
