import pytest

from agent.channels.speech.pcm import Pcm, pcm_of, read_wav, wav_of
from agent.errors import SpeechUnavailable


def test_a_file_is_read_as_it_was_written() -> None:
    pcm = Pcm(b"\1\2\3\4" * 8000, 16_000)
    assert read_wav(wav_of(pcm)) == pcm
    assert pcm.duration_s == 1.0


def test_a_program_that_writes_to_a_pipe_does_not_know_the_length() -> None:
    file = bytearray(wav_of(Pcm(b"\1\2" * 100, 16_000)))
    file[4:8] = file[40:44] = b"\xff\xff\xff\x7f"
    assert read_wav(bytes(file)).samples == b"\1\2" * 100


@pytest.mark.parametrize("content", [b"", b"RIFF", b"OggS" * 40, wav_of(Pcm(b"", 16_000))[:30]])
def test_what_is_no_file_is_refused(content: bytes) -> None:
    with pytest.raises(SpeechUnavailable, match="no WAV file"):
        read_wav(content)


@pytest.mark.parametrize(
    ("rate_hz", "width", "channels"), [(16_000, 1, 1), (16_000, 2, 3), (16_000, 2, 0), (1, 2, 1)]
)
def test_samples_of_another_kind_are_refused(rate_hz: int, width: int, channels: int) -> None:
    with pytest.raises(SpeechUnavailable, match="must have"):
        pcm_of(b"\0" * 16, rate_hz, width, channels)


def test_half_a_sample_at_the_end_is_left_out() -> None:
    assert pcm_of(b"\1\2\3", 16_000, 2, 1).samples == b"\1\2"
    assert pcm_of(b"\2\0\4\0\1", 16_000, 2, 2).samples == b"\3\0"
