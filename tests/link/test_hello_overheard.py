import pytest

from agent.link.hello import UnknownDevice


@pytest.mark.parametrize(
    ("heard", "words"),
    [
        (b"", "nothing answers at /dev/x"),
        (b"MicroPython v1.25.0 on 2026\r\n>>> ", "MicroPython prompt"),
        (b"raw REPL; CTRL-B to exit\r\n>", "MicroPython prompt"),
        (b"Traceback (most recent call last):\r\n", "barnacle board install"),
        (b"raspberrypi login: ", "login prompt"),
        (b"\x13\x37" * 900, "not the link protocol"),
    ],
)
def test_a_stranger_is_told_by_what_it_says(heard: bytes, words: str) -> None:
    overheard = UnknownDevice()
    overheard.add(heard)
    assert words in overheard.sentence("/dev/x")


def test_an_echo_is_told() -> None:
    overheard = UnknownDevice()
    overheard.add(b"\x55" * 100)
    overheard.is_echo = True
    assert "echoes" in overheard.sentence("/dev/x")


def test_a_prompt_that_echoes_a_greeting_whole_is_a_prompt() -> None:
    overheard = UnknownDevice()
    overheard.add(b">>> ")
    overheard.is_echo = True
    assert "MicroPython prompt" in overheard.sentence("/dev/x")


def test_a_prompt_that_echoes_our_greetings_stays_a_prompt() -> None:
    overheard = UnknownDevice()
    overheard.add(b">>> ")
    for _ in range(1000):
        overheard.add(b"\x55" * 100)
    assert "MicroPython prompt" in overheard.sentence("/dev/x")


def test_a_sign_that_arrives_in_two_reads_is_seen() -> None:
    overheard = UnknownDevice()
    overheard.add(b"\x55" * 1000 + b"Micro")
    overheard.add(b"Python")
    assert "MicroPython prompt" in overheard.sentence("/dev/x")
