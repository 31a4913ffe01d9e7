"""Which part of a question a model understands."""

from dataclasses import replace

import numpy as np

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


def test_a_word_of_one_letter_and_a_sign_of_han_are_known_whole() -> None:
    reading = PassageReading(np.zeros(4, np.float32), np.zeros((1, 4), np.float32), [(0, 1)])
    assert understood("I", reading) == 1.0
    assert understood("妹妹", reading) == 0.5


def test_a_model_that_tells_no_words_is_believed() -> None:
    reading = PassageReading(np.zeros(4, np.float32), np.zeros((0, 4), np.float32))
    assert is_understood("Где ключ", reading)
    assert not is_understood("Где ключ", None)
