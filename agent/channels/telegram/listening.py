"""The long poll: messages are handed over one by one, and only then confirmed.

An update is asked for again until everything before it is committed, so a crash at any place
repeats and never loses; what is repeated is known by its id.
"""

import asyncio
import contextlib
import logging
import socket
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from agent.channels.answers import OpenQuestions
from agent.channels.base import Deliver, Pulse
from agent.channels.keeping import Knows
from agent.channels.telegram import batches
from agent.channels.telegram.addressed import Self
from agent.channels.telegram.api import ApiRefused, TelegramApi
from agent.channels.telegram.asking import Asking
from agent.channels.telegram.fetching import Fetching
from agent.channels.telegram.position import Position
from agent.channels.telegram.understanding import (
    Groups,
    Sent,
    files_of,
    id_of,
    is_for_us,
    understood,
)
from agent.channels.telegram.updates import ALLOWED_UPDATES, Message, Update, read_updates
from agent.clock import Clock
from agent.errors import BarnacleError, ChannelRefused, ChannelUnavailable
from agent.messages import Inbound

_log = logging.getLogger(__name__)

# How long the platform holds a request while nobody writes
POLL_S = 30
# The answer to that request takes a little more on a slow line
POLL_TIMEOUT_S = POLL_S + 10.0
# The pictures of an album come within it; asking again sooner is slowed down by the platform
ALBUM_S = 0.7
MAX_COMMANDS = 100
# While files are fetched, how soon a stop or a button is noticed; asking the same again sooner than
# this is slowed down by the platform
PEEK_S = 3.0
# What was taken ahead of its turn; a batch holds no more
MAX_AHEAD = 100

Commands = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Ears:
    """Parts that a message passes on its way in.

    Args:
        knows: whose files are fetched; those of strangers are not.
        commands: what the platform shows when somebody types a slash, each with its words.
    """

    asking: Asking
    questions: OpenQuestions
    fetching: Fetching
    knows: Knows
    groups: Groups
    commands: Commands


class Listening:
    """Polls for one bot."""

    def __init__(
        self, api: TelegramApi, ears: Ears, position: Position, pulse: Pulse, clock: Clock
    ) -> None:
        self._api = api
        self._ears = ears
        self._position = position
        self._pulse = pulse
        self._clock = clock
        # Taken before their turn: buttons, and messages that stop the agent
        self._pressed: deque[str] = deque(maxlen=MAX_AHEAD)
        self._ahead: deque[str] = deque(maxlen=MAX_AHEAD)

    async def run(self, deliver: Deliver) -> None:
        """Until cancelled.

        Raises:
            ChannelError: the platform is not reached, or does not let this program poll.
        """
        me = await self._introduced()
        with _alone(me):
            await self._position.load()
            while True:
                await self._round(me, deliver)

    async def _introduced(self) -> Self:
        told = await self._api.call("getMe", {})
        self._pulse.beat()
        number = told.get("id") if isinstance(told, dict) else None
        if not isinstance(number, int):
            raise ChannelUnavailable("Telegram does not say who this bot is")
        name = told.get("username")
        _log.info("listening to Telegram as @%s", name)
        await self._offer_commands()
        return Self(number, name if isinstance(name, str) else "")

    async def _offer_commands(self) -> None:
        offered = [
            {"command": command, "description": words}
            for command, words in self._ears.commands[:MAX_COMMANDS]
        ]
        try:
            await self._api.call("setMyCommands", {"commands": offered})
        except (ApiRefused, ChannelUnavailable) as err:
            _log.info("Telegram shows no list of commands: %s", err)

    async def _round(self, me: Self, deliver: Deliver) -> None:
        updates, highest = await self._poll(POLL_S)
        if batches.ends_in_album(updates):
            await self._clock.sleep(ALBUM_S)
            updates, highest = await self._poll(0)
        await self._press(updates)
        for album in batches.messages(updates):
            await self._take(album, me, deliver)
        if highest is not None:
            await self._position.advance(highest + 1)

    async def _poll(self, wait_s: int) -> tuple[tuple[Update, ...], int | None]:
        asked: dict[str, object] = {"timeout": wait_s, "allowed_updates": ALLOWED_UPDATES}
        if self._position.offset:
            asked["offset"] = self._position.offset
        read = read_updates(await self._api.call("getUpdates", asked, POLL_TIMEOUT_S))
        self._pulse.beat()
        if read[1] is None:
            self._position.confirmed()
        return read

    async def _take(self, album: Sequence[Message], me: Self, deliver: Deliver) -> None:
        is_ours = any(is_for_us(message, me, self._ears.groups) for message in album)
        if not is_ours or id_of(album[0]) in self._ahead:
            return
        inbound = understood(album[0], me, self._clock.wall_s())
        more = [understood(message, me, self._clock.wall_s()).text for message in album[1:]]
        inbound = replace(inbound, text="\n".join(text for text in (inbound.text, *more) if text))
        if self._ears.questions.answer(inbound):
            return
        sent = [file for message in album for file in files_of(message)]
        if sent:
            inbound = await self._with_files(inbound, sent, me, deliver)
        await deliver(inbound)

    async def _press(self, updates: Sequence[Update]) -> None:
        for callback in batches.presses(updates):
            if callback.id not in self._pressed:
                self._pressed.append(callback.id)
                await self._ears.asking.press(callback)

    async def _with_files(
        self, inbound: Inbound, sent: Sequence[Sent], me: Self, deliver: Deliver
    ) -> Inbound:
        if not self._ears.knows(inbound):
            # A stranger fills no disk
            told = [inbound.text, *(f"[{one.what} that was not fetched]" for one in sent)]
            return replace(inbound, text="\n".join(line for line in told if line))
        peeking = asyncio.create_task(self._peek(me, deliver))
        try:
            return await self._ears.fetching.with_files(inbound, sent)
        finally:
            peeking.cancel()
            await asyncio.wait([peeking])

    async def _peek(self, me: Self, deliver: Deliver) -> None:
        """Hear what cannot wait for a file; where it comes again in its turn it is known."""
        try:
            while True:
                await self._clock.sleep(PEEK_S)
                updates, _ = await self._poll(0)
                await self._press(updates)
                for message in batches.urgent(updates):
                    await self._take((message,), me, deliver)
                    self._ahead.append(id_of(message))
        except BarnacleError as err:
            _log.info("nothing is heard while a file is fetched: %s", err)


@contextlib.contextmanager
def _alone(me: Self) -> Iterator[None]:
    """Keep other agents of this machine from this bot, whoever runs them and wherever they keep.

    The name is the kernel's own and goes with the process; there is no file to be left behind.

    Raises:
        ChannelRefused: another one listens.
    """
    held = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
    try:
        try:
            held.bind(f"\0barnacle-telegram-{me.id}")
        except OSError as err:
            raise ChannelRefused(
                f"another agent on this machine listens to the Telegram bot @{me.username}: "
                "stop it, or use a bot of your own for each"
            ) from err
        yield
    finally:
        held.close()
