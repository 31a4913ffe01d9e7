"""Signal channel, and the platform that builds it from the settings."""

import asyncio
import logging
from collections.abc import Iterator, Mapping
from functools import partial

from agent.channels.approvals import OpenApprovals, put, question_text
from agent.channels.base import Abilities, Answer, Channel, Deliver, Mark, Pulse, Question
from agent.channels.context import ChannelContext
from agent.channels.platform import Platform, PlatformContext, SetupKey, channel_context
from agent.channels.settings import ChannelsSettings, SignalSettings
from agent.channels.signal import writer
from agent.channels.signal.accounts import find_account
from agent.channels.signal.client import SignalClient
from agent.channels.signal.cursor import SignalCursor
from agent.channels.signal.drafts import SignalDrafts
from agent.channels.signal.files import SignalFiles
from agent.channels.signal.ids import parameters_of, written_of
from agent.channels.signal.inbound import NAME
from agent.channels.signal.receive import SignalReceiver, SignalReceiverParts
from agent.channels.signal.send import SignalSender
from agent.channels.signal.writer import MAX_TEXT_BYTES, SignalWriter
from agent.config import Secret
from agent.errors import ChannelError
from agent.messages import Address, Inbound, Outbound
from agent.net.http import HttpClient
from agent.system.clock import Clock
from agent.text.printable import printable_line

_log = logging.getLogger(__name__)

# The platform shows it for fifteen seconds
TYPING_EVERY_S = 10.0
# A courtesy that takes longer comes too late to be one
COURTESY_TIMEOUT_S = 10.0
HINT = (
    "Your answer is shown on a telephone, in Signal: short paragraphs, bold and italic and code, "
    "no tables, no headings."
)
_SIGNS = {Mark.SEEN: "👀", Mark.DONE: "👍", Mark.FAILED: "😢"}
# Chats in which the agent is shown typing at the same time
MAX_TYPING = 200
MAX_VERSION_CHARS = 40
# A call that takes more messages than this to show is asked about at the terminal
MAX_MESSAGES = 4


class SignalChannel(Channel):
    """Channel of one account, by the daemon that holds its keys."""

    name = NAME
    abilities = Abilities(
        hint=HINT,
        typing_every_s=TYPING_EVERY_S,
        upload_s=writer.UPLOAD_TIMEOUT_S,
        shows_drafts=True,
        shows_marks=True,
        takes_files=True,
        asks=True,
        # As telephones record them; one kind of them plays no Ogg
        voice_type="audio/aac",
    )

    def __init__(
        self, settings: SignalSettings, place: ChannelContext, http: HttpClient, clock: Clock
    ) -> None:
        self.pulse: Pulse = Pulse(clock)
        self._daemon = SignalClient(settings.base_url, settings.account, http)
        self._letters = SignalWriter(self._daemon)
        self._drafts = SignalDrafts(self._letters, place.folder, clock)
        self._sending = SignalSender(self._daemon, self._letters, self._drafts)
        questions = OpenApprovals()
        self._asking = SignalApprovals(self._daemon, questions)
        fetching = SignalFiles(self._daemon, place.keeping, place.recogniser, self.pulse.beat)
        ears = SignalReceiverParts(questions, fetching, self._sending, place.knows, settings)
        position = SignalCursor(place.folder / "position.json")
        self._listening = SignalReceiver(self._daemon, ears, position, self.pulse, clock)
        self._typing: set[str] = set()

    async def listen(self, deliver: Deliver) -> None:
        await self._listening.run(deliver)

    async def send(self, message: Outbound) -> None:
        await self._sending.send(message)
        # A message ends it by itself
        self._typing.discard(message.recipient)

    def parts(self, text: str) -> tuple[str, ...]:
        return writer.parts(text)

    async def draft(self, inbound: Inbound, text_so_far: str) -> None:
        if text_so_far.strip():
            self._drafts.show(inbound, text_so_far)

    async def break_off(self, inbound: Inbound) -> None:
        await self._drafts.break_off(inbound)

    async def ask(self, address: Address, question: Question) -> Answer:
        return await self._asking.ask(address, question)

    async def typing(self, inbound: Inbound) -> None:
        target = inbound.reply_target
        if len(self._typing) < MAX_TYPING:
            self._typing.add(target)
        await self._courtesy("sendTyping", parameters_of(target))

    async def mark(self, inbound: Inbound, mark: Mark) -> None:
        target = inbound.reply_target
        place = parameters_of(target)
        written = written_of(inbound.message_id)
        if mark is not Mark.SEEN and target in self._typing:
            self._typing.discard(target)
            await self._courtesy("sendTyping", {**place, "stop": True})
        if written is None:
            return
        if mark is Mark.SEEN:
            read = {"recipient": written.author, "targetTimestamp": [written.timestamp_ms]}
            await self._courtesy("sendReceipt", {**read, "type": "read"})
        about = {"targetAuthor": written.author, "targetTimestamp": written.timestamp_ms}
        await self._courtesy("sendReaction", {**place, **about, "emoji": _SIGNS[mark]})

    async def aclose(self) -> None:
        await self._drafts.aclose()

    async def _courtesy(self, method: str, parameters: Mapping[str, object]) -> None:
        """Do something optional; an answer never waits for it, nor fails with it."""
        try:
            await self._daemon.call(method, parameters, COURTESY_TIMEOUT_S)
        except ChannelError as err:
            _log.info("signal: request failed (reason=%s)", err)


