import base64
import json
import time
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.config import Secret
from agent.security.redact import (
    MASK,
    MIN_SECRET_CHARS,
    Redactor,
    spaced,
    spellings,
    without_contents,
)
from tests.security.key_corpus import KNOWN, SPELLINGS


def test_a_known_secret_is_masked_wherever_it_stands() -> None:
    redactor = Redactor([Secret("hunter2-hunter2")])
    assert redactor.redact("a=hunter2-hunter2;b=hunter2-hunter2") == f"a={MASK};b={MASK}"


@pytest.mark.parametrize(
    "spelling",
    [
        lambda text: quote(text, safe=""),
        lambda text: json.dumps({"key": text}),
        lambda text: repr({"key": text}),
        lambda text: base64.b64encode(text.encode()).decode(),
    ],
)
def test_a_known_secret_is_masked_however_it_is_spelled(spelling: object) -> None:
    secret = "p/ä'\"\\ss wörd+=&"
    assert callable(spelling)
    spelled = spelling(secret)
    redacted = Redactor([Secret(secret)]).redact(spelled)
    assert MASK in redacted
    assert "ss" not in redacted
    assert "w%C3" not in redacted


def test_of_two_secrets_the_longer_goes_first() -> None:
    redactor = Redactor([Secret("abcdef"), Secret("abcdefghijkl")])
    assert redactor.redact("abcdefghijkl abcdef") == f"{MASK} {MASK}"


def test_secrets_can_be_learned_later() -> None:
    redactor = Redactor()
    assert redactor.redact("new-secret") == "new-secret"
    redactor.add(Secret("new-secret"))
    assert redactor.redact("new-secret") == MASK


def test_a_secret_is_known_in_every_spelling_and_nothing_else_is() -> None:
    redactor = Redactor([Secret("p/ss-wörd")])
    assert redactor.knows("x p/ss-wörd")
    assert redactor.knows(quote("p/ss-wörd", safe=""))
    assert not redactor.knows("sk-proj-Ab12Cd34Ef56")
    assert not Redactor().knows("anything")


def test_what_only_looks_like_a_key_stays_in_a_text_that_grows() -> None:
    redactor = Redactor([Secret("hunter2-hunter2")])
    assert redactor.redact_known("hunter2-hunter2 ghp_Ab12Cd34Ef56Gh78") == (
        f"{MASK} ghp_Ab12Cd34Ef56Gh78"
    )


def test_very_short_secrets_do_not_blank_out_words() -> None:
    assert Redactor([Secret("led"), Secret("")]).redact("turn the led on") == "turn the led on"


@pytest.mark.parametrize(
    "key",
    [
        "sk-proj-Ab12Cd34Ef56",
        "sk-ant-api03-Ab12Cd34",
        "sk-abc***********wxyz",
        "xoxb-123456-abcdef",
        "ghp_Ab12Cd34Ef56Gh78",
        "github_pat_11ABCDEFG0",
        "AIzaSyA1234567890abcdefghijk",
        "gsk_Ab12Cd34Ef56",
        "glpat-Ab12Cd34Ef56",
    ],
)
def test_what_looks_like_a_key_is_masked_though_unknown(key: str) -> None:
    redacted = Redactor().redact(f"Incorrect API key provided: {key}.")
    assert key not in redacted
    assert redacted.startswith("Incorrect API key provided: ***")


def test_bearer_tokens_and_passwords_in_addresses_are_masked() -> None:
    redactor = Redactor()
    assert redactor.redact("Authorization: Bearer abc.def-123") == "Authorization: Bearer ***"
    assert redactor.redact("http://me:pass@host/x") == "http://***@host/x"


def test_ordinary_text_is_left_alone() -> None:
    text = "The task-list is at http://host:8080/a@b, the board at 23.5 °C; ask-me-anything"
    assert Redactor([Secret("something else")]).redact(text) == text


@given(
    st.text(alphabet="abcXYZ019-_/+=%'\"\\ é", min_size=MIN_SECRET_CHARS).map(str.strip),
    st.text(max_size=30),
    st.text(max_size=30),
)
def test_no_secret_survives(secret: str, before: str, after: str) -> None:
    if len(secret) < MIN_SECRET_CHARS:
        return
    redacted = Redactor([Secret(secret)]).redact(f"{before}{secret}{after}")
    assert secret not in redacted or secret in MASK * 3


@pytest.mark.parametrize(
    ("arguments", "kept"),
    [
        ('{"url":"http://a.org/","body":""}', '{"url":"http://a.org/","body":""}'),
        (
            '{"url": "u", "headers": {"X-Token": "k"}}',
            '{"url": "u", "headers": {"X-Token": "***"}}',
        ),
        ('{"url": "ü", "body": "key"}', '{"url": "ü", "body": "*** (3 characters)"}'),
        ('{"headers": ["key"]}', '{"headers": "***"}'),
        ("[5]", "***"),
        ("{", "***"),
        ("[" * 100_000, "***"),
    ],
)
def test_of_a_request_neither_body_nor_headers_are_kept(arguments: str, kept: str) -> None:
    assert without_contents(arguments) == kept


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
