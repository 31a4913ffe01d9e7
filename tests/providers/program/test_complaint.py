import pytest

from agent.config import Secret
from agent.errors import (
    ContextOverflow,
    KeyRefused,
    ProviderError,
    ProviderRefused,
    QuotaExhausted,
    RateLimited,
    TransientProviderError,
)
from agent.providers.program.complaint import AskedProgram, declared_kind, explain_end, explain_told
from agent.providers.settings import ProgramComplaints
from agent.security.redact import Redactor
from tests.canaries import secret

KEY = secret("program")


def program(key_source: str = "", **patterns: tuple[str, ...]) -> AskedProgram:
    complaints = ProgramComplaints(**patterns)
    return AskedProgram("fake-cli", "m1", key_source, complaints, Redactor((Secret(KEY),)))


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("Error: rate limit reached", RateLimited),
        ("Not logged in. Run `codex login` first", KeyRefused),
        ("unauthorized", KeyRefused),
        ("missing API key", KeyRefused),
        ("the API key is not valid", KeyRefused),
        ("You have insufficient credits: credit balance is too low", QuotaExhausted),
        ("prompt is too long: 210000 tokens > 200000 maximum", ContextOverflow),
        ("The context window has overflowed, summarizing...", ContextOverflow),
        ("model foo does not exist", ProviderRefused),
        ('{"error": {"code": "model_not_found", "message": "no"}}', ProviderRefused),
        ('{"error": {"code": "insufficient_quota", "message": "no"}}', QuotaExhausted),
        ("Error code: 429 - slow down", RateLimited),
        ("API Error: 401 no", KeyRefused),
        ("status=413", ContextOverflow),
        ("HTTP 402", QuotaExhausted),
        ("exit status 1 after 429 lines", TransientProviderError),
        ("the service is overloaded", TransientProviderError),
        ("Traceback (most recent call last):\n  ...\nValueError: 429", TransientProviderError),
        ("", TransientProviderError),
    ],
)
def test_the_usual_words_say_what_to_do_next(said: str, kind: type[ProviderError]) -> None:
    assert type(explain_end(program(), 1, "", said)) is kind


def test_the_declaration_goes_before_the_usual_words() -> None:
    declared = program(busy=("^Not logged in$", "E42"))
    assert declared_kind(declared, "Not logged in") == "busy"
    assert type(explain_end(declared, 1, "", "Not logged in")) is TransientProviderError
    assert declared_kind(declared, "You are Not logged in") == ""


def test_a_sentence_says_program_status_and_the_last_line() -> None:
    error = explain_end(program(), 3, "half an answer", "Traceback:\n  a line\nIt broke\n\n")
    assert str(error) == "fake-cli failed (exit 3: It broke)"
    told = explain_end(program(), 1, "", "loading\nE prompt could not be read\nI 3.2 s in all")
    assert str(told) == "fake-cli failed (exit 1: E prompt could not be read)"
    assert str(explain_end(program(), -9, "", "")) == "fake-cli failed (ended by signal 9)"
    assert str(explain_end(program(), 137, "", "")) == "fake-cli failed (ended by signal 9)"
    assert str(explain_end(program(), 0, "", "oops")) == "fake-cli failed (oops)"


def test_a_program_that_is_not_there_is_named_with_the_remedy() -> None:
    error = explain_end(program(), 127, "", "prlimit: failed to execute fake-cli: No such file")
    assert type(error) is ProviderRefused
    assert "is it installed" in str(error)
    assert "barnacle doctor" in str(error)
    assert type(explain_end(program(), 127, "an answer", "x: not found")) is TransientProviderError


def test_a_sign_in_is_where_it_is_configured() -> None:
    assert "program.home" in str(explain_end(program(), 1, "", "unauthorized"))
    assert "valid key in SOME_KEY" in str(explain_end(program("SOME_KEY"), 1, "", "unauthorized"))


def test_no_secret_and_no_control_character_is_told() -> None:
    told = str(explain_end(program(), 1, "", f"\x1b[31mbad key {KEY}\x07"))
    assert KEY not in told
    assert told.isprintable()


def test_the_wait_that_is_told_is_kept() -> None:
    error = explain_end(program(), 1, "", "too many requests, try again in 7s")
    assert isinstance(error, RateLimited)
    assert error.retry_after_s == 7


@pytest.mark.parametrize(
    ("told", "kind"),
    [
        ("overloaded", TransientProviderError),
        ({"code": "insufficient_quota", "message": "no credit"}, QuotaExhausted),
        ({"message": "too many requests"}, RateLimited),
        (True, TransientProviderError),
    ],
)
def test_an_error_in_the_output_becomes_the_same(told: object, kind: type[ProviderError]) -> None:
    error = explain_told(program(), told)
    assert type(error) is kind
    assert str(error).startswith(("fake-cli", "the account of fake-cli"))


def test_a_megabyte_of_complaints_is_read_at_its_end() -> None:
    error = explain_end(program(), 1, "", "x" * 1_000_000 + "\nrate limit")
    assert type(error) is RateLimited
    assert len(str(error)) < 500
