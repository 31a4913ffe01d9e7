"""Receiver of QQ messages; each opens a window for answers.

What stops the agent, and what answers a question, does not wait for files.
"""

import asyncio
import logging
from collections import deque
from functools import partial

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from agent.channels.approvals import OpenApprovals
from agent.channels.base import Deliver, Pulse
from agent.channels.context import ChannelContext
from agent.channels.file_stream import downloaded
from agent.channels.incoming_files import IncomingFile, IncomingFiles, unfetched
from agent.channels.opcodes.address import told_address
from agent.channels.opcodes.gateway import GatewayClient
from agent.channels.opcodes.session import ResumableSession
from agent.channels.qq.client import QqApi
from agent.channels.qq.events import (
    KINDS,
    Groups,
    QqFile,
    QqMessage,
    QqReady,
    files_of,
    is_for_us,
    understood,
)
from agent.channels.qq.reply_windows import QqWindows
from agent.channels.received_files import too_large
from agent.channels.urgency import is_urgent
from agent.errors import (
    BarnacleError,
    ChannelError,
    ChannelRefused,
)
from agent.messages import Attachment, Inbound
from agent.system.clock import Clock
from agent.text.printable import printable_text

# Private messages of guilds; private ones and groups; those who call the bot in guilds
_INTENTS = (1 << 12) | (1 << 25) | (1 << 30)
_NOT_AUTHENTICATED = 4004
_BROKEN = "this version of the agent cannot talk to QQ any more: update it"
_FATAL = {
    4001: _BROKEN,
    4002: _BROKEN,
    4010: _BROKEN,
    4011: "the bot is in more guilds than one connection takes: use a bot of your own",
    4012: _BROKEN,
    4013: _BROKEN,
    4014: "QQ does not let this bot hear private messages, groups and guilds: have them switched "
    "on for it at https://q.qq.com",
    4914: "QQ has taken this bot off, or lets it into its sandbox alone: look at its page at "
    "https://q.qq.com; with base_url = https://sandbox.api.sgroup.qq.com it works in the sandbox",
    4915: "QQ has banned this bot: its page at https://q.qq.com says why",
}


class QqDialect:
    """Dialect of one bot."""

    name = "QQ"
    # A session or a number that it does not know, and trouble of its own
    forgetting = frozenset({4003, 4006, 4007, 9001, 9005, *range(4900, 4914)})
    # Codes that no WebSocket may say arrive as a cut
    says_what_is_gone = False

    def __init__(self, api: QqApi) -> None:
        self._api = api
        self.account = f"{api.app_id} {_INTENTS}"

    async def address(self, _begun: ResumableSession | None) -> str:
        told = await self._api.call("GET", "/gateway/bot")
        return told_address(told, self.name, self._api.base_url)

    async def introduction(self) -> dict[str, object]:
        token = await self._api.authorization()
        return {"token": token, "intents": _INTENTS, "shard": [0, 1], "properties": {}}

    async def resumption(self, begun: ResumableSession) -> dict[str, object]:
        token = await self._api.authorization()
        return {"token": token, "session_id": begun.session_id, "seq": begun.seq}

    def begun(self, ready: msgspec.Raw) -> ResumableSession:
        told = msgspec.json.decode(ready, type=QqReady)
        return ResumableSession(self.account, told.session_id, told.user.id)

    def refusal(self, code: int) -> ChannelError | None:
        if code == _NOT_AUTHENTICATED:
            self._api.forget_token()
        sentence = _FATAL.get(code)
        return ChannelRefused(sentence) if sentence else None


_log = logging.getLogger(__name__)

# All files of a message; until then what comes after it waits
FETCH_TIMEOUT_S = 40.0
# What the platform understood of something spoken
MAX_SPEECH_CHARS = 8000
# More than are said while files are fetched
MAX_AHEAD = 1000


class QqReceiverParts(Struct, frozen=True):
    """Parts that a message passes on its way in."""

    api: QqApi
    gateway: GatewayClient
    windows: QqWindows
    questions: OpenApprovals
    place: ChannelContext
    groups: Groups


