import base64
import time

import pytest

from agent.config import Secret
from agent.security.redact import MASK, Redactor
from agent.security.spellings import spaced, spellings
from tests.security.key_corpus import KNOWN, SPELLINGS


def pieces(text: str) -> set[str]:
    return {text[at : at + 6] for at in range(len(text) - 5)}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_known_key_is_masked_in_every_spelling(spelling: str) -> None:
    written = SPELLINGS[spelling](KNOWN)
    redactor = Redactor([Secret(KNOWN)])
    assert redactor.knows(f"before {written} after")
    masked = redactor.redact_known(f"before {written} after")
    assert MASK in masked
    assert masked.startswith("before ")
    assert masked.endswith(" after")
    # Of a pair the name stays, and what a neighbour's bits change
    left = masked.removeprefix("before ").removesuffix(" after").replace(MASK, "")
    around = pieces(SPELLINGS[spelling](""))
    assert len((pieces(left) & pieces(written)) - around) <= 4, left


def test_at_least_27_spellings_are_known() -> None:
    assert len(SPELLINGS) >= 27


def test_a_short_secret_is_not_looked_for_letter_by_letter() -> None:
    assert spaced("123456") is None
    assert Redactor([Secret("123456")]).redact("1, 2, 3, 4, 5, 6") == "1, 2, 3, 4, 5, 6"


def test_a_short_secret_has_no_piece_that_is_shorter_still() -> None:
    assert min(map(len, spellings("hunter2"))) == len("hunter2")
    assert "2retnuh" not in spellings("hunter2")


def test_a_megabyte_is_looked_through_at_once() -> None:
    redactor = Redactor([Secret("a" * 15 + "b" + str(number) * 20) for number in range(2)])
    for text in ("a" * 1_000_000, "a " * 500_000):
        begun_s = time.process_time()
        redactor.redact(text)
        assert time.process_time() - begun_s < 20


def test_a_secret_of_eight_characters_is_long_enough_to_be_written_backwards() -> None:
    assert "21FEdcba" in spellings("abcdEF12")
    assert "1FEdcba" not in spellings("abcdEF1")


@pytest.mark.parametrize("between", ["", " ", ":", "-", ", 0x", r"\x", "%"])
def test_bytes_are_known_with_every_sign_between_them(between: str) -> None:
    assert between.join(["6b", "65", "79", "31"]) in spellings("key1")


def test_of_a_short_secret_only_what_is_long_enough_is_looked_for() -> None:
    assert "61626364" in spellings("abcd")
    assert "616263" not in spellings("abc")


def test_letters_of_other_languages_are_known_in_json_too() -> None:
    assert 'Gärt\\"ner' in spellings('Gärt"ner')
    assert "G\\u00e4rtner" in spellings("Gärtner")


@pytest.mark.parametrize("offset", [0, 1, 2, 3, 4, 5])
def test_base64_is_known_wherever_it_begins(offset: int) -> None:
    coded = base64.b64encode(b"x" * offset + b"gR7x-Quote9Zk2" + b"y").decode()
    assert any(one in coded for one in spellings("gR7x-Quote9Zk2"))


def test_from_sixteen_letters_on_a_secret_is_looked_for_letter_by_letter() -> None:
    assert spaced("a1b2c3d4e5f6g7h") is None
    found = spaced("a1b2c3d4e5f6g7h8")
    assert found is not None
    assert found.fullmatch("a1b2 c3d4\ne5f6'+'g7h8")
    assert not found.search("a1b2     c3d4e5f6g7h8")


def test_signs_in_a_secret_are_looked_for_in_little_time() -> None:
    assert spaced("!?" * 20) is None
    found = spaced("a" * 8 + "!?" * 10 + "b" * 8)
    assert found is not None
    # With more than one way to read these signs the search would not end
    assert not found.search(("a" * 8 + "!?" * 20) * 20)
    assert found.search("a " * 8 + "! ? " * 10 + "b " * 8)
