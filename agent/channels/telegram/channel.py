"""Telegram channel, and the platform that builds it from the settings."""

import logging
import re
from collections.abc import Iterator, Mapping

from agent.channels.approvals import OpenApprovals
from agent.channels.base import Abilities, Answer, Channel, Deliver, Mark, Pulse, Question
from agent.channels.context import ChannelContext
from agent.channels.credentials import find_secret
from agent.channels.platform import Platform, PlatformContext, SetupKey, channel_context
from agent.channels.rest import UPLOAD_TIMEOUT_S
from agent.channels.settings import ChannelsSettings, TelegramSettings
from agent.channels.telegram import markup
from agent.channels.telegram.approvals import TelegramApprovals
from agent.channels.telegram.client import TelegramApi, TelegramRefused
from agent.channels.telegram.cursor import TelegramCursor
from agent.channels.telegram.drafts import TelegramDrafts
from agent.channels.telegram.files import TelegramFiles
from agent.channels.telegram.inbound import NAME, number_of
from agent.channels.telegram.markup import TelegramTexts
from agent.channels.telegram.rate_limits import TelegramRateLimits
from agent.channels.telegram.receive import TelegramReceiver, TelegramReceiverParts
from agent.channels.telegram.send import TelegramSender
from agent.config import Secret
from agent.errors import ChannelError, ChannelRefused, ChannelUnavailable, ConfigRefused
from agent.messages import Address, Inbound, Outbound
from agent.net.http import HttpClient
from agent.system.clock import Clock
from agent.text.printable import printable_line

_log = logging.getLogger(__name__)

# The platform shows it for five seconds
TYPING_EVERY_S = 4.0
HINT = (
    "Your answer is shown on a telephone, in Telegram: short paragraphs, Markdown, no wide tables."
)
# Every chat allows these unless it allows few; others would be refused
_SIGNS = {Mark.SEEN: "👀", Mark.DONE: "👌", Mark.FAILED: "😢"}
# Chats without signs that are remembered
MAX_PLAIN_CHATS = 1000


class TelegramChannel(Channel):
    """Channel of one bot.

    Args:
        api: with the bot's token.
    """

    name = NAME
    abilities = Abilities(
        hint=HINT,
        typing_every_s=TYPING_EVERY_S,
        # What is refused as a picture goes once more, as a file
        upload_s=2 * UPLOAD_TIMEOUT_S,
        shows_drafts=True,
        shows_marks=True,
        takes_files=True,
        asks=True,
        voice_type="audio/ogg",
    )

    def __init__(
        self, api: TelegramApi, settings: TelegramSettings, place: ChannelContext, clock: Clock
    ) -> None:
        self.pulse: Pulse = Pulse(clock)
        self._api = api
        self._silence = TelegramRateLimits(clock)
        self._words = TelegramTexts(api)
        self._drafts = TelegramDrafts(self._words, self._silence, place.folder, clock)
        self._sending = TelegramSender(api, self._words, self._drafts, self._silence)
        questions = OpenApprovals()
        self._asking = TelegramApprovals(api, self._words, questions, self._silence)
        fetching = TelegramFiles(api, place.keeping, place.recogniser, self.pulse.beat)
        ears = TelegramReceiverParts(
            self._asking,
            questions,
            fetching,
            place.knows,
            settings.groups,
            place.commands,
            place.group_moved,
        )
        position = TelegramCursor(place.folder / "position.json", clock)
        self._listening = TelegramReceiver(api, ears, position, self.pulse, clock)
        self._without_signs: set[str] = set()

    async def listen(self, deliver: Deliver) -> None:
        await self._listening.run(deliver)

    async def send(self, message: Outbound) -> None:
        await self._sending.send(message)

    def parts(self, text: str) -> tuple[str, ...]:
        return markup.parts(text)

    async def draft(self, inbound: Inbound, text_so_far: str) -> None:
        if text_so_far.strip():
            self._drafts.show(inbound, text_so_far)

    async def break_off(self, inbound: Inbound) -> None:
        await self._drafts.break_off(inbound)

    async def ask(self, address: Address, question: Question) -> Answer:
        return await self._asking.ask(address, question)

    async def typing(self, inbound: Inbound) -> None:
        place = self._words.place(inbound.reply_target, inbound.thread)
        await self._courtesy(inbound.reply_target, "sendChatAction", {**place, "action": "typing"})

    async def mark(self, inbound: Inbound, mark: Mark) -> None:
        number = number_of(inbound.message_id)
        chat = inbound.reply_target
        if number is None or chat in self._without_signs:
            return
        sign = [{"type": "emoji", "emoji": _SIGNS[mark]}]
        body = {"chat_id": self._words.chat_of(chat), "message_id": number, "reaction": sign}
        is_shown = await self._courtesy(chat, "setMessageReaction", body)
        if not is_shown and len(self._without_signs) < MAX_PLAIN_CHATS:
            self._without_signs.add(chat)

    async def aclose(self) -> None:
        await self._drafts.aclose()
        await self._asking.aclose()

    async def _courtesy(self, chat: str, method: str, body: Mapping[str, object]) -> bool:
        """Do something optional; return true if the platform did it. No answer waits for it."""
        if self._silence.left_s(chat):
            return True
        try:
            await self._api.call(method, body)
        except TelegramRefused as err:
            _log.info("telegram: request failed (reason=%s)", err)
            return False
        except ChannelUnavailable as err:
            self._silence.note(chat, err)
        except ChannelError as err:
            _log.info("telegram: request failed (reason=%s)", err)
        return True


