"""QQ as a channel: how its gateway is spoken to, and what a message passes on its way in."""

import contextlib
import logging
from collections.abc import AsyncGenerator
from dataclasses import replace
from functools import partial

import msgspec

from agent.channels.answers import OpenQuestions
from agent.channels.base import Abilities, Answer, Channel, Deliver, Pulse, Question
from agent.channels.incoming import Coming, IncomingFiles
from agent.channels.keeping import MAX_FILE_BYTES
from agent.channels.opcodes.gateway import Gateway, checked
from agent.channels.opcodes.session import Begun
from agent.channels.place import Place
from agent.channels.qq import events, sending
from agent.channels.qq.api import UPLOAD_TIMEOUT_S, QqApi
from agent.channels.qq.events import KINDS, NAME, File, Groups, Message, Ready, files_of
from agent.channels.qq.sending import Sending
from agent.channels.qq.windows import Windows
from agent.clock import Clock
from agent.errors import ChannelError, ChannelRefused, ChannelUnavailable, NetworkError
from agent.http import HttpAnswer
from agent.messages import Address, Attachment, Inbound, Outbound
from agent.printable import printable_line, printable_text

_log = logging.getLogger(__name__)

# All files of a message; until then what comes after it waits
FETCH_TIMEOUT_S = 40.0
# What the platform understood of something spoken
MAX_SPEECH_CHARS = 8000
HINT = (
    "Your answer is shown in QQ as plain text: short paragraphs, no Markdown, and no addresses of "
    "pages, which it refuses."
)
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


class _Dialect:
    """How QQ's gateway is spoken to."""

    name = "QQ"
    # A session or a number that it does not know, and trouble of its own
    forgetting = frozenset({4003, 4006, 4007, 9001, 9005, *range(4900, 4914)})

    def __init__(self, api: QqApi) -> None:
        self._api = api
        self.account = f"{api.app_id} {_INTENTS}"

    async def address(self, _begun: Begun | None) -> str:
        told = await self._api.call("GET", "/gateway/bot")
        url, limit = told.get("url"), told.get("session_start_limit")
        if isinstance(limit, dict) and limit.get("remaining") == 0:
            after_ms = limit.get("reset_after")
            wait_s = after_ms / 1000 if isinstance(after_ms, int) else None
            raise ChannelUnavailable(
                "the bot has begun too many sessions with QQ today", retry_after_s=wait_s
            )
        return checked(url if isinstance(url, str) else "", self._api.base_url)

    async def introduction(self) -> dict[str, object]:
        token = await self._api.authorization()
        return {"token": token, "intents": _INTENTS, "shard": [0, 1], "properties": {}}

    async def resumption(self, begun: Begun) -> dict[str, object]:
        token = await self._api.authorization()
        return {"token": token, "session_id": begun.session_id, "seq": begun.seq}

    def begun(self, ready: msgspec.Raw) -> Begun:
        told = msgspec.json.decode(ready, type=Ready)
        return Begun(self.account, told.session_id, told.user.id)

    def refusal(self, code: int) -> ChannelError | None:
        if code == _NOT_AUTHENTICATED:
            self._api.forget_token()
        sentence = _FATAL.get(code)
        return ChannelRefused(sentence) if sentence else None


class QqChannel(Channel):
    """One bot.

    Args:
        windows: what may be answered, kept over restarts.
    """

    name = NAME
    abilities = Abilities(
        hint=HINT, upload_s=UPLOAD_TIMEOUT_S, takes_files=True, asks=True, answers_only=True
    )

    def __init__(
        self, api: QqApi, groups: Groups, windows: Windows, place: Place, clock: Clock
    ) -> None:
        self.pulse: Pulse = Pulse(clock)
        self._api = api
        self._groups = groups
        self._windows = windows
        self._place = place
        self._clock = clock
        self._questions = OpenQuestions()
        self._sending = Sending(api, windows, self._questions)
        path = place.folder / "session.json"
        self._gateway = Gateway(_Dialect(api), path, self.pulse, clock)
        self._files = IncomingFiles(place.transcriber, self.pulse.beat, FETCH_TIMEOUT_S)

    async def listen(self, deliver: Deliver) -> None:
        await self._gateway.run(partial(self._take, deliver))

    async def send(self, message: Outbound) -> None:
        await self._sending.send(message)

    def attends(self, message: Outbound) -> bool:
        """Whether it can be said: the platform takes nothing that answers no message."""
        return self._sending.may_go(message)

    def parts(self, text: str) -> tuple[str, ...]:
        return sending.parts(text)

    async def ask(self, address: Address, question: Question) -> Answer:
        return await self._sending.ask(address, question)

    async def _take(self, deliver: Deliver, name: str, told: msgspec.Raw, _: Begun) -> bool:
        kind = KINDS.get(name)
        if kind is None:
            return False
        try:
            message = msgspec.json.decode(told, type=Message)
        except (msgspec.DecodeError, UnicodeDecodeError) as err:
            # Its words stay out of the log: they are a person's
            _log.warning("a message of QQ is not as documented: %s", err)
            return False
        inbound = events.understood(message, kind, self._clock.wall_s())
        if inbound is None or (inbound.is_group and self._groups == "off"):
            return False
        await self._windows.open(inbound.reply_target, inbound.message_id)
        if not self._questions.answer(inbound):
            await deliver(await self._with_files(inbound, files_of(message)))
        return True

    async def _with_files(self, inbound: Inbound, files: tuple[File, ...]) -> Inbound:
        spoken = [_spoken(file) for file in files if file.is_speech and file.asr_refer_text]
        others = [file for file in files if not (file.is_speech and file.asr_refer_text)]
        if others and self._place.knows(inbound):
            coming = [
                Coming(one.called, partial(self._fetch, one), partial(_is_speech, one))
                for one in others
            ]
            inbound = await self._files.added_to(inbound, coming)
        else:
            # A stranger fills no disk
            spoken.extend(f"[{one.called} that was not fetched]" for one in others)
        return replace(inbound, text="\n".join(line for line in [inbound.text, *spoken] if line))

    async def _fetch(self, file: File) -> Attachment | str:
        if file.size > MAX_FILE_BYTES:
            return f"it is larger than {MAX_FILE_BYTES // 1024 // 1024} MB"
        async with (
            self._api.download(file.address) as answer,
            contextlib.aclosing(self._pieces(answer)) as pieces,
        ):
            return await self._place.keeping.keep(pieces, file.media_type, file.filename)

    async def _pieces(self, answer: HttpAnswer) -> AsyncGenerator[bytes, None]:
        try:
            while piece := await answer.read():
                self.pulse.beat()
                yield piece
        except NetworkError as err:
            raise ChannelUnavailable(str(err)) from err


async def identify(api: QqApi) -> str:
    """Who the bot is, in a sentence; nothing is received or sent.

    Raises:
        ChannelError: it cannot be used, or not now.
    """
    me = await api.call("GET", "/users/@me")
    name = printable_line(str(me.get("username", "")), 64)
    return f"{name or 'a bot'} (id {printable_line(str(me.get('id', '')), 32)}) is there"


def _spoken(file: File) -> str:
    """What the platform has written down by itself."""
    words = printable_text(file.asr_refer_text, MAX_SPEECH_CHARS).strip()
    return f"{words}\n[spoken; QQ wrote it down]"


def _is_speech(file: File, _kept: Attachment) -> bool:
    return file.is_speech
