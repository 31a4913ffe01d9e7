"""Which part of a question a model understands."""

import numpy as np
from msgspec.structs import replace

from agent.embeddings.base import PassageReading
from agent.memory.understanding import is_understood, understood


def test_a_model_that_drops_marks_does_not_know_the_words_that_have_them() -> None:
    vector = np.zeros(4, np.float32)
    spans = [(0, 3), (4, 7), (8, 11)]
    reading = PassageReading(vector, np.zeros((3, 4), np.float32), spans)
    assert understood("the đội thủ", reading) == 1.0
    assert understood("the đội thủ", replace(reading, drops_marks=True)) == 3 / 9


def test_letters_that_a_model_knows_one_by_one_tell_no_word() -> None:
    question = "Где ключ"
    letters = [(place, place + 1) for place, one in enumerate(question) if one != " "]
    vector = np.zeros(4, np.float32)
    reading = PassageReading(vector, np.zeros((len(letters), 4), np.float32), letters)
    assert understood(question, reading) == 0.0
    assert not is_understood(question, reading)
    whole = replace(reading, spans=[(0, 3), (4, 6), (6, 8)])
    assert understood(question, whole) == 1.0
    assert is_understood(question, whole)


def test_signs_of_vowels_are_no_letters_of_their_own() -> None:
    reading = PassageReading(np.zeros(4, np.float32), np.zeros((2, 4), np.float32), [(0, 2)])
    assert understood("पुल", reading) == 0.0


def read(*spans: tuple[int, int]) -> PassageReading:
    """Return a reading of these pieces."""
    return PassageReading(np.zeros(4, np.float32), np.zeros((len(spans), 4), np.float32), spans)


def test_a_word_of_one_letter_is_known_whole() -> None:
    assert understood("I", read((0, 1))) == 1.0


def test_signs_of_han_are_known_by_runs() -> None:
    # A model of another language knows the frequent ones
    question = "亚马逊地区大部分的空地都用来做什么"
    known = [(place, place + 1) for place in range(3, 12)]
    assert understood(question, read(*known)) == 0.0
    assert understood(question, read(*((place, place + 1) for place in range(17)))) == 1.0
    # One sign of a name is rare
    assert understood(question, read(*((place, place + 1) for place in range(1, 17)))) == 16 / 17
    # What is written otherwise counts as before
    assert understood("Sony是什么", read((0, 4), (4, 5))) == 4 / 7


def test_kana_and_hangul_are_letters_of_words() -> None:
    for question in ("ボイラーはどこ", "보일러는어디에"):
        assert understood(question, read(*((place, place + 1) for place in range(7)))) == 0.0
        assert understood(question, read((0, 4), (4, 7))) == 1.0


def test_a_model_that_tells_no_words_is_believed() -> None:
    reading = PassageReading(np.zeros(4, np.float32), np.zeros((0, 4), np.float32))
    assert is_understood("Где ключ", reading)
    assert not is_understood("Где ключ", None)
