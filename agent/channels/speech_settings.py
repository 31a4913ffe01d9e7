"""Settings of the engines that hear and speak, and of a room with a microphone."""

from typing import Annotated, Literal

from msgspec import Meta

from agent.config import PORT, PORT_LIMIT, WEB_URL, ConfigSection, Secret

OPENAI_URL = "https://api.openai.com/v1"
ServiceAddress = Annotated[
    str,
    Meta(
        pattern=rf"^{WEB_URL}\Z",
        description=f"a URL such as {OPENAI_URL}, {PORT_LIMIT}",
    ),
]
WyomingServer = Annotated[
    str,
    Meta(
        pattern=rf"^(tcp://(\[[0-9a-fA-F:]+\]|[A-Za-z0-9._-]+):{PORT})?\Z",
        description=f"a server such as tcp://192.168.1.10:10300, {PORT_LIMIT}",
    ),
]
ModelName = Annotated[str, Meta(min_length=1, max_length=100)]
VoiceName = Annotated[
    str,
    Meta(
        pattern=r"^([A-Za-z0-9][A-Za-z0-9_+.-]{0,63})?\Z",
        description="the name of a voice, such as en-us or alloy",
    ),
]
Language = Annotated[
    str, Meta(pattern=r"^([a-z]{2,3}(-[A-Za-z]{2,4})?)?\Z", description="a code such as en or de")
]
SoundDevice = Annotated[
    str,
    Meta(
        pattern=r"^[A-Za-z0-9_][A-Za-z0-9_:=,.-]{0,99}\Z",
        description="a name of ALSA, such as default or plughw:1",
    ),
]
WakeWords = Annotated[
    str,
    Meta(
        pattern=r"^(\w+( \w+){0,3})?\Z",
        max_length=40,
        description="one to four words, such as barnacle",
    ),
]


class SpeakerSettings(ConfigSection, frozen=True, kw_only=True):
    """The `[channels.speech.speaker]` section: an engine that speaks."""

    # A program of this machine, a server of the house, or a service with `/audio/speech`
    kind: Literal["espeak-ng", "wyoming", "openai"] = "espeak-ng"
    # For "wyoming": such as Piper
    server: WyomingServer = ""
    # For "openai"
    base_url: ServiceAddress = OPENAI_URL
    model: ModelName = "tts-1"
    api_key: Secret = Secret()
    api_key_file: str = ""
    # As the engine calls it; empty for its own choice
    voice: VoiceName = ""

    def __post_init__(self) -> None:
        if self.kind == "wyoming" and not self.server:
            raise ValueError('server is missing: name one such as "tcp://127.0.0.1:10200"')


class SpeechSettings(ConfigSection, frozen=True, kw_only=True):
    """The `[channels.speech]` section: an engine that writes down what was said."""

    # A service with `/audio/transcriptions`, a server of the house, or a small one of this machine
    kind: Literal["openai", "wyoming", "pocketsphinx"] = "openai"
    # For "openai": its address, as OpenAI's and those that speak like it
    base_url: ServiceAddress = OPENAI_URL
    model: ModelName = "whisper-1"
    api_key: Secret = Secret()
    api_key_file: str = ""
    # For "wyoming": such as faster-whisper
    server: WyomingServer = ""
    # What is spoken; empty where the engine finds out
    language: Language = ""
    # "mirror": whoever writes by voice is answered by voice as well
    voice: Literal["off", "mirror"] = "off"
    speaker: SpeakerSettings | None = None

    def __post_init__(self) -> None:
        if self.kind == "wyoming" and not self.server:
            raise ValueError('server is missing: name one such as "tcp://127.0.0.1:10300"')
        if self.kind == "pocketsphinx" and self.language not in {"", "en"}:
            raise ValueError("language must be en for pocketsphinx: it brings no other model")
        if self.voice == "mirror" and self.speaker is None:
            raise ValueError('voice is "mirror", and nothing speaks: add [channels.speech.speaker]')


class VoiceSettings(ConfigSection, frozen=True, kw_only=True):
    """The `[channels.voice]` section: a microphone and a loudspeaker of this machine."""

    # As `arecord -L` and `aplay -L` name them
    microphone: SoundDevice = "default"
    loudspeaker: SoundDevice = "default"
    # What a sentence for the agent begins with; empty where every sentence is for it
    wake: WakeWords = "barnacle"
    # A service that hears it, such as openWakeWord; empty where the engine that writes down does
    wake_server: WyomingServer = ""
    # Who speaks in a room is not known: more than a guest is the owner's choice
    trust: Literal["guest", "user"] = "guest"

    def __post_init__(self) -> None:
        if self.wake_server and not self.wake:
            raise ValueError('wake is missing: name a word of wake_server, such as "okay nabu"')
