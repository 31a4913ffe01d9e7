"""Matrix channel, and the platform that builds it from the settings."""

import logging
import secrets
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from agent.channels import approvals
from agent.channels.approvals import OpenApprovals
from agent.channels.base import Abilities, Answer, Channel, Deliver, Mark, Pulse, Question
from agent.channels.certificate_authority import trust
from agent.channels.context import ChannelContext
from agent.channels.credentials import find_secret
from agent.channels.incoming_files import IncomingFiles
from agent.channels.matrix import markup
from agent.channels.matrix.client import MatrixAccess, MatrixApi, MatrixFixedToken, quoted
from agent.channels.matrix.cursor import MatrixCursor
from agent.channels.matrix.encrypted_events import encryption_for, has_libraries
from agent.channels.matrix.inbound import NAME, Groups
from agent.channels.matrix.login import MatrixLogin
from agent.channels.matrix.receive import MatrixReceiver, MatrixReceiverParts
from agent.channels.matrix.rooms import MatrixRooms
from agent.channels.matrix.send import MatrixSender
from agent.channels.platform import Platform, PlatformContext, SetupKey, channel_context
from agent.channels.rest import UPLOAD_TIMEOUT_S
from agent.channels.settings import ChannelsSettings, MatrixSettings
from agent.config import Secret
from agent.errors import ChannelError, ConfigRefused
from agent.messages import Address, Inbound, Outbound
from agent.net.http import HttpClient
from agent.system.clock import Clock
from agent.text.printable import printable_line

if TYPE_CHECKING:
    from agent.channels.matrix.encryption.rooms import MatrixEncryption

_log = logging.getLogger(__name__)

# The server is told to show it somewhat longer
TYPING_EVERY_S = 20.0
TYPING_MS = 30_000
# All files of a message; nothing else is heard meanwhile
FETCH_TIMEOUT_S = 45.0
# Messages that have a sign which another one will replace
MAX_SIGNS = 200
HINT = "Your answer is shown in Matrix: Markdown is fine, but no tables and no headings."
_SIGNS = {Mark.SEEN: "👀", Mark.DONE: "👍", Mark.FAILED: "😢"}


class MatrixChannel(Channel):
    """Channel of one account on its homeserver.

    Args:
        crypt: reads and writes in encrypted rooms; None where nothing is installed for it.
    """

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
        api: MatrixApi,
        crypt: "MatrixEncryption | None",
        groups: Groups,
        place: ChannelContext,
        clock: Clock,
    ) -> None:
        self._crypt = crypt
        # Ended with the channel; None where it uses the agent's
        self.own_http: HttpClient | None = None
        self.pulse: Pulse = Pulse(clock)
        self._api = api
        position = MatrixCursor(place.folder / "position.json")
        self._sending = MatrixSender(api, MatrixRooms(api), position, self._crypt, clock)
        self._questions = OpenApprovals()
        files = IncomingFiles(place.recogniser, self.pulse.beat, FETCH_TIMEOUT_S)
        ears = MatrixReceiverParts(
            self._questions, files, place.keeping, place.knows, groups, place.group_moved
        )
        self._listening = MatrixReceiver(api, ears, self._sending, self.pulse, clock)
        # The event of the sign on a message
        self._signs: OrderedDict[str, str] = OrderedDict()
        self._typing: set[str] = set()

    async def listen(self, deliver: Deliver) -> None:
        await self._listening.run(deliver)

    async def send(self, message: Outbound) -> None:
        await self._sending.send(message)

    def parts(self, text: str) -> tuple[str, ...]:
        return markup.parts(text)

    async def draft(self, inbound: Inbound, text_so_far: str) -> None:
        if text_so_far.strip():
            self._sending.drafts.show(inbound, text_so_far)

    async def break_off(self, inbound: Inbound) -> None:
        await self._sending.drafts.break_off(inbound)

    async def ask(self, address: Address, question: Question) -> Answer:
        # Whoever answers does so where they are by now
        now_at = await self._sending.now_at(address.target)
        if now_at != address.target:
            address = replace(address, target=now_at, thread=None)
        return await approvals.ask(self._questions, address, question, self.send)

    async def typing(self, inbound: Inbound) -> None:
        self._typing.add(inbound.reply_target)
        await self._type(inbound.reply_target, {"typing": True, "timeout": TYPING_MS})

    async def mark(self, inbound: Inbound, mark: Mark) -> None:
        room, event = inbound.reply_target, inbound.message_id
        at = f"/rooms/{quoted(room)}"
        if mark is Mark.SEEN:
            await self._courtesy("POST", f"{at}/receipt/m.read/{quoted(event)}", {})
        elif room in self._typing:
            self._typing.discard(room)
            await self._type(room, {"typing": False})
        if before := self._signs.pop(event, ""):
            path = f"{at}/redact/{quoted(before)}/{secrets.token_hex(8)}"
            await self._courtesy("PUT", path, {})
        about = {"rel_type": "m.annotation", "event_id": event, "key": _SIGNS[mark]}
        path = f"{at}/send/m.reaction/{secrets.token_hex(8)}"
        self._signs[event] = await self._courtesy("PUT", path, {"m.relates_to": about})
        if len(self._signs) > MAX_SIGNS:
            self._signs.popitem(last=False)

    async def aclose(self) -> None:
        await self._sending.drafts.aclose()
        if self._crypt is not None:
            await self._crypt.aclose()
        if self.own_http is not None:
            await self.own_http.aclose()

    async def _type(self, room: str, told: Mapping[str, object]) -> None:
        # A turn that a restart left is taken up again before the server has said who we are
        if not self._sending.account:
            return
        path = f"/rooms/{quoted(room)}/typing/{quoted(self._sending.account)}"
        await self._courtesy("PUT", path, told)

    async def _courtesy(self, method: str, path: str, body: Mapping[str, object]) -> str:
        """Do something optional and return its event's id, if any; an answer never waits for it."""
        try:
            told = await self._api.call(method, path, body)
        except ChannelError as err:
            _log.info("matrix: request failed (reason=%s)", err)
            return ""
        return str(told.get("event_id") or "")


