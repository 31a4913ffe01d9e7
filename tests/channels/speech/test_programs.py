"""Programs that convert sound: their limits, what is missing, and what is no sound."""

from pathlib import Path

import pytest

from agent.channels.speech.base import AAC, OGG, WAV, Sound
from agent.channels.speech.pcm import RATE_HZ, Pcm, wav_of
from agent.errors import SpeechUnavailable
from tests.fakes.sandbox import EchoingSandbox
from tests.fakes.sounds import kept, no_sounds, programs_by, programs_in, silence

NO_OPUS, NO_FFMPEG = no_sounds("opusenc"), no_sounds("ffmpeg")
needs_opus = pytest.mark.skipif(bool(NO_OPUS), reason=NO_OPUS)
needs_ffmpeg = pytest.mark.skipif(bool(NO_FFMPEG), reason=NO_FFMPEG)
SECOND = Sound(wav_of(Pcm(b"\0\1" * 22_050, 22_050)), WAV)


@needs_opus
async def test_ogg_comes_back_as_samples_for_recognisers(tmp_path: Path) -> None:
    programs = programs_in(tmp_path)
    voice = await programs.as_voice(SECOND, OGG)
    assert (voice.media_type, voice.content[:4]) == (OGG, b"OggS")
    pcm = await programs.samples_of(kept(tmp_path / "v.ogg", voice.content, OGG))
    assert pcm.rate_hz == RATE_HZ
    assert 0.9 < pcm.duration_s < 1.1


@needs_ffmpeg
async def test_what_telephones_of_signal_record_is_read(tmp_path: Path) -> None:
    programs = programs_in(tmp_path)
    voice = await programs.as_voice(SECOND, AAC)
    assert voice.media_type == AAC
    pcm = await programs.samples_of(kept(tmp_path / "v.aac", voice.content, AAC))
    assert 0.9 < pcm.duration_s < 1.2


@needs_ffmpeg
async def test_a_file_leads_to_no_other_file(tmp_path: Path) -> None:
    """A playlist that names a file or an address is no sound."""
    playlist = f"#EXTM3U\n#EXTINF:1,\n{silence(tmp_path / 's.wav').path}\n#EXT-X-ENDLIST\n"
    speech = kept(tmp_path / "v.m3u8", playlist.encode(), AAC)
    with pytest.raises(SpeechUnavailable, match="ffmpeg failed"):
        await programs_in(tmp_path).samples_of(speech)


@needs_opus
async def test_a_recording_that_is_too_long_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agent.channels.speech.programs.MAX_SPEECH_S", 0.5)
    programs = programs_in(tmp_path)
    voice = await programs.as_voice(SECOND, OGG)
    with pytest.raises(SpeechUnavailable, match="longer than"):
        await programs.samples_of(kept(tmp_path / "v.ogg", voice.content, OGG))


async def test_a_program_that_is_missing_is_named_with_its_package(tmp_path: Path) -> None:
    programs = programs_by(EchoingSandbox(tmp_path), tmp_path)
    with pytest.raises(SpeechUnavailable, match="apt install opus-tools"):
        await programs.as_voice(SECOND, OGG)
    with pytest.raises(SpeechUnavailable, match="apt install opus-tools"):
        await programs.samples_of(kept(tmp_path / "v.ogg", b"OggS", OGG))
    with pytest.raises(SpeechUnavailable, match="apt install ffmpeg"):
        await programs.samples_of(kept(tmp_path / "v.aac", b"\xff\xf1", AAC))


async def test_without_a_sandbox_none_is_run(tmp_path: Path) -> None:
    (tmp_path / "opusenc").touch()
    with pytest.raises(SpeechUnavailable, match="no sandbox found"):
        await programs_by(None, tmp_path).as_voice(SECOND, OGG)


async def test_what_is_a_voice_message_already_is_not_touched(tmp_path: Path) -> None:
    spoken = Sound(b"OggS", OGG)
    assert await programs_by(None, tmp_path).as_voice(spoken, OGG) is spoken
    # Where AAC cannot be made, Opus is what most telephones play
    assert await programs_by(None, tmp_path).as_voice(spoken, AAC) is spoken
