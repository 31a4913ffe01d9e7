from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent.app.providers import LocalParts, ModelServices, model_choices, open_providers, secrets
from agent.config import Secret
from agent.errors import SpendingLimit
from agent.messages import Effect
from agent.messaging.journal import open_agent_db
from agent.net.http import HttpClient
from agent.providers.base import ChatRequest
from agent.providers.prompted.learnt_templates import LEARNT_AFTER
from agent.providers.section import MainProviderSettings
from agent.providers.settings import ProgramSettings, ProviderSettings
from agent.settings import Settings
from agent.storage.worker import DatabaseWorker
from tests.canaries import secret
from tests.fakes.clock import SteppedClock
from tests.fakes.llm_server import Reply, failed, running, streamed
from tests.fakes.said import spec_of, user_said
from tests.fakes.sandbox import no_bubblewrap

HELLO = (user_said("hello"),)
SENT = ("own", "more", "backup", "groq", "any", "env", "passed")


@pytest.fixture
async def http() -> AsyncIterator[HttpClient]:
    client = HttpClient()
    yield client
    await client.aclose()


@pytest.fixture
async def journal(tmp_path: Path) -> AsyncIterator[DatabaseWorker]:
    opened = open_agent_db(tmp_path / "agent.db")
    yield opened
    await opened.aclose()


async def nobody(_: str) -> None:
    """Where the owner would be told."""


def answering_with(
    provider: MainProviderSettings, http: HttpClient, journal: DatabaseWorker
) -> ModelServices:
    settings = Settings(provider=provider)
    return open_providers(settings, {}, http, LocalParts(), journal, SteppedClock())


def test_what_can_be_chosen_is_told() -> None:
    provider = MainProviderSettings(kind="openai", routes={"fast": "groq:x"}, fallbacks=("groq",))
    told = model_choices(Settings(provider=provider), {"OPENAI_API_KEY": "k"})
    assert (told.service, told.model) == ("openai", "gpt-5.6-luna")
    assert (told.routes, told.fallbacks) == ({"fast": "groq:x"}, ("groq",))
    assert model_choices(Settings(), {}).model == ""


async def test_without_a_service_the_offline_provider_answers_and_nothing_is_spent(
    http: HttpClient, journal: DatabaseWorker
) -> None:
    answering = open_providers(Settings(), {}, http, LocalParts(), journal, SteppedClock())
    await answering.begin(nobody)
    assert (answering.provider.name, answering.spending()) == ("offline", "")
    # A key that comes later needs a restart
    assert answering.renew is None
    assert await answering.spent_in("a") == ""


@pytest.mark.parametrize(
    ("at_home", "said"),
    [
        (streamed("from home"), "from home"),
        # What llama.cpp says while it loads
        (failed(503, "Loading model"), "without a language model"),
    ],
    ids=["in time", "not in time"],
)
async def test_without_a_network_the_model_at_home_answers_and_else_the_offline_provider(
    at_home: Reply, said: str, http: HttpClient, journal: DatabaseWorker
) -> None:
    async with running(*[at_home] * 8) as home:
        provider = MainProviderSettings(
            base_url="http://127.0.0.1:1/v1", model="cloud", fallbacks=("home",)
        )
        local = ProviderSettings(kind="llamacpp", base_url=home.base_url, model="local")
        settings = Settings(provider=provider, providers={"home": local})
        answering = open_providers(settings, {}, http, LocalParts(), journal, SteppedClock())
        answer = await answering.provider.chat(ChatRequest(HELLO))
    assert said in answer.text
    assert home.requests


async def test_what_is_learnt_of_a_models_calls_outlasts_a_change_of_the_configuration(
    tmp_path: Path, http: HttpClient, journal: DatabaseWorker
) -> None:
    call = "[TOOL_CALLS] " + '[{"name": "gpio_write", "arguments": {}}]'
    asked = ChatRequest(HELLO, (spec_of("gpio_write", "Sets a pin.", {}, Effect.ACTUATE),))
    local = LocalParts(templates=tmp_path / "model-templates.json")
    async with running(*[streamed(call)] * LEARNT_AFTER) as server:
        provider = MainProviderSettings(base_url=server.base_url, model="small")
        settings = Settings(provider=provider)
        answering = open_providers(settings, {}, http, local, journal, SteppedClock())
        for _ in range(LEARNT_AFTER):
            assert (await answering.provider.chat(asked)).tool_calls
            assert answering.renew is not None
            await answering.renew(settings)
    assert b"mistral" in (tmp_path / "model-templates.json").read_bytes()


async def test_a_hint_that_nobody_configured_never_reaches_the_service(
    http: HttpClient, journal: DatabaseWorker
) -> None:
    async with running(streamed("hi")) as server:
        provider = MainProviderSettings(base_url=server.base_url, model="large")
        answering = answering_with(provider, http, journal)
        await answering.provider.chat(ChatRequest(HELLO, model="hint:fast"))
    assert [request.body["model"] for request in server.requests] == ["large"]


