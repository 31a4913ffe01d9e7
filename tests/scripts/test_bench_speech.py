"""The benchmark of speech: what is right, wrong and not heard are told apart."""

import random
import sys
from array import array
from importlib.util import find_spec

import pytest

from agent.channels.speech.grammar import grammar_of
from agent.channels.speech.pcm import Pcm
from scripts.lib.bench import child, recordings, speech
from tests.fakes.sounds import no_sounds

NOT_HERE = no_sounds("espeak-ng", "opusenc") or (
    "" if find_spec("pocketsphinx") else "pocketsphinx is not installed: extra speech"
)


def test_every_order_is_said_for_every_name_once() -> None:
    said = [*recordings.sentences(grammar_of(("led", "pump")))]
    assert len(said) == len(set(said)) == 2 * 14 + 8
    assert "turn on the pump" in said


def test_another_sentence_is_wrong_and_none_is_not_heard() -> None:
    verdicts = [
        speech._verdict("turn the led on", heard)
        for heard in (
            "turn the led on",
            "turn led on",
            "turn the led off",
            "",
        )
    ]
    assert verdicts == ["right", "right", "wrong", "nothing"]


def test_noise_is_as_loud_as_it_is_said_to_be() -> None:
    clean = array("h", [4000, -4000] * 20_000)
    loud = array(
        "h", recordings.noisy(Pcm(clean.tobytes(), 16_000), 10.0, random.Random(1)).samples
    )
    power = sum((a - b) ** 2 for a, b in zip(loud, clean, strict=True)) / len(clean)
    assert 0.09 < power / 4000**2 < 0.11


def test_the_cost_is_that_of_the_program_and_not_of_its_starter() -> None:
    hungry = "import sys; held = b'x' * 60_000_000; sys.stdout.write(sys.stdin.read())"
    output, cost = child.run_measured((sys.executable, "-I", "-S", "-c", hungry), b"hi")
    assert output == b"hi"
    assert 60 < cost.most_mb < 90


@pytest.mark.skipif(bool(NOT_HERE), reason=NOT_HERE)
def test_a_small_run_prints_its_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert speech.main(["--voices", "1", "--every", "40"]) == 0
    table = capsys.readouterr().out
    assert "pocketsphinx: the device's own sentences, noise at 10 dB" in table
    assert "espeak-ng: memory and CPU time" in table
