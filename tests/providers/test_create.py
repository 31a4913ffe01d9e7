from collections.abc import AsyncIterator

import pytest

from agent.config import Secret
from agent.errors import ConfigRefused
from agent.messages import Effect
from agent.net.http import HttpClient
from agent.providers.base import ChatRequest
from agent.providers.catalog import OWN_MACHINE_PATIENCE_S, Auth
from agent.providers.create import chain, routed, service_providers
from agent.providers.prompted.forms import ToolForms
from agent.providers.reader import RequestTimeouts
from agent.providers.reliable import ReliableProvider
from agent.providers.section import MainProviderSettings
from agent.providers.settings import ProgramSettings, ProviderSettings
from tests.fakes import gemini_service, ollama_service
from tests.fakes.clock import SteppedClock
from tests.fakes.llm_server import Reply, failed, running, sse, streamed
from tests.fakes.llm_talk import ASKED, until_abandoned
from tests.fakes.said import spec_of, user_said


@pytest.fixture
async def http() -> AsyncIterator[HttpClient]:
    client = HttpClient()
    yield client
    await client.aclose()


def chained(
    settings: ProviderSettings,
    http: HttpClient,
    named: dict[str, ProviderSettings] | None = None,
    environ: dict[str, str] | None = None,
) -> ReliableProvider:
    return chain(settings, named or {}, environ or {}, http, SteppedClock())


async def test_every_key_of_a_service_is_a_way(http: HttpClient) -> None:
    settings = ProviderSettings(api_key=Secret("a"), more_keys=(Secret("b"), Secret("c")))
    ways = service_providers(settings, {}, http)
    assert [way._endpoint.key for way in ways] == [Secret("a"), Secret("b"), Secret("c")]


async def test_a_service_is_asked_where_and_how_the_catalogue_says(http: HttpClient) -> None:
    settings = ProviderSettings(
        kind="azure", base_url="https://mine.openai.azure.com/openai/v1", model="m"
    )
    (way,) = service_providers(settings, {"AZURE_OPENAI_API_KEY": "k"}, http)
    assert (way._endpoint.auth, way._endpoint.auth_name) == (Auth.HEADER, "api-key")
    sent = way._endpoint.request("POST", "chat/completions", {}, b"{}")
    assert (sent.headers["api-key"], "authorization" in sent.headers) == ("k", False)


async def test_the_key_of_gemini_travels_in_a_header(http: HttpClient) -> None:
    async with running(gemini_service.streamed("hi")) as server:
        settings = ProviderSettings(kind="google", base_url=server.base_url, api_key=Secret("k/1"))
        (way,) = service_providers(settings, {}, http)
        assert (await way.chat(ASKED)).text == "hi"
    (request,) = server.requests
    assert request.path == "/v1/models/gemini-flash-latest:streamGenerateContent?alt=sse"
    assert request.headers["x-goog-api-key"] == "k/1"
    assert "authorization" not in request.headers


async def test_the_key_of_gemini_travels_in_the_address_where_that_is_chosen(
    http: HttpClient,
) -> None:
    async with running(gemini_service.streamed("hi")) as server:
        settings = ProviderSettings(kind="gemini-query", base_url=server.base_url, model="m")
        (way,) = service_providers(settings, {"GEMINI_API_KEY": "k+/=1"}, http)
        assert (await way.chat(ASKED)).text == "hi"
    (request,) = server.requests
    assert request.path == "/v1/models/m:streamGenerateContent?alt=sse&key=k%2B%2F%3D1"
    assert "x-goog-api-key" not in request.headers


async def test_ollama_needs_no_key_and_is_told_the_size_of_the_window(http: HttpClient) -> None:
    async with running(ollama_service.streamed("hi")) as server:
        host = server.base_url.removesuffix("/v1")
        settings = ProviderSettings(
            kind="ollama", base_url=host, model="fake:8b", context_tokens=4096
        )
        (way,) = service_providers(settings, {}, http)
        assert (await way.chat(ASKED)).text == "hi"
        assert way.capabilities().context_tokens == 4096
    (request,) = server.requests
    assert (request.path, "authorization" in request.headers) == ("/api/chat", False)
    options = request.body["options"]
    assert isinstance(options, dict)
    assert options["num_ctx"] == 4096


