import json
from email.utils import formatdate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.config import Secret
from agent.errors import (
    ContextOverflow,
    KeyRefused,
    ProviderError,
    ProviderRefused,
    QuotaExhausted,
    RateLimited,
    ToolsUnsupported,
    TransientProviderError,
)
from agent.providers import failures
from agent.providers.answer import AnswerBuilder
from agent.providers.completions.wire import CompletionsWire
from agent.providers.failures import (
    ServiceRefusal,
    ServiceTarget,
    explain,
    explain_event,
    retry_after_s,
)
from agent.providers.wire import ToldError
from agent.security.redact import Redactor
from tests.canaries import secret

KEY = secret("provider")
SERVICE = ServiceTarget(
    "https://api.example.org/v1",
    "api.example.org",
    "some-model",
    "OPENAI_API_KEY",
    Redactor([Secret(KEY)]),
)
KEYLESS = ServiceTarget("http://127.0.0.1:8080/v1", "127.0.0.1:8080", "some-model", "", Redactor())


def error(message: str = "", **details: object) -> str:
    return json.dumps({"error": {"message": message, **details}})


@pytest.mark.parametrize(
    ("status", "body", "kind", "said"),
    [
        (401, error("Incorrect API key"), KeyRefused, "refused the key from OPENAI_API_KEY"),
        (403, error("Country not supported"), KeyRefused, "set a valid key in provider"),
        # Cloudflare before Groq and others, a school's filter
        (
            403,
            "\n<!DOCTYPE html><title>Attention Required! | Cloudflare</title>",
            TransientProviderError,
            "answered with a web page (403): this network, or a guard before the service, does not",
        ),
        (401, "<html>nginx</html>", KeyRefused, "set a valid key in provider"),
        (404, error("The model `x` does not exist"), ProviderRefused, "change provider.model"),
        (
            404,
            error("This model is only supported in v1/responses and not in v1/chat/completions."),
            ProviderRefused,
            'set provider.kind to "openai-responses"',
        ),
        (404, error("some-model?"), ProviderRefused, "has no model some-model for this key"),
        (
            404,
            "<html>nginx</html>",
            ProviderRefused,
            "/v1 does not exist (404)",
        ),
        (404, error("no such route"), ProviderRefused, "change provider.base_url"),
        (402, error("Insufficient Balance"), QuotaExhausted, "no quota left"),
        (400, error("bad request"), ProviderRefused, "refused the request (400: bad request)"),
        (413, "", ContextOverflow, "too long for some-model (413)"),
        # LiteLLM: a model that it does not have, a key that it does not know
        (
            400,
            error("/responses: Invalid model name passed in model=some-model. Call `/v1/models`"),
            ProviderRefused,
            "has no model some-model for this key",
        ),
        (400, error("gone", code="model_not_found"), ProviderRefused, "change provider.model"),
        (400, error("No connected db.", type="no_db_connection"), KeyRefused, "refused the key"),
        # LiteLLM: the error is the only event of a stream
        (
            500,
            f"data: {error('Error processing stream start')}\n\ndata: [DONE]\n\n",
            TransientProviderError,
            "cannot answer now (500: Error processing stream start)",
        ),
        (500, error("tools param requires --jinja flag"), ToolsUnsupported, "takes no tools"),
        (
            400,
            error('"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser'),
            ToolsUnsupported,
            "takes no tools",
        ),
        (
            400,
            error("Failed to call a function.", code="tool_use_failed"),
            ToolsUnsupported,
            "made an invalid tool call",
        ),
        (
            422,
            error("Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4097"),
            ContextOverflow,
            "too long for some-model",
        ),
        (
            413,
            error("Request too large for model `x` in organization on tokens per minute"),
            ContextOverflow,
            "too long for some-model",
        ),
        (429, error("Rate limit reached"), RateLimited, "asked too often just now (429"),
        (408, "", TransientProviderError, "cannot answer now (408)"),
        (500, error("oops"), TransientProviderError, "cannot answer now (500: oops)"),
        (503, "<html>took 412 ms</html>", TransientProviderError, "cannot answer now (503)"),
        (529, error("Overloaded"), TransientProviderError, "529"),
        (302, "", TransientProviderError, "sign-in page"),
        (511, "<html>", TransientProviderError, "cannot answer now (511)"),
    ],
)
def test_a_status_is_told_by_what_to_do_next(
    status: int, body: str, kind: type[ProviderError], said: str
) -> None:
    found = explain(SERVICE, ServiceRefusal(status, body))
    assert type(found) is kind
    assert said in str(found)


def test_without_a_key_the_place_for_one_is_named() -> None:
    found = explain(KEYLESS, ServiceRefusal(401))
    assert "needs a key (401): set a valid key in provider.api_key" in str(found)


