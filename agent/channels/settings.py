"""The sections of the channels: who may talk to the agent, and how."""

from typing import Annotated, Literal

from msgspec import Meta

from agent.config import Secret, Section

Address = Annotated[str, Meta(pattern=r"^https?://[^/\s?#@]+(/[^\s?#]*)?$", description="a URL")]


class TerminalSettings(Section, frozen=True, kw_only=True):
    """The `[terminal]` section: the chat in a terminal."""

    prompt: Annotated[str, Meta(max_length=40)] = "> "
    # Lines of what was typed that are kept between chats; 0 keeps none
    history_lines: Annotated[int, Meta(ge=0, le=100_000)] = 1000


class TelegramSettings(Section, frozen=True, kw_only=True):
    """The `[channels.telegram]` section: a bot that people write to."""

    # What @BotFather gave; or a file that holds nothing else, which is better
    token: Secret = Secret()
    token_file: str = ""
    # A Bot API server of one's own is named here
    base_url: Address = "https://api.telegram.org"
    # In groups it hears those who speak to it, or everybody, or nobody
    groups: Literal["mention", "all", "off"] = "mention"


class SpeechSettings(Section, frozen=True, kw_only=True):
    """The `[channels.speech]` section: a service that writes down what was said."""

    # With `/audio/transcriptions` after it, as OpenAI's and those that speak like it
    base_url: Address = "https://api.openai.com/v1"
    model: Annotated[str, Meta(min_length=1, max_length=100)] = "whisper-1"
    api_key: Secret = Secret()
    api_key_file: str = ""


class ChannelsSettings(Section, frozen=True, kw_only=True):
    """The `[channels]` tables: a platform is there where its table is."""

    telegram: TelegramSettings | None = None
    speech: SpeechSettings | None = None