@pytest.mark.parametrize(
    "kind", ["anthropic-custom:http://127.0.0.1:8080/v1", "gemini", "responses", "llamacpp"]
)
def test_the_window_that_the_owner_says_counts_for_every_service(
    kind: str, http: HttpClient
) -> None:
    settings = ProviderSettings(
        kind=kind, api_key=Secret("k"), model="gemini-flash-latest", context_tokens=8192
    )
    (way,) = service_providers(settings, {}, http)
    assert way.capabilities().context_tokens == 8192
    assert way.capabilities("another").context_tokens == 8192


@pytest.mark.parametrize(
    ("kind", "first_byte_s", "between_bytes_s"), [("ollama", 110, 110), ("mistral", 45, 20)]
)
async def test_a_model_on_ones_own_machine_may_be_silent_for_longer(
    kind: str, first_byte_s: float, between_bytes_s: float, http: HttpClient
) -> None:
    settings = ProviderSettings(
        kind=kind, model="m", api_key=Secret("k"), first_byte_timeout_s=45.0
    )
    (way,) = service_providers(settings, {}, http)
    assert way._patience == RequestTimeouts(120.0, first_byte_s, between_bytes_s)


@pytest.mark.parametrize(("asked_s", "between_bytes_s"), [(30.0, 60.0), (200.0, 200.0)])
async def test_a_model_may_think_in_silence_after_its_stream_has_begun(
    asked_s: float, between_bytes_s: float, http: HttpClient
) -> None:
    settings = ProviderSettings(
        kind="openai-responses", api_key=Secret("k"), first_byte_timeout_s=asked_s
    )
    (way,) = service_providers(settings, {}, http)
    # The service sends that it has begun, and for half a minute and longer nothing else
    assert way._patience == RequestTimeouts(120.0, asked_s, between_bytes_s)


async def test_ollama_in_the_cloud_wants_a_key(http: HttpClient) -> None:
    settings = ProviderSettings(kind="ollama-cloud", model="gpt-oss:120b")
    with pytest.raises(ConfigRefused, match="OLLAMA_API_KEY"):
        service_providers(settings, {}, http)
    (way,) = service_providers(settings, {"OLLAMA_API_KEY": "k"}, http)
    sent = way._endpoint.request("POST", "chat", {}, b"{}")
    assert (sent.url, sent.headers["authorization"]) == ("https://ollama.com/api/chat", "Bearer k")


async def test_a_service_without_a_usual_model_wants_one_named(http: HttpClient) -> None:
    with pytest.raises(ConfigRefused, match=r"set provider\.model; `barnacle models`"):
        chained(ProviderSettings(kind="llamacpp"), http)


async def test_fallbacks_are_asked_in_their_order_with_their_models(http: HttpClient) -> None:
    async with running(failed(400, "no")) as first, running(streamed("from the second")) as second:
        settings = ProviderSettings(
            base_url=first.base_url, model="large", fallbacks=("openai:small", "backup:tiny")
        )
        named = {"backup": ProviderSettings(base_url=second.base_url, model="other")}
        environ = {"OPENAI_API_KEY": "k"}
        # The first fallback is the same service with another model
        settings = ProviderSettings(
            kind="openai", base_url=first.base_url, model="large", fallbacks=settings.fallbacks
        )
        provider = chained(settings, http, named, environ)
        assert (await provider.chat(ASKED)).text == "from the second"
    assert [request.body["model"] for request in first.requests] == ["large", "small"]
    assert [request.body["model"] for request in second.requests] == ["tiny"]


async def test_the_next_key_is_sent_when_one_is_asked_too_often(http: HttpClient) -> None:
    async with running(failed(429, "slow down"), streamed("ok")) as server:
        settings = ProviderSettings(
            base_url=server.base_url, api_key=Secret("a"), more_keys=(Secret("b"),), model="m"
        )
        provider = chained(settings, http)
        assert (await provider.chat(ChatRequest(ASKED.messages))).text == "ok"
    keys = [request.headers["authorization"] for request in server.requests]
    assert keys == ["bearer a", "bearer b"]


