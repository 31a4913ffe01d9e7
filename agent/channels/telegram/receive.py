"""Long poll: updates are delivered one by one, then confirmed.

An update is asked for again until everything before it is committed, so a crash at any place
repeats and never loses; what is repeated is known by its id.
"""

import asyncio
import contextlib
import logging
import socket
from collections import deque
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from agent.channels.approvals import OpenApprovals
from agent.channels.base import Deliver, Pulse
from agent.channels.context import GroupMoved
from agent.channels.incoming_files import unfetched
from agent.channels.received_files import Knows
from agent.channels.rest import AnswerTooLong
from agent.channels.telegram.approvals import TelegramApprovals
from agent.channels.telegram.client import TelegramApi, TelegramRefused
from agent.channels.telegram.cursor import TelegramCursor
from agent.channels.telegram.events import (
    ALLOWED_UPDATES,
    TelegramCallback,
    TelegramMessage,
    TelegramUpdate,
    read_updates,
)
from agent.channels.telegram.files import TelegramFiles
from agent.channels.telegram.inbound import (
    NAME,
    Groups,
    TelegramAttachment,
    edited,
    files_of,
    id_of,
    is_for_us,
    together,
    understood,
)
from agent.channels.telegram.mention import TelegramSelf
from agent.channels.urgency import is_urgent
from agent.errors import BarnacleError, ChannelRefused, ChannelUnavailable
from agent.messages import Inbound
from agent.system.clock import Clock


def presses(updates: Sequence[TelegramUpdate]) -> Iterator[TelegramCallback]:
    for update in updates:
        if update.callback_query is not None:
            yield update.callback_query


def messages(updates: Sequence[TelegramUpdate]) -> list[tuple[TelegramMessage, ...]]:
    """Return the messages; those of an album are one, whoever writes between its parts."""
    albums: dict[tuple[int, str, int], list[TelegramMessage]] = {}
    for message in (update.message for update in updates if update.message is not None):
        albums.setdefault(_album(message), []).append(message)
    return sorted(map(tuple, albums.values()), key=lambda album: not is_urgent(album[0].text))


def urgent(updates: Sequence[TelegramUpdate]) -> list[TelegramMessage]:
    """Return the messages that stop the agent."""
    found = [update.message for update in updates if update.message is not None]
    return [message for message in found if is_urgent(message.text)]


def _offered(known: "Commands", words: Mapping[str, str]) -> list[dict[str, str]]:
    """Return the list of commands, in the words of a language or else in English."""
    return [
        {"command": command, "description": words.get(command, english)}
        for command, english in known
    ]


def parts_of_album(updates: Sequence[TelegramUpdate]) -> int:
    """Return how many parts of the last message's album are there; 0 if it is of none."""
    last = updates[-1].message if updates else None
    if last is None or not last.media_group_id:
        return 0
    return sum(one.message is not None and _album(one.message) == _album(last) for one in updates)


def before_cut_album(updates: tuple[TelegramUpdate, ...]) -> tuple[TelegramUpdate, ...]:
    """Return the updates without an album at their end that goes on behind them, and what follows.

    All of them where nothing would be left, or something there is urgent.
    """
    parts = [at for at, one in enumerate(updates) if one.message and one.message.media_group_id]
    if not parts or parts[-1] < len(updates) - ALBUM_PARTS:
        return updates
    last = updates[parts[-1]].message
    first = next(
        at for at in parts if last and (one := updates[at].message) and _album(one) == _album(last)
    )
    return updates if first == 0 or urgent(updates[first:]) else updates[:first]


def _album(message: TelegramMessage) -> tuple[int, str, int]:
    group = message.media_group_id
    return message.chat.id, group, 0 if group else message.message_id


_log = logging.getLogger(__name__)

# How long the platform holds a request while nobody writes
POLL_S = 30
# The answer to that request takes a little more on a slow line
POLL_TIMEOUT_S = POLL_S + 10.0
# The pictures of an album come within it; asking again sooner is slowed down by the platform
ALBUM_S = 0.7
# The longest album
ALBUM_PARTS = 10
# What the platform gives at once
MAX_UPDATES = 100
MAX_COMMANDS = 100
# While files are fetched, how soon a stop or a button is noticed; asking the same again sooner than
# this is slowed down by the platform
PEEK_S = 3.0
# What was taken ahead of its turn; a batch holds no more
MAX_AHEAD = 100

Commands = Sequence[tuple[str, str]]


class TelegramReceiverParts(Struct, frozen=True):
    """Parts that a message passes on its way in.

    Args:
        knows: whose files are fetched; those of strangers are not.
        commands: what the platform shows when somebody types a slash, each with its words.
        group_moved: is told of a group that has another id from now on.
    """

    asking: TelegramApprovals
    questions: OpenApprovals
    fetching: TelegramFiles
    knows: Knows
    groups: Groups
    commands: Commands
    group_moved: GroupMoved