MAX_ACCOUNT_CHARS = 255


class Matrix(Platform):
    """Platform of an account on a homeserver."""

    name = MatrixChannel.name
    about = "an account on a homeserver"
    wanted = (
        SetupKey("base_url", "The homeserver, such as https://matrix.org", is_needed=False),
        SetupKey(
            "user",
            "The account's name",
            "Make an account for the agent alone. With its name and password the agent has a login "
            "of its own, which encrypted rooms need; leave it empty to give an access token.",
            is_needed=False,
        ),
        SetupKey("password", "Its password", is_secret=True, is_needed=False, only_with="user"),
        SetupKey(
            "token",
            "Its access token",
            "Log in as the agent's account in Element: All settings, Help & About, Access Token; "
            "then close the window without signing out.",
            is_secret=True,
            is_needed=False,
            unless="user",
        ),
    )

    def secrets(self, channels: ChannelsSettings, environ: Mapping[str, str]) -> Iterator[Secret]:
        wanted = _wanted(channels)
        yield _token(wanted, environ)
        yield _password(wanted, environ)

    def open(self, channels: ChannelsSettings, reach: PlatformContext) -> Channel:
        place = channel_context(self.name, channels, reach)
        wanted = _wanted(channels)
        own_http = _own_http(wanted, reach.environ)
        http = own_http or reach.http
        api = MatrixApi(wanted.base_url, _access(wanted, reach, place.folder, http), http)
        crypt = encryption_for(api, place.folder, reach.clock)
        channel = MatrixChannel(api, crypt, wanted.groups, place, reach.clock)
        channel.own_http = own_http
        return channel

    async def identify(self, channels: ChannelsSettings, reach: PlatformContext) -> str:
        wanted = _wanted(channels)
        folder = reach.paths.state_dir / self.name
        own_http = _own_http(wanted, reach.environ)
        http = own_http or reach.http
        access = _access(wanted, reach, folder, http)
        try:
            told = await MatrixApi(wanted.base_url, access, http).whoami()
        finally:
            if isinstance(access, MatrixLogin):
                await access.leave_if_new()
            if own_http is not None:
                await own_http.aclose()
        account = printable_line(told, MAX_ACCOUNT_CHARS)
        said = f"{account} at {wanted.base_url}, which is asked for what is new"
        return said if has_libraries() else f"{said}; encrypted rooms need the extra matrix"


PLATFORM = Matrix()


def _wanted(channels: ChannelsSettings) -> MatrixSettings:
    return channels.matrix or MatrixSettings()


def _token(wanted: MatrixSettings, environ: Mapping[str, str]) -> Secret:
    return find_secret("matrix_token", wanted.token, wanted.token_file, environ)


def _password(wanted: MatrixSettings, environ: Mapping[str, str]) -> Secret:
    return find_secret("matrix_password", wanted.password, wanted.password_file, environ)


def _own_http(wanted: MatrixSettings, environ: Mapping[str, str]) -> HttpClient | None:
    """Return a client for a server of one's own; None where the agent's does."""
    return HttpClient(context=trust(NAME, wanted.ca_file, environ)) if wanted.ca_file else None


def _access(
    wanted: MatrixSettings, reach: PlatformContext, folder: Path, http: HttpClient
) -> MatrixAccess:
    if wanted.user:
        if password := _password(wanted, reach.environ):
            path = folder / "login.json"
            return MatrixLogin(wanted.base_url, wanted.user, password, path, http)
        raise ConfigRefused(
            "channels.matrix has a user and no password: set password_file or password, or "
            "BARNACLE_MATRIX_PASSWORD"
        )
    if token := _token(wanted, reach.environ):
        return MatrixFixedToken(token)
    raise ConfigRefused(
        "channels.matrix has no login: set user and password_file, or token_file or token, or "
        "BARNACLE_MATRIX_TOKEN"
    )