def test_every_key_that_may_be_sent_is_known_as_a_secret() -> None:
    provider = MainProviderSettings(
        api_key=Secret(secret("own")), more_keys=(Secret(secret("more")),)
    )
    named = {"backup": ProviderSettings(api_key=Secret(secret("backup")))}
    program = ProgramSettings(
        command=("x",), env={"T": Secret(secret("env"))}, pass_env=("PASSED",)
    )
    named["cli"] = ProviderSettings(kind="program", program=program)
    environ = {
        "GROQ_API_KEY": f" {secret('groq')} ",
        "API_KEY": secret("any"),
        "PASSED": secret("passed"),
        "OPENAI_API_KEY": "a\nb",
    }
    found = list(secrets(Settings(provider=provider, providers=named), environ))
    keys = {one.reveal() for one in found} - {""}
    assert keys == {secret(one) for one in SENT}


async def test_what_was_asked_is_counted_and_told(
    http: HttpClient, journal: DatabaseWorker
) -> None:
    async with running(streamed("hi")) as server:
        provider = MainProviderSettings(base_url=server.base_url, model="large")
        answering = answering_with(provider, http, journal)
        await answering.provider.chat(ChatRequest(HELLO))
        assert answering.spending().startswith("1 request, ")
        assert await answering.spent_in("a") == "nothing"
        await answering.provider.chat(ChatRequest(HELLO, conversation="a"))
        assert (await answering.spent_in("a")).startswith("1 request, ")


async def test_beyond_a_limit_the_board_is_worked_offline_and_the_key_is_named(
    http: HttpClient, journal: DatabaseWorker
) -> None:
    async with running(streamed("hi"), streamed("hi")) as server:
        provider = MainProviderSettings(
            base_url=server.base_url, model="large", daily_limit_tokens=1
        )
        answering = answering_with(provider, http, journal)
        answers = [await answering.provider.chat(ChatRequest(HELLO)) for _ in range(2)]
    assert len(server.requests) == 1
    assert "provider.daily_limit_tokens is reached" in answers[1].text
    assert "provider.daily_limit_tokens" in answering.provider.trouble


async def test_where_the_offline_provider_is_switched_off_a_limit_is_an_error(
    http: HttpClient, journal: DatabaseWorker
) -> None:
    async with running(streamed("hi")) as server:
        provider = MainProviderSettings(
            base_url=server.base_url, model="large", daily_limit_tokens=1, offline_last=False
        )
        answering = answering_with(provider, http, journal)
        await answering.provider.chat(ChatRequest(HELLO))
        with pytest.raises(SpendingLimit, match="it resets tomorrow"):
            await answering.provider.chat(ChatRequest(HELLO))


def program_settings(script: str, **more: object) -> MainProviderSettings:
    declared = ProgramSettings(command=("sh", "-c", script))
    return MainProviderSettings(kind="program", program=declared, **more)  # type: ignore[arg-type]


@pytest.mark.skipif(bool(no_bubblewrap()), reason=no_bubblewrap())
async def test_a_program_answers_calls_a_tool_and_is_counted(
    http: HttpClient, journal: DatabaseWorker
) -> None:
    call = '<tool_call>{"name": "lamp_set", "arguments": {"value": "on"}}</tool_call>'
    provider = program_settings(f"grep -q lamp_set && echo '{call}'")
    answering = answering_with(provider, http, journal)
    lamp = spec_of("lamp_set", "Switches the lamp.", {"type": "object"}, Effect.ACTUATE)
    response = await answering.provider.chat(ChatRequest(HELLO, (lamp,)))
    assert [one.name for one in response.tool_calls] == ["lamp_set"]
    assert response.model == "sh"
    assert answering.spending().startswith("1 request, ")


@pytest.mark.skipif(bool(no_bubblewrap()), reason=no_bubblewrap())
async def test_after_a_program_that_fails_the_next_one_answers(
    http: HttpClient, journal: DatabaseWorker
) -> None:
    backup = ProgramSettings(command=("sh", "-c", "echo it is me"))
    settings = Settings(
        provider=program_settings("echo not logged in >&2; exit 1", fallbacks=("second",)),
        providers={"second": ProviderSettings(kind="program", program=backup)},
    )
    answering = open_providers(settings, {}, http, LocalParts(), journal, SteppedClock())
    assert (await answering.provider.chat(ChatRequest(HELLO))).text == "it is me"
    alone = answering_with(program_settings("exit 3"), http, journal)
    answer = await alone.provider.chat(ChatRequest(HELLO))
    assert "sh failed (exit 3)" in answer.text