# The platform's names have 32
MAX_NAME_CHARS = 64


async def probe(api: TelegramApi) -> str:
    """Return the bot's name and how it receives, in a sentence.

    Raises:
        ChannelError: it cannot be used, or not now.
    """
    me = await api.call("getMe", {})
    hook = await api.call("getWebhookInfo", {})
    name = printable_line(str(me.get("username", "")), MAX_NAME_CHARS)
    if hook.get("url"):
        raise ChannelRefused(
            f"@{name} has a webhook, so messages do not come here: delete it (method "
            "deleteWebhook), or use another bot for this device"
        )
    in_groups = (
        "reads all of its groups"
        if me.get("can_read_all_group_messages")
        else ("in groups it is shown what calls it by name")
    )
    return f"@{name} is there; {in_groups}"


# It is part of an address: nothing else may be smuggled in with it
_BOT_TOKEN = re.compile(r"[0-9]{1,20}:[A-Za-z0-9_-]{1,100}")


class Telegram(Platform):
    """Platform of a bot in Telegram."""

    name = TelegramChannel.name
    about = "a bot that people write to"
    wanted = (
        SetupKey(
            "token",
            "The bot's token",
            "Write to @BotFather in Telegram, send /newbot, and it gives a token.",
            is_secret=True,
        ),
    )

    def secrets(self, channels: ChannelsSettings, environ: Mapping[str, str]) -> Iterator[Secret]:
        yield _token(_wanted(channels), environ)

    def open(self, channels: ChannelsSettings, reach: PlatformContext) -> Channel:
        wanted = _wanted(channels)
        api = telegram_api(wanted, reach.environ, reach.http)
        place = channel_context(self.name, channels, reach)
        return TelegramChannel(api, wanted, place, reach.clock)

    async def identify(self, channels: ChannelsSettings, reach: PlatformContext) -> str:
        return await probe(telegram_api(_wanted(channels), reach.environ, reach.http))


PLATFORM = Telegram()


def telegram_api(
    wanted: TelegramSettings, environ: Mapping[str, str], http: HttpClient
) -> TelegramApi:
    """Return the configured bot.

    Raises:
        ConfigRefused: there is no token, or none that is one.
    """
    token = _token(wanted, environ)
    if not token:
        raise ConfigRefused(
            "channels.telegram has no token: ask @BotFather for one and set token_file or token, "
            "or BARNACLE_TELEGRAM_TOKEN"
        )
    return TelegramApi(token, wanted.base_url, http)


def _wanted(channels: ChannelsSettings) -> TelegramSettings:
    return channels.telegram or TelegramSettings()


def _token(wanted: TelegramSettings, environ: Mapping[str, str]) -> Secret:
    token = find_secret("telegram_token", wanted.token, wanted.token_file, environ)
    if token and not _BOT_TOKEN.fullmatch(token.reveal()):
        raise ConfigRefused(
            "invalid channels.telegram.token: expected a token from @BotFather such as 123456:ABC-"
        )
    return token
