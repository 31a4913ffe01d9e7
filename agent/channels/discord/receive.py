"""Receiver of Discord events: messages, commands and buttons.

Buttons and what stops the agent are heard at once; everything else in its turn.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from agent.channels.approvals import OpenApprovals
from agent.channels.base import Deliver, Pulse
from agent.channels.context import ChannelContext
from agent.channels.discord.approvals import DiscordApprovals
from agent.channels.discord.client import DiscordApi, DiscordRefused, unknown_bot
from agent.channels.discord.events import (
    DiscordId,
    DiscordInteraction,
    DiscordMessage,
    DiscordReady,
    read,
)
from agent.channels.discord.files import DiscordFiles, called
from agent.channels.discord.inbound import (
    Groups,
    commanded,
    files_of,
    is_for_us,
    understood,
    words_of,
)
from agent.channels.discord.threads import DiscordThreads
from agent.channels.incoming_files import unfetched
from agent.channels.opcodes.address import checked, told_address
from agent.channels.opcodes.gateway import GatewayClient
from agent.channels.opcodes.session import ResumableSession
from agent.channels.urgency import is_urgent
from agent.errors import BarnacleError, ChannelError, ChannelRefused
from agent.messages import Inbound
from agent.system.clock import Clock

# Guilds, messages in them, and private ones; and what is in messages that do not call us
_INTENTS = (1 << 0) | (1 << 9) | (1 << 12)
_CONTENT = 1 << 15
# Flags of an application that may be told them: one in few servers, and one in many
_MAY_READ = (1 << 19) | (1 << 18)
_QUERY = "/?v=10&encoding=json"
_NOT_AUTHENTICATED, _NOT_TO_BE_READ = 4004, 4014
_BROKEN = "this version of the agent cannot talk to Discord any more: update it"
_FATAL = {
    4010: _BROKEN,
    4011: "the bot is in more servers than one connection takes: use a bot of your own",
    4012: _BROKEN,
    4013: _BROKEN,
    _NOT_TO_BE_READ: "Discord does not let the bot read every message: switch on "
    '"Message Content Intent" on the page Bot of the application at '
    "https://discord.com/developers/applications, or set "
    'groups = "mention"',
}


class DiscordDialect:
    """Dialect of one bot.

    Where a mention is wanted it reads what is said to nobody if it may: a stop needs no mention.
    """

    name = "Discord"
    # Not authenticated, a sequence that it never had, a session too old, one that hears too much
    forgetting = frozenset({4003, 4007, 4009, _NOT_TO_BE_READ})
    says_what_is_gone = True

    def __init__(self, api: DiscordApi, groups: Groups) -> None:
        self._api = api
        self._intents = _INTENTS | (_CONTENT if groups == "all" else 0)
        self._reads_if_it_may = groups == "mention"
        self.account = f"{api.account} {self._intents}"

    async def address(self, begun: ResumableSession | None) -> str:
        if begun is not None:
            url = checked(begun.url, self._api.base_url)
        else:
            told = await self._api.call("GET", "/gateway/bot")
            url = told_address(told, self.name, self._api.base_url)
        place = urlsplit(url)
        return f"{place.scheme}://{place.netloc}{place.path.rstrip('/')}{_QUERY}"

    async def introduction(self) -> dict[str, object]:
        names = {"os": "linux", "browser": "barnacle", "device": "barnacle"}
        token = self._api.token.reveal()
        may_read = self._reads_if_it_may and await self._may_read()
        intents = self._intents | (_CONTENT if may_read else 0)
        return {"token": token, "intents": intents, "properties": names}

    async def resumption(self, begun: ResumableSession) -> dict[str, object]:
        token = self._api.token.reveal()
        return {"token": token, "session_id": begun.session_id, "seq": begun.seq}

    def begun(self, ready: msgspec.Raw) -> ResumableSession:
        told = read(ready, DiscordReady)
        return ResumableSession(
            self.account, told.session_id, told.user.id, told.resume_gateway_url
        )

    def refusal(self, code: int) -> ChannelError | None:
        if code == _NOT_AUTHENTICATED:
            return unknown_bot()
        if code == _NOT_TO_BE_READ and self._reads_if_it_may:
            # Whatever the application says of itself
            self._reads_if_it_may = False
            return None
        sentence = _FATAL.get(code)
        return ChannelRefused(sentence) if sentence else None

    async def _may_read(self) -> bool:
        """Return true if the application may be told what is said to nobody."""
        try:
            told = await self._api.call("GET", "/applications/@me")
        except DiscordRefused as err:
            _log.info("discord: rights of the application not known (reason=%s)", err)
            return False
        flags = told.get("flags") if isinstance(told, dict) else 0
        return isinstance(flags, int) and bool(flags & _MAY_READ)


_log = logging.getLogger(__name__)

# What the platform takes of commands, and of the words for each
MAX_COMMANDS = 100
MAX_WORDS_CHARS = 100
# Commands that were chosen and whose answers answer no message
MAX_CHOSEN = 1000
# Kinds of interactions: a command, a button
_COMMAND, _PRESSED = 2, 3
# A kind of option: a text
_TEXT = 3
# Servers and private chats with the bot
_CONTEXTS = [0, 1]
_HEARD = frozenset({"MESSAGE_CREATE", "MESSAGE_UPDATE", "INTERACTION_CREATE"})
_WITH_WORDS: Mapping[str, str] = {
    "pair": "the code",
    "model": "its name",
    "memory": "what about it",
    "jobs": "what about them",
}


class DiscordReceiverParts(Struct, frozen=True):
    """Parts that a message passes on its way in."""

    api: DiscordApi
    gateway: GatewayClient
    asking: DiscordApprovals
    questions: OpenApprovals
    fetching: DiscordFiles
    places: DiscordThreads
    place: ChannelContext
    groups: Groups


class DiscordReceiver:
    """Receiver of one bot."""

    def __init__(self, parts: DiscordReceiverParts, pulse: Pulse, clock: Clock) -> None:
        self._parts = parts
        self._pulse = pulse
        self._clock = clock
        self._is_fetching = False
        # Heard before their turn, while files are fetched
        self._ahead: deque[str] = deque(maxlen=MAX_CHOSEN)
        self._hurrying: set[asyncio.Task[None]] = set()
        # What was chosen from the list of commands: no message that anything can be put on
        self.chosen: deque[str] = deque(maxlen=MAX_CHOSEN)

    async def run(self, deliver: Deliver) -> None:
        """Receive until cancelled.

        Raises:
            ChannelError: the platform is not reached, or does not let this bot listen.
        """

        async def take(name: str, told: msgspec.Raw, begun: ResumableSession) -> bool:
            return await self._hear(name, told, begun, deliver)

        def glance(name: str, told: msgspec.Raw, begun: ResumableSession) -> None:
            if name == "INTERACTION_CREATE":
                self._press(told)
            if self._is_fetching and name in _HEARD:
                hurrying = asyncio.create_task(self._hurry(name, told, begun, deliver))
                self._hurrying.add(hurrying)
                hurrying.add_done_callback(self._hurrying.discard)

        try:
            await self._parts.gateway.run(take, glance)
        finally:
            for task in self._hurrying:
                task.cancel()

    async def _hurry(
        self, name: str, told: msgspec.Raw, begun: ResumableSession, deliver: Deliver
    ) -> None:
        """Deliver a stop without waiting for files; if it comes again it is known."""
        try:
            number = read(told, DiscordId).known
            if _stops(name, told, begun.me):
                await self._hear(name, told, begun, deliver)
                self._ahead.append(number)
        except (BarnacleError, msgspec.DecodeError) as err:
            _log.info("discord: urgent message left to the queue (reason=%s)", err)

    def _press(self, told: msgspec.Raw) -> None:
        try:
            interaction = read(told, DiscordInteraction)
        except msgspec.DecodeError as err:
            _log.warning("discord: interaction skipped, not as documented (reason=%s)", err)
            return
        if interaction.kind == _PRESSED:
            self._parts.asking.press(interaction)
        elif interaction.kind == _COMMAND:
            is_off = interaction.guild_id is not None and self._parts.groups == "off"
            text = "Not here: write to me in private." if is_off else f"/{interaction.data.name}"
            self._parts.asking.say_to_them(interaction, text)

    async def _hear(
        self, name: str, told: msgspec.Raw, begun: ResumableSession, deliver: Deliver
    ) -> bool:
        """Deliver a message; return true if it was for us."""
        try:
            if name in _HEARD and read(told, DiscordId).known in self._ahead:
                return True
            if name == "READY":
                await self._offer_commands(read(told, DiscordReady))
            if name == "MESSAGE_CREATE":
                return await self._take(read(told, DiscordMessage), begun.me, deliver)
            if name == "MESSAGE_UPDATE":
                return await self._take_edit(told, begun.me, deliver)
            if name == "INTERACTION_CREATE":
                return await self._obey(read(told, DiscordInteraction), deliver)
        except msgspec.DecodeError as err:
            # Its words stay out of the log: they are a person's
            _log.warning("discord: message skipped, not as documented (reason=%s)", err)
        return False

    async def _take(self, message: DiscordMessage, me: str, deliver: Deliver) -> bool:
        if not is_for_us(message, me, self._parts.groups):
            return False
        in_guild = message.guild_id is not None
        thread_of = await self._parts.places.thread_of(message.channel_id) if in_guild else ""
        inbound = understood(message, me, thread_of, self._clock.wall_s())
        has_files = any(True for _ in files_of(message))
        if self._parts.questions.answer(inbound, has_files=has_files):
            return True
        if has_files:
            inbound = await self._with_files(inbound, message)
        await deliver(inbound)
        return True

    async def _take_edit(self, told: msgspec.Raw, me: str, deliver: Deliver) -> bool:
        """Deliver what a person has edited into a stop; nothing comes of another edit."""
        edit = read(told, DiscordId)
        if edit.edited_timestamp is None or not _stops("MESSAGE_UPDATE", told, me):
            # A preview changes a message, too
            return False
        message = replace(read(told, DiscordMessage), id=edit.known)
        return await self._take(message, me, deliver)

    async def _with_files(self, inbound: Inbound, message: DiscordMessage) -> Inbound:
        if self._parts.place.knows(inbound):
            self._is_fetching = True
            try:
                return await self._parts.fetching.with_files(inbound, message)
            finally:
                self._is_fetching = False
        # A stranger fills no disk
        names = (called(file, is_speech=False) for file in files_of(message))
        return unfetched(inbound, names)

    async def _obey(self, told: DiscordInteraction, deliver: Deliver) -> bool:
        person = told.person
        is_off = told.guild_id is not None and self._parts.groups == "off"
        if told.kind != _COMMAND or person is None or is_off:
            return False
        self.chosen.append(told.id)
        await deliver(commanded(told, person, self._clock.wall_s()))
        return True

    async def _offer_commands(self, ready: DiscordReady) -> None:
        path = f"/applications/{ready.application.id}/commands"
        offered = commands(self._parts.place.commands)
        try:
            await self._parts.api.call("PUT", path, offered)
        except ChannelError as err:
            _log.info("discord: command list not set (reason=%s)", err)


def _stops(name: str, told: msgspec.Raw, me: str) -> bool:
    if name.startswith("MESSAGE_"):
        return is_urgent(words_of(read(told, DiscordMessage), me))
    return is_urgent(f"/{read(told, DiscordInteraction).data.name}")


def commands(known: Sequence[tuple[str, str]]) -> list[dict[str, object]]:
    """Return the list of commands that the platform shows."""
    return [_command(name, words) for name, words in known[:MAX_COMMANDS]]


def _command(name: str, words: str) -> dict[str, object]:
    told: dict[str, object] = {
        "name": name,
        "type": 1,
        "description": words[:MAX_WORDS_CHARS],
        "contexts": _CONTEXTS,
    }
    if name in _WITH_WORDS:
        option = {"type": _TEXT, "name": "words", "description": _WITH_WORDS[name]}
        told["options"] = [option]
    return told
