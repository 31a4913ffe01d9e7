from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest

from agent.channels.speech.engines import (
    SpeechParts,
    open_recogniser,
    open_speaker,
    probe,
    speaker_key,
)
from agent.channels.speech_settings import SpeakerSettings, SpeechSettings
from agent.config import Secret, decode
from agent.errors import ConfigRefused, SpeechUnavailable
from agent.net.http import HttpClient
from agent.settings import Settings

SERVER = "tcp://127.0.0.1:9"


@pytest.fixture
async def parts(tmp_path: Path) -> AsyncIterator[SpeechParts]:
    http = HttpClient()
    yield SpeechParts({}, http, tmp_path)
    await http.aclose()


def test_without_its_table_nothing_hears_or_speaks(parts: SpeechParts) -> None:
    assert open_recogniser(None, parts) is None
    assert open_speaker(None, parts) is None
    assert open_speaker(SpeechSettings(), parts) is None


@pytest.mark.parametrize(
    ("wanted", "names"),
    [
        (SpeechSettings(speaker=SpeakerSettings()), ("OpenAiRecogniser", "EspeakSpeaker")),
        (
            SpeechSettings(
                kind="wyoming",
                server=SERVER,
                speaker=SpeakerSettings(kind="wyoming", server=SERVER),
            ),
            ("WyomingRecogniser", "WyomingSpeaker"),
        ),
        (
            SpeechSettings(kind="pocketsphinx", speaker=SpeakerSettings(kind="openai")),
            ("PocketsphinxRecogniser", "OpenAiSpeaker"),
        ),
    ],
)
def test_each_kind_is_its_engine(
    wanted: SpeechSettings, names: tuple[str, str], parts: SpeechParts
) -> None:
    engines = (open_recogniser(wanted, parts), open_speaker(wanted, parts))
    assert tuple(type(one).__name__ for one in engines) == names


@pytest.mark.parametrize(
    ("speaker", "wanted", "environ", "key"),
    [
        # The same service: the same key
        (SpeakerSettings(kind="openai"), SpeechSettings(api_key=Secret("one")), {}, "one"),
        # Another service: none, or its own
        (
            SpeakerSettings(kind="openai", base_url="http://10.0.0.2/v1"),
            SpeechSettings(api_key=Secret("one")),
            {"OPENAI_API_KEY": "two"},
            "",
        ),
        (
            SpeakerSettings(kind="openai", base_url="http://10.0.0.2/v1", api_key=Secret("three")),
            SpeechSettings(api_key=Secret("one")),
            {},
            "three",
        ),
        (
            SpeakerSettings(kind="openai"),
            SpeechSettings(kind="wyoming", server=SERVER),
            {"OPENAI_API_KEY": "two"},
            "two",
        ),
    ],
)
def test_a_key_of_what_speaks_goes_to_its_own_service_alone(
    speaker: SpeakerSettings, wanted: SpeechSettings, environ: Mapping[str, str], key: str
) -> None:
    assert speaker_key(speaker, wanted, environ).reveal() == key


async def test_a_probe_names_both_or_what_is_wrong(parts: SpeechParts) -> None:
    told = await probe(SpeechSettings(speaker=SpeakerSettings(kind="openai")), parts)
    assert told == (
        "whisper-1 at https://api.openai.com/v1 writes voice messages down; "
        "speaks by tts-1 at https://api.openai.com/v1"
    )
    with pytest.raises(SpeechUnavailable, match="could not be reached"):
        await probe(SpeechSettings(kind="wyoming", server=SERVER), parts)


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        ('kind = "wyoming"', "`channels.speech.server`: is missing"),
        ('kind = "pocketsphinx"\nlanguage = "de"', "`channels.speech.language`: must be en"),
        ('voice = "mirror"', '`channels.speech.voice`: is "mirror"'),
        ('server = "http://127.0.0.1:10300"', "a server such as tcp://192.168.1.10:10300"),
        ('[channels.speech.speaker]\nkind = "wyoming"', "`channels.speech.speaker.server`: is"),
        ('[channels.speech.speaker]\nvoice = "-x"', "the name of a voice"),
    ],
)
def test_settings_that_cannot_be_are_refused_with_the_remedy(table: str, reason: str) -> None:
    with pytest.raises(ConfigRefused) as refused:
        decode(f"[channels.speech]\n{table}\n", Settings, Path("b.toml"))
    assert reason in str(refused.value)
