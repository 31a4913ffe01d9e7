"""Events on their way in: messages, chosen commands, and buttons.

Buttons and what stops the agent are heard at once; everything else in its turn.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import msgspec

from agent.channels.answers import OpenQuestions
from agent.channels.base import Deliver, Pulse
from agent.channels.discord.api import DiscordApi
from agent.channels.discord.asking import Asking
from agent.channels.discord.events import Interaction, Message, Numbered, Ready, read
from agent.channels.discord.fetching import Fetching, called
from agent.channels.discord.places import Places
from agent.channels.discord.understanding import (
    Groups,
    commanded,
    files_of,
    is_for_us,
    understood,
    words_of,
)
from agent.channels.opcodes.gateway import Gateway
from agent.channels.opcodes.session import Begun
from agent.channels.place import Place
from agent.channels.urgency import is_urgent
from agent.clock import Clock
from agent.errors import BarnacleError, ChannelError
from agent.messages import Inbound

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
_HEARD = frozenset({"MESSAGE_CREATE", "INTERACTION_CREATE"})
_WITH_WORDS: Mapping[str, str] = {
    "pair": "the code",
    "model": "its name",
    "memory": "what about it",
    "jobs": "what about them",
}


@dataclass(frozen=True, slots=True)
class Parts:
    """Parts that a message passes on its way in."""

    api: DiscordApi
    gateway: Gateway
    asking: Asking
    questions: OpenQuestions
    fetching: Fetching
    places: Places
    place: Place
    groups: Groups


class Listening:
    """Hears for one bot."""

    def __init__(self, parts: Parts, pulse: Pulse, clock: Clock) -> None:
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
        """Until cancelled.

        Raises:
            ChannelError: the platform is not reached, or does not let this bot listen.
        """

        async def take(name: str, told: msgspec.Raw, begun: Begun) -> bool:
            return await self._hear(name, told, begun, deliver)

        def glance(name: str, told: msgspec.Raw, begun: Begun) -> None:
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

    async def _hurry(self, name: str, told: msgspec.Raw, begun: Begun, deliver: Deliver) -> None:
        """Deliver a stop without waiting for files; if it comes again it is known."""
        try:
            number = read(told, Numbered).id
            if _stops(name, told, begun.me):
                await self._hear(name, told, begun, deliver)
                self._ahead.append(number)
        except (BarnacleError, msgspec.DecodeError) as err:
            _log.info("it is heard in its turn: %s", err)

    def _press(self, told: msgspec.Raw) -> None:
        try:
            interaction = read(told, Interaction)
        except msgspec.DecodeError as err:
            _log.warning("an interaction of Discord is not as documented: %s", err)
            return
        if interaction.kind == _PRESSED:
            self._parts.asking.press(interaction)
        elif interaction.kind == _COMMAND:
            is_off = interaction.guild_id is not None and self._parts.groups == "off"
            text = "Not here: write to me in private." if is_off else f"/{interaction.data.name}"
            self._parts.asking.say_to_them(interaction, text)

    async def _hear(self, name: str, told: msgspec.Raw, begun: Begun, deliver: Deliver) -> bool:
        """Deliver a message; return true if it was for us."""
        try:
            if name in _HEARD and read(told, Numbered).id in self._ahead:
                return True
            if name == "READY":
                await self._offer_commands(read(told, Ready))
            if name == "MESSAGE_CREATE":
                return await self._take(read(told, Message), begun.me, deliver)
            if name == "INTERACTION_CREATE":
                return await self._obey(read(told, Interaction), deliver)
        except msgspec.DecodeError as err:
            # Its words stay out of the log: they are a person's
            _log.warning("a message of Discord is not as documented: %s", err)
        return False

    async def _take(self, message: Message, me: str, deliver: Deliver) -> bool:
        if not is_for_us(message, me, self._parts.groups):
            return False
        in_guild = message.guild_id is not None
        thread_of = await self._parts.places.thread_of(message.channel_id) if in_guild else ""
        inbound = understood(message, me, thread_of, self._clock.wall_s())
        if self._parts.questions.answer(inbound):
            return True
        if any(True for _ in files_of(message)):
            inbound = await self._with_files(inbound, message)
        await deliver(inbound)
        return True

    async def _with_files(self, inbound: Inbound, message: Message) -> Inbound:
        if self._parts.place.knows(inbound):
            self._is_fetching = True
            try:
                return await self._parts.fetching.with_files(inbound, message)
            finally:
                self._is_fetching = False
        # A stranger fills no disk
        names = (called(file, is_speech=False) for file in files_of(message))
        told = [inbound.text, *(f"[{name} that was not fetched]" for name in names)]
        return replace(inbound, text="\n".join(line for line in told if line))

    async def _obey(self, told: Interaction, deliver: Deliver) -> bool:
        person = told.person
        is_off = told.guild_id is not None and self._parts.groups == "off"
        if told.kind != _COMMAND or person is None or is_off:
            return False
        self.chosen.append(told.id)
        await deliver(commanded(told, person, self._clock.wall_s()))
        return True

    async def _offer_commands(self, ready: Ready) -> None:
        path = f"/applications/{ready.application.id}/commands"
        offered = commands(self._parts.place.commands)
        try:
            await self._parts.api.call("PUT", path, offered)
        except ChannelError as err:
            _log.info("Discord shows no list of commands: %s", err)


def _stops(name: str, told: msgspec.Raw, me: str) -> bool:
    if name == "MESSAGE_CREATE":
        return is_urgent(words_of(read(told, Message), me))
    return is_urgent(f"/{read(told, Interaction).data.name}")


def commands(known: Sequence[tuple[str, str]]) -> list[dict[str, object]]:
    """The list that the platform shows when somebody types a slash."""
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