class QqReceiver:
    """Receiver of one bot."""

    def __init__(self, ears: QqReceiverParts, pulse: Pulse, clock: Clock) -> None:
        self._ears = ears
        self._pulse = pulse
        self._clock = clock
        self._files = IncomingFiles(ears.place.recogniser, pulse.beat, FETCH_TIMEOUT_S)
        self._is_fetching = False
        # Heard before their turn
        self._ahead: deque[str] = deque(maxlen=MAX_AHEAD)
        self._hurrying: set[asyncio.Task[None]] = set()

    async def run(self, deliver: Deliver) -> None:
        """Until cancelled.

        Raises:
            ChannelError: the platform is not reached, or does not let this bot listen.
        """

        async def take(name: str, told: msgspec.Raw, _: ResumableSession) -> bool:
            return await self._take(deliver, name, told)

        def glance(name: str, told: msgspec.Raw, _: ResumableSession) -> None:
            if self._is_fetching:
                task = asyncio.create_task(self._hurry(deliver, name, told))
                self._hurrying.add(task)
                task.add_done_callback(self._hurrying.discard)

        try:
            await self._ears.gateway.run(take, glance)
        finally:
            for task in self._hurrying:
                task.cancel()

    async def _take(self, deliver: Deliver, name: str, told: msgspec.Raw) -> bool:
        """Deliver a message; return true if it was for us."""
        found = self._read(name, told)
        if found is None:
            return False
        inbound, message = found
        if inbound.message_id not in self._ahead:
            await self._open(inbound)
            files = files_of(message)
            if not self._ears.questions.answer(inbound, has_files=bool(files)):
                await deliver(await self._with_files(inbound, files))
        return True

    async def _hurry(self, deliver: Deliver, name: str, told: msgspec.Raw) -> None:
        """Deliver urgent messages; the rest comes in its turn."""
        found = self._read(name, told)
        if found is None:
            return
        inbound, message = found
        has_files = bool(files_of(message))
        try:
            if not self._ears.questions.answer(inbound, has_files=has_files):
                if not is_urgent(inbound.text):
                    return
                await self._open(inbound)
                await deliver(inbound)
            self._ahead.append(inbound.message_id)
        except BarnacleError as err:
            _log.info("qq: urgent message left to the queue (reason=%s)", err)

    async def _open(self, inbound: Inbound) -> None:
        is_known = self._ears.place.knows(inbound)
        await self._ears.windows.open(inbound.reply_target, inbound.message_id, is_known=is_known)

    def _read(self, name: str, told: msgspec.Raw) -> tuple[Inbound, QqMessage] | None:
        kind = KINDS.get(name)
        if kind is None:
            return None
        try:
            message = msgspec.json.decode(told, type=QqMessage)
        except (msgspec.DecodeError, UnicodeDecodeError) as err:
            # Its words stay out of the log: they are a person's
            _log.warning("qq: message skipped, not as documented (reason=%s)", err)
            return None
        if not is_for_us(name, message):
            return None
        inbound = understood(message, kind, self._clock.wall_s())
        if inbound is None or (inbound.is_group and self._ears.groups == "off"):
            return None
        return inbound, message

    async def _with_files(self, inbound: Inbound, files: tuple[QqFile, ...]) -> Inbound:
        spoken = [_spoken(file) for file in files if file.is_speech and file.asr_refer_text]
        others = [file for file in files if not (file.is_speech and file.asr_refer_text)]
        if others and self._ears.place.knows(inbound):
            coming = [
                IncomingFile(one.called, partial(self._fetch, one), one.is_speech) for one in others
            ]
            self._is_fetching = True
            try:
                inbound = await self._files.added_to(inbound, coming)
            finally:
                self._is_fetching = False
        else:
            # A stranger fills no disk
            inbound = unfetched(inbound, [one.called for one in others])
        text = "\n".join(line for line in [inbound.text, *spoken] if line)
        return replace(inbound, text=text, is_spoken=inbound.is_spoken or bool(spoken))

    async def _fetch(self, file: QqFile) -> Attachment | str:
        if reason := too_large(file.size):
            return reason
        async with self._ears.api.download(file.address) as answer:
            pieces = downloaded(answer, self._pulse.beat)
            return await self._ears.place.keeping.keep(pieces, file.media_type, file.filename)


def _spoken(file: QqFile) -> str:
    """Return the platform's own transcript."""
    words = printable_text(file.asr_refer_text, MAX_SPEECH_CHARS).strip()
    return f"{words}\n[spoken; QQ wrote it down]"