@pytest.mark.parametrize(
    "body",
    [
        error("You exceeded your current quota", type="insufficient_quota", code=None),
        error("x", code="insufficient_quota"),
        error("x", code=1113),
        error("Your credit balance is too low to access the API"),
        error("Insufficient balance"),
        json.dumps({"message": "out of credits"}),
        error("Your plan does not include this model"),
    ],
)
def test_out_of_quota_is_final(body: str) -> None:
    assert isinstance(explain(SERVICE, ServiceRefusal(429, body)), QuotaExhausted)


@pytest.mark.parametrize(
    "refusal",
    [
        ServiceRefusal(429, error("You exceeded your current quota"), "30"),
        ServiceRefusal(429, error("You exceeded your current quota. Please retry in 31s.")),
        ServiceRefusal(
            429, error("You exceeded your current quota", details=[{"retryDelay": "31s"}])
        ),
        ServiceRefusal(429, error("generate rate is limited, see your plan")),
        ServiceRefusal(500, error("quota exhausted")),
    ],
)
def test_a_limit_that_passes_is_not_final(refusal: ServiceRefusal) -> None:
    assert isinstance(explain(SERVICE, refusal), TransientProviderError)


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (400, error("prompt is too long: 210000 tokens > 200000 maximum")),
        (400, error("x", code="context_length_exceeded")),
        (413, error("Request too large", type="request_too_large")),
        (400, error("The input token count (1200000) exceeds the maximum number of tokens")),
        (400, error("This model's maximum context length is 8192 tokens")),
        (500, json.dumps({"error": "the request exceeds the available context size"})),
    ],
)
def test_a_conversation_that_is_too_long_is_told_as_that(status: int, body: str) -> None:
    assert type(explain(SERVICE, ServiceRefusal(status, body))) is ContextOverflow


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (429, error("Rate limit reached: too many tokens per min")),
        (400, error("Invalid 'input': string_above_max_length")),
    ],
)
def test_what_sounds_like_a_long_conversation_and_is_none(status: int, body: str) -> None:
    assert type(explain(SERVICE, ServiceRefusal(status, body))) is not ContextOverflow


@pytest.mark.parametrize(
    "body",
    [
        error("registry.ollama.ai/library/gemma:2b does not support tools"),
        error("unknown parameter: tools"),
        error("Unrecognized field `tools`"),
        error("No endpoints found that support tool use"),
        error("Function calling is not supported with this model"),
        error("no", param="tools"),
    ],
)
def test_a_model_without_tools_is_told_as_that(body: str) -> None:
    found = explain(SERVICE, ServiceRefusal(400, body))
    assert isinstance(found, ToolsUnsupported)
    assert found.is_lasting


def test_a_call_that_the_service_found_wrong_is_told_apart_from_a_model_without_tools() -> None:
    body = error("tool call validation failed: attempted to call tool 'x' which was not in request")
    found = explain(SERVICE, ServiceRefusal(400, body))
    assert isinstance(found, ToolsUnsupported)
    assert not found.is_lasting


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ('{"error": {"message": "m"}}', "m"),
        ('{"error": "m"}', "m"),
        ('{"message": "m"}', "m"),
        ('{"detail": "m"}', "m"),
        ('{"detail": {"message": "m"}}', "m"),
        # Cloudflare
        ('{"success":false,"errors":[{"code":10000,"message":"m"}],"result":null}', "m"),
        ('{"errors": ["m"]}', "m"),
        ('{"message": "m", "errors": [{"message": "n"}]}', "m"),
        ('{"errors": {}}', ""),
        ('[{"error": {"message": "m"}}]', "m"),
        ("m", "m"),
        ('{"detail": [{"msg": "m"}]}', "[{'msg': 'm'}]"),
        ("[]", "[]"),
        ("null", ""),
        ('"m"', "m"),
        ("{}", ""),
        ("<html>m</html>", ""),
        ("  <!doctype html>", ""),
        ("[" * 100, "[" * 100),
    ],
)
def test_error_bodies_of_every_shape(body: str, message: str) -> None:
    assert explain(SERVICE, ServiceRefusal(400, body)).args == (
        f"api.example.org refused the request (400{': ' if message else ''}{message})",
    )


def test_a_service_that_echoes_the_key_does_not_show_it() -> None:
    for body in (error(f"bad key {KEY}"), f"bad key {KEY}", error(f"Bearer {KEY}")):
        for status in (400, 401, 404, 429, 500):
            found = explain(SERVICE, ServiceRefusal(status, body))
            assert KEY not in str(found)
            assert "***" in str(found)


def test_what_a_service_says_is_cleaned_and_short() -> None:
    hostile = "\x1b[2Jred\x07\n\u202egnp\u2028" + "x" * 10_000
    text = str(explain(SERVICE, ServiceRefusal(400, error(hostile))))
    assert text.isprintable()
    assert len(text) < 600


