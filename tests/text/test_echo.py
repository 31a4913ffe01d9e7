"""What the loudspeaker said is told apart from what somebody in the room says."""

import random

import pytest

from agent.text.echo import OwnSpeech, is_repeated

ANSWERS = (
    "The led is on now.",
    "The pump is off. It was on for twelve minutes.",
    "It is 21.5 degrees in the living room, and 64 percent humidity.",
    "I turned the heater off and the fan on, as you asked.",
    "Say: turn the pump on, and I ask the owner whether I may.",
    "灯现在打开了，水泵已经关闭。",
    "Die Pumpe ist aus, und der Lüfter läuft seit zehn Minuten.",
    "Reminder: open the valve in the garden at eight o'clock.",
)


class Clock:
    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def heard_badly(text: str, chance: random.Random) -> str:
    """A recogniser in a room: some words are missing, some are others, signs are gone."""
    words = "".join(sign if sign.isalnum() or sign in " '" else " " for sign in text).split()
    kept = [word if chance.random() > 0.05 else "the" for word in words if chance.random() > 0.08]
    return " ".join(kept).lower()


def test_of_two_hundred_echoes_hardly_one_passes() -> None:
    """What passes all the same is a guest's word: the owner is asked before anything moves."""
    chance = random.Random(7)
    passed = []
    for _ in range(200):
        own, said = OwnSpeech(Clock()), chance.choice(ANSWERS)
        own.note(said)
        echo = heard_badly(said, chance) if said.isascii() else said
        if not own.repeats(echo):
            passed.append(echo)
    assert len(passed) <= 10, passed


@pytest.mark.parametrize(
    "said",
    [
        "turn the led on",
        "what is the humidity in the garden",
        "is the pump still running",
        "stop",
        "turn it off again please",
        "",
    ],
)
def test_what_somebody_says_next_is_heard(said: str) -> None:
    own = OwnSpeech(Clock())
    for answer in ANSWERS[:4]:
        own.note(answer)
    assert not own.repeats(said)


def test_a_part_of_what_was_said_is_an_echo_and_one_word_is_not() -> None:
    own = OwnSpeech(Clock())
    own.note(ANSWERS[4])
    assert own.repeats("turn the pump on")
    assert not own.repeats("pump on")


@pytest.mark.parametrize(
    ("said", "heard"),
    [
        (
            "I can stop it whenever you like. It has 25 degrees, and the pump is on.",
            "stop the pump",
        ),
        ("Turn it round when you have read the label. The fan is off.", "turn the fan off"),
        ("如果您想停止,请告诉我。温室的水位正常,油泵也正常。", "停水泵"),
    ],
)
def test_words_that_are_scattered_over_an_answer_are_somebodys_own(said: str, heard: str) -> None:
    own = OwnSpeech(Clock())
    own.note(said)
    assert not own.repeats(heard)


def test_later_it_is_an_order() -> None:
    clock = Clock()
    own = OwnSpeech(clock)
    own.note("Turn the pump on.")
    clock.now_s = 16.0
    assert own.repeats("turn the pump on")
    clock.now_s = 60.0
    assert not own.repeats("turn the pump on")


def test_a_long_answer_may_be_heard_for_as_long_as_it_is_said() -> None:
    clock = Clock()
    own = OwnSpeech(clock)
    own.note(" ".join(f"word{n} and" for n in range(100)))
    clock.now_s = 90.0
    assert own.repeats("word98 and word99 and")


def test_a_sentence_is_known_without_its_signs() -> None:
    assert is_repeated("those were my own words", "Those were my own words, so I did nothing.")
    assert not is_repeated("own words", "Those were my own words, so I did nothing.")
