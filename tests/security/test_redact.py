import base64
import json
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.config import Secret
from agent.security.redact import MASK, MIN_SECRET_CHARS, Redactor, without_contents


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