TOLD = (
    *("api.example.org ", "the account at", "https://api.example.org/"),
    "the conversation is too long for",
)


@given(st.integers(300, 599), st.text(max_size=200), st.text(max_size=40))
def test_no_answer_of_a_service_breaks_the_explanation(
    status: int, body: str, retry_after: str
) -> None:
    found = explain(SERVICE, ServiceRefusal(status, body, retry_after))
    assert str(found).startswith(TOLD)


@pytest.mark.parametrize(
    ("chunk", "kind", "said"),
    [
        (
            '{"error": {"code": 502, "message": "Provider returned error"}}',
            TransientProviderError,
            "502",
        ),
        ('{"error": {"code": 429, "message": "slow down"}}', RateLimited, "429"),
        ('{"error": {"code": "401", "message": "no"}}', KeyRefused, "refused the key"),
        ('{"error": {"code": "insufficient_quota"}}', QuotaExhausted, "no quota left"),
        ('{"error": {"code": "server_error", "message": "oops"}}', TransientProviderError, "oops"),
        ('{"error": "overloaded"}', TransientProviderError, "overloaded"),
        ('{"error": 7}', TransientProviderError, "7"),
        ('{"object": "error", "message": "too long"}', TransientProviderError, "too long"),
    ],
)
def test_an_error_in_the_middle_of_a_stream(
    chunk: str, kind: type[ProviderError], said: str
) -> None:
    with pytest.raises(ToldError) as told:
        CompletionsWire().read(chunk, AnswerBuilder())
    found = explain_event(SERVICE, told.value.body)
    assert type(found) is kind
    assert said in str(found)


NOW_S = 1_795_000_000.0


@pytest.mark.parametrize(
    ("header", "wait_s"),
    [
        ("", None),
        ("0", 0.0),
        ("2", 2.0),
        ("1.5", 1.5),
        (" 7 ", 7.0),
        ("1m30s", 90.0),
        ("250ms", 0.25),
        ("1000000000", 120.0),
        ("-3", None),
        ("nan", None),
        ("inf", None),
        ("soon", None),
        (formatdate(NOW_S + 30, usegmt=True), 30.0),
        (formatdate(NOW_S + 9000, usegmt=True), 120.0),
        (formatdate(NOW_S - 30, usegmt=True), None),
        ("Fri, 99 Nov 2026 19:26:39 GMT", None),
    ],
)
def test_retry_after_in_all_its_forms(header: str, wait_s: float | None) -> None:
    assert retry_after_s(header, NOW_S) == wait_s


def test_a_wait_that_cannot_be_read_leaves_the_word_to_the_next_place() -> None:
    body = error("Too fast. Please try again in 1m30s.")
    found = explain(SERVICE, ServiceRefusal(429, body, "soon"))
    assert isinstance(found, TransientProviderError)
    assert found.retry_after_s == 90.0


def test_the_wait_travels_with_the_error() -> None:
    found = explain(SERVICE, ServiceRefusal(429, "", "17"))
    assert isinstance(found, TransientProviderError)
    assert found.retry_after_s == 17.0
    without = explain(SERVICE, ServiceRefusal(503))
    assert isinstance(without, TransientProviderError)
    assert without.retry_after_s is None


@pytest.mark.parametrize(("delay", "wait_s"), [("34s", 34.0), ("0.5s", 0.5), ("soon", None)])
def test_the_wait_that_google_asks_for_stands_in_the_body(delay: str, wait_s: float | None) -> None:
    details = [{"@type": "x", "reason": "BUSY"}, 7, {"@type": "y", "retryDelay": delay}]
    told = {"code": 503, "message": "busy", "status": "UNAVAILABLE", "details": details}
    body = json.dumps({"error": told})
    for found in (
        explain(SERVICE, ServiceRefusal(503, body)),
        explain(SERVICE, ServiceRefusal(503, f"[{body}]")),
        explain_event(SERVICE, told),
    ):
        assert isinstance(found, TransientProviderError)
        assert found.retry_after_s == wait_s
    in_header = explain(SERVICE, ServiceRefusal(503, body, "7"))
    assert isinstance(in_header, TransientProviderError)
    assert in_header.retry_after_s == 7.0


def test_the_named_parameter_is_the_services_words_and_param() -> None:
    assert failures.named_parameter(error("not so", param="temperature")) == "not so temperature"


@pytest.mark.parametrize(
    ("message", "wait_s"),
    [
        ("Rate limit reached. Please try again in 1.5s.", 1.5),
        ("Please try again in 2m3.5s.", 120.0),
        ("try again in 250ms", 0.25),
        ("Retry after some time", None),
    ],
)
def test_a_wait_that_is_told_in_words_counts(message: str, wait_s: float | None) -> None:
    found = explain(SERVICE, ServiceRefusal(429, error(message)))
    assert isinstance(found, TransientProviderError)
    assert found.retry_after_s == wait_s