class TelegramReceiver:
    """Receiver of one bot."""

    def __init__(
        self,
        api: TelegramApi,
        ears: TelegramReceiverParts,
        position: TelegramCursor,
        pulse: Pulse,
        clock: Clock,
    ) -> None:
        self._api = api
        self._ears = ears
        self._position = position
        self._pulse = pulse
        self._clock = clock
        # What the platform shows stays there: a new connection need not say it again
        self._has_offered = False
        # How many are asked for at once: fewer while many long ones wait
        self._at_once = MAX_UPDATES
        # As many came as were asked for: more may wait
        self._is_full = False
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
            await self._position.load(me.id)
            me = replace(me, series=self._position.series)
            while True:
                await self._round(me, deliver)

    async def _introduced(self) -> TelegramSelf:
        told = await self._api.call("getMe", {})
        self._pulse.beat()
        number = told.get("id") if isinstance(told, dict) else None
        if not isinstance(number, int):
            raise ChannelUnavailable("Telegram did not say which bot the token belongs to")
        name = told.get("username")
        _log.info("telegram: listening (bot=@%s)", name)
        await self._offer_commands()
        return TelegramSelf(number, name if isinstance(name, str) else "")

    async def _offer_commands(self) -> None:
        """Set the list of commands once: in English, and in each language that it has words of."""
        from agent.channels.command_words import COMMAND_WORDS  # noqa: PLC0415 - after the start

        if self._has_offered:
            return
        known = self._ears.commands[:MAX_COMMANDS]
        try:
            await self._api.call("setMyCommands", {"commands": _offered(known, {})})
            for language, words in COMMAND_WORDS.items():
                told = {"commands": _offered(known, words), "language_code": language}
                await self._api.call("setMyCommands", told)
            self._has_offered = True
        except (TelegramRefused, ChannelUnavailable) as err:
            _log.info("telegram: command list not set (reason=%s)", err)

    async def _round(self, me: TelegramSelf, deliver: Deliver) -> None:
        updates, highest = await self._poll(POLL_S)
        seen = 0
        while (parts := parts_of_album(updates)) > seen and not urgent(updates):
            seen = parts
            await self._clock.sleep(ALBUM_S)
            updates, highest = await self._poll(0)
        await self._press(updates)
        if self._is_full and len(whole := before_cut_album(updates)) < len(updates):
            updates, highest = whole, updates[len(whole)].update_id - 1
        for album in messages(updates):
            await self._take(album, me, deliver)
        for update in updates:
            if update.edited_message is not None:
                await self._take_edit(update.edited_message, me, deliver)
        if highest is not None:
            await self._position.advance(highest + 1)

    async def _poll(self, wait_s: int) -> tuple[tuple[TelegramUpdate, ...], int | None]:
        asked: dict[str, object] = {"timeout": wait_s, "allowed_updates": ALLOWED_UPDATES}
        if self._position.offset:
            asked["offset"] = self._position.offset
        told = await self._updates(asked)
        self._is_full = isinstance(told, list) and len(told) >= self._at_once
        read = read_updates(told)
        self._pulse.beat()
        if read[1] is None:
            self._position.confirmed()
            self._at_once = MAX_UPDATES
        return read

    async def _updates(self, asked: Mapping[str, object]) -> object:
        """Return as many as fit into one answer: the same ones asked for again would never."""
        while True:
            told = asked if self._at_once == MAX_UPDATES else {**asked, "limit": self._at_once}
            try:
                return await self._api.call("getUpdates", told, POLL_TIMEOUT_S)
            except AnswerTooLong:
                if self._at_once == 1:
                    raise
                self._at_once //= 2

    async def _take(
        self, album: Sequence[TelegramMessage], me: TelegramSelf, deliver: Deliver
    ) -> None:
        if (now_at := album[0].migrate_to_chat_id) is not None:
            # Only the platform says so, and what is said there comes behind it
            await self._ears.group_moved(NAME, str(album[0].chat.id), str(now_at))
        is_ours = any(is_for_us(message, me, self._ears.groups) for message in album)
        if not is_ours or id_of(album[0]) in self._ahead:
            return
        now_s = self._clock.wall_s()
        inbound = together([understood(message, me, now_s) for message in album])
        sent = [file for message in album for file in files_of(message)]
        if self._ears.questions.answer(inbound, has_files=bool(sent)):
            return
        if sent:
            inbound = await self._with_files(inbound, sent, me, deliver)
        await deliver(inbound)

    async def _take_edit(
        self, message: TelegramMessage, me: TelegramSelf, deliver: Deliver
    ) -> None:
        """Deliver an edit; a preview or a counter that changed is none of the person's."""
        is_ours = is_for_us(message, me, self._ears.groups) and not message.is_of_another
        if is_ours and message.edit_date and message.words:
            await deliver(edited(message, me, self._clock.wall_s()))

    async def _press(self, updates: Sequence[TelegramUpdate]) -> None:
        for callback in presses(updates):
            if callback.id not in self._pressed:
                self._pressed.append(callback.id)
                await self._ears.asking.press(callback)

    async def _with_files(
        self,
        inbound: Inbound,
        sent: Sequence[TelegramAttachment],
        me: TelegramSelf,
        deliver: Deliver,
    ) -> Inbound:
        if not self._ears.knows(inbound):
            # A stranger fills no disk
            return unfetched(inbound, [one.what for one in sent])
        peeking = asyncio.create_task(self._peek(me, deliver))
        try:
            return await self._ears.fetching.with_files(inbound, sent)
        finally:
            peeking.cancel()
            await asyncio.wait([peeking])

    async def _peek(self, me: TelegramSelf, deliver: Deliver) -> None:
        """Deliver urgent messages early; when they come in turn they are known."""
        try:
            while True:
                await self._clock.sleep(PEEK_S)
                updates, _ = await self._poll(0)
                await self._press(updates)
                for message in urgent(updates):
                    await self._take((message,), me, deliver)
                    self._ahead.append(id_of(message))
        except BarnacleError as err:
            _log.info("telegram: cannot listen while a file is fetched (reason=%s)", err)


@contextlib.contextmanager
def _alone(me: TelegramSelf) -> Iterator[None]:
    """Lock the bot against other agents on this machine.

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
                f"another agent on this machine uses the Telegram bot @{me.username}: stop it, or "
                "give each agent its own bot"
            ) from err
        yield
    finally:
        held.close()
