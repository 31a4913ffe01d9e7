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
        begun_s = time.monotonic()
        redactor.redact(text)
        assert time.monotonic() - begun_s < 20


def test_a_secret_of_eight_characters_is_long_enough_to_be_written_backwards() -> None:
    assert "21FEdcba" in spellings("abcdEF12")
    assert "1FEdcba" not in spellings("abcdEF1")