@pytest.mark.parametrize(
    ("fallback", "said"),
    [
        ("mistrl", "did you mean 'mistral'"),
        ("groq:llama", "GROQ_API_KEY"),
        ("custom:http://127.0.0.1/v1", "'custom:http://127.0.0.1/v1' needs a table"),
        ("llamacpp", "set providers.llamacpp.model"),
    ],
)
async def test_a_fallback_that_cannot_be_asked_is_refused_by_name(
    fallback: str, said: str, http: HttpClient
) -> None:
    with pytest.raises(ConfigRefused, match=said):
        chained(ProviderSettings(api_key=Secret("k"), fallbacks=(fallback,)), http)


async def test_a_route_asks_its_own_service_and_then_the_usual_one(http: HttpClient) -> None:
    async with (
        running(streamed("usual"), streamed("usual again")) as usual,
        running(streamed("fast"), failed(400, "no")) as fast,
    ):
        settings = MainProviderSettings(
            base_url=usual.base_url, model="large", routes={"fast": "quick:tiny"}
        )
        named = {"quick": ProviderSettings(base_url=fast.base_url, model="other")}
        provider = routed(settings, named, {}, http, ToolForms(SteppedClock()))
        hinted = ChatRequest(ASKED.messages, model="hint:fast")
        answers = [(await provider.chat(request)).text for request in (ASKED, hinted, hinted)]
    assert answers == ["usual", "fast", "usual again"]
    assert [request.body["model"] for request in fast.requests] == ["tiny", "tiny"]
    assert [request.body["model"] for request in usual.requests] == ["large", "large"]


async def test_a_chosen_model_is_not_asked_of_a_fallback_that_has_others(http: HttpClient) -> None:
    async with running(failed(400, "no")) as first, running(streamed("ok")) as second:
        settings = MainProviderSettings(
            base_url=first.base_url, model="large", fallbacks=("backup",)
        )
        named = {"backup": ProviderSettings(base_url=second.base_url, model="spare")}
        chosen = ChatRequest(ASKED.messages, model="largest")
        provider = routed(settings, named, {}, http, ToolForms(SteppedClock()))
        assert (await provider.chat(chosen)).text == "ok"
    assert [request.body["model"] for request in first.requests] == ["largest"]
    assert [request.body["model"] for request in second.requests] == ["spare"]


@pytest.mark.parametrize(
    ("target", "said"),
    [("mistrl", "provider.routes.fast: .*did you mean 'mistral'"), ("groq:x", "GROQ_API_KEY")],
)
async def test_a_route_that_cannot_be_asked_is_refused_by_name(
    target: str, said: str, http: HttpClient
) -> None:
    settings = MainProviderSettings(api_key=Secret("k"), routes={"fast": target})
    with pytest.raises(ConfigRefused, match=said):
        routed(settings, {}, {}, http, ToolForms(SteppedClock()))


async def test_a_route_may_be_another_model_of_the_same_service(http: HttpClient) -> None:
    async with running(streamed("ok")) as server:
        settings = MainProviderSettings(
            base_url=server.base_url, model="large", routes={"fast": "provider:tiny"}
        )
        provider = routed(settings, {}, {}, http, ToolForms(SteppedClock()))
        await provider.chat(ChatRequest(ASKED.messages, model="hint:fast"))
    assert [request.body["model"] for request in server.requests] == ["tiny"]


async def test_a_service_without_tools_is_asked_again_in_words(http: HttpClient) -> None:
    refusal = failed(400, "m does not support tools")
    call = '<tool_call>{"name":"time_now","arguments":{}}</tool_call>'
    async with running(refusal, streamed(call), streamed("It is noon.")) as server:
        settings = ProviderSettings(base_url=server.base_url, api_key=Secret("k"), model="m")
        provider = chained(settings, http)
        tool = spec_of("time_now", "The time.", {"type": "object"}, Effect.READ)
        asked = ChatRequest((user_said("what time is it?"),), (tool,))
        assert [wanted.name for wanted in (await provider.chat(asked)).tool_calls] == ["time_now"]
        assert (await provider.chat(asked)).text == "It is noon."
    assert ["tools" in request.body for request in server.requests] == [True, False, False]