async def probe(settings: SignalSettings, http: HttpClient) -> str:
    """Return the account, in a sentence.

    Raises:
        ChannelError: it cannot be used, and why.
    """
    daemon = SignalClient(settings.base_url, "", http)
    await daemon.check()
    account = await find_account(daemon, settings.account)
    told = await daemon.call("version", {})
    version = told.get("version") if isinstance(told, dict) else None
    known = printable_line(str(version or "of an unknown version"), MAX_VERSION_CHARS)
    return f"signal-cli {known} is there with {account.name or 'its only account'}"


class Signal(Platform):
    """Platform of an account in a signal-cli daemon."""

    name = SignalChannel.name
    about = "an account that a signal-cli daemon holds the keys of"
    # Of a daemon that has just started, without an account; Java's heap grows to 128 MB more
    program_mb = 200
    wanted = (
        SetupKey(
            "account",
            "The account's number, such as +4915112345678",
            "Run `signal-cli daemon --http` and `barnacle signal link` first. Where the daemon has "
            "one account it need not be named.",
            is_needed=False,
        ),
    )

    def secrets(self, channels: ChannelsSettings, environ: Mapping[str, str]) -> Iterator[Secret]:
        """Return nothing: the daemon holds the secrets."""
        yield from ()

    def open(self, channels: ChannelsSettings, reach: PlatformContext) -> Channel:
        place = channel_context(self.name, channels, reach)
        return SignalChannel(_wanted(channels), place, reach.http, reach.clock)

    async def identify(self, channels: ChannelsSettings, reach: PlatformContext) -> str:
        return await probe(_wanted(channels), reach.http)


PLATFORM = Signal()


def _wanted(channels: ChannelsSettings) -> SignalSettings:
    return channels.signal or SignalSettings()


class SignalApprovals:
    """Approval questions in Signal chats; the receiver tells the answers to `questions`."""

    def __init__(self, daemon: SignalClient, questions: OpenApprovals) -> None:
        self._daemon = daemon
        self._questions = questions

    async def ask(self, address: Address, question: Question) -> Answer:
        """Ask, and wait for the answer until cancelled.

        Raises:
            ChannelError: the question could not be put.
        """
        told = pieces(question_text(question))
        if len(told) > MAX_MESSAGES:
            return Answer.NONE
        # Before it is shown: a quick answer must find the question open
        waiting = asyncio.ensure_future(self._questions.wait(address, question))
        try:
            # Its first step opens it
            await asyncio.sleep(0)
            place = parameters_of(address.target)
            for text in told:
                await put(partial(self._daemon.call, "send", {**place, "message": text}))
            self._questions.shown(question)
            return await waiting
        finally:
            waiting.cancel()


def pieces(text: str) -> list[str]:
    """Split the text into messages, byte for byte: nothing in it is Markdown."""
    # Four bytes for each character at most
    size = MAX_TEXT_BYTES // 4
    return [text[start : start + size] for start in range(0, len(text), size)]