async def test_tools_are_told_in_words_where_that_is_chosen_or_known(http: HttpClient) -> None:
    for settings in (
        ProviderSettings(api_key=Secret("k"), tool_calls="words"),
        ProviderSettings(kind="perplexity", api_key=Secret("k"), model="sonar"),
    ):
        assert not chained(settings, http).capabilities().native_tools
    assert chained(ProviderSettings(api_key=Secret("k")), http).capabilities().native_tools


async def test_whether_a_model_sees_is_known_or_chosen(http: HttpClient) -> None:
    key = Secret("k")
    assert chained(ProviderSettings(api_key=key), http).capabilities().vision
    blind = ProviderSettings(api_key=key, model="small-text")
    assert not chained(blind, http).capabilities().vision
    told = ProviderSettings(api_key=key, model="small-text", vision="yes")
    assert chained(told, http).capabilities().vision


async def test_a_fallback_is_asked_beside_a_service_that_only_holds_the_line(
    http: HttpClient,
) -> None:
    waiting = Reply(b": processing\n\n", stalls=True)
    async with running(waiting) as silent, running(streamed("b")) as other:
        settings = ProviderSettings(
            base_url=silent.base_url, model="m", fallbacks=("backup",), fallback_after_s=0.2
        )
        named = {"backup": ProviderSettings(base_url=other.base_url, model="m")}
        assert (await chained(settings, http, named).chat(ASKED)).text == "b"
        await until_abandoned(silent)


async def test_a_service_that_sends_thoughts_is_not_silent(http: HttpClient) -> None:
    thought = sse({"choices": [{"index": 0, "delta": {"reasoning_content": "hm"}}]}, done=False)
    thinking = Reply(thought * 10 + streamed("a").body, piece_bytes=len(thought), pause_s=0.1)
    async with running(thinking) as first, running(streamed("b")) as other:
        settings = ProviderSettings(
            base_url=first.base_url, model="m", fallbacks=("backup",), fallback_after_s=0.5
        )
        named = {"backup": ProviderSettings(base_url=other.base_url, model="m")}
        assert (await chained(settings, http, named).chat(ASKED)).text == "a"
    assert other.requests == []


@pytest.mark.parametrize(
    ("kind", "set_s", "after_s"),
    [("mistral", 6.0, 6.0), ("mistral", 0.0, 0.0), ("ollama", 6.0, 110)],
)
async def test_a_model_on_ones_own_machine_is_not_silent_while_it_is_loaded(
    kind: str, set_s: float, after_s: float, http: HttpClient
) -> None:
    settings = ProviderSettings(kind=kind, model="m", api_key=Secret("k"), fallback_after_s=set_s)
    assert chained(settings, http)._beside_after_s == after_s


@pytest.mark.parametrize("name", ["azure", "program"])
def test_a_fallback_that_needs_a_table_is_named_with_its_key(http: HttpClient, name: str) -> None:
    settings = ProviderSettings(base_url="http://a.example", model="m", fallbacks=(name,))
    with pytest.raises(
        ConfigRefused, match=rf"provider\.fallbacks: '{name}': .*\[providers\.backup\]"
    ):
        chained(settings, http)


async def test_a_program_is_told_of_pictures_in_words(http: HttpClient) -> None:
    """Its name says nothing of what can be shown to it."""
    program = ProgramSettings(command=("claude",))
    chosen = chained(ProviderSettings(kind="program", program=program), http)
    assert not chosen.capabilities().vision
    assert not chosen.capabilities().native_tools


async def test_a_program_has_the_time_of_a_model_at_home(http: HttpClient) -> None:
    program = ProgramSettings(command=("claude",), silence_timeout_s=7)
    (way,) = service_providers(ProviderSettings(kind="program", program=program), {}, http)
    assert (way.name, way.model) == ("claude", "claude")
    assert way._patience == RequestTimeouts(120.0, OWN_MACHINE_PATIENCE_S, 7)
