"""The command `llm`, which others wrote, as a model: in front of a service with completions.

What it prints, where it complains and how it ends is its own.
"""

import asyncio
import shlex
import sys
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

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
from agent.net.http import HttpClient
from agent.providers.base import ChatRequest, ChatResponse, DirectProvider
from agent.providers.create import service_provider
from agent.providers.settings import ProgramSettings, ProviderSettings
from tests.contracts.provider import TEXT, TOOLS, WRITE
from tests.fakes.llm_server import LlmServer, Reply, failed, running, streamed
from tests.fakes.llm_talk import heard
from tests.fakes.said import assistant_said, system_said, user_said
from tests.fakes.sandbox import no_bubblewrap
from tests.fakes.scripted_program import text_with, with_tools
from tests.oracles import clients
from tests.oracles.clients import INSTALLED
from tests.waits import PATIENCE_S

pytestmark = [
    pytest.mark.skipif(bool(clients.absence()), reason=clients.absence()),
    pytest.mark.skipif(bool(no_bubblewrap()), reason=no_bubblewrap()),
    # Each request starts Python and loads a maker's client
    pytest.mark.timeout(240),
]
KEY = "canary-llm-key"
ASKED = ChatRequest((system_said("Be brief."), user_said("-- is the lamp on? 好")))


def installed(folder: Path, url: str) -> ProviderSettings:
    """Return the declaration of the command, with a model of its own at `url`."""
    program, home = folder / "llm", folder / "home"
    home.mkdir()
    python = shlex.quote(sys.executable)
    program.write_text(
        f'#!/bin/sh\nPYTHONPATH={INSTALLED} exec {python} -S -W ignore -m llm "$@"\n'
    )
    program.chmod(0o755)
    (home / "extra-openai-models.yaml").write_text(
        f"- model_id: fake\n  model_name: fake-model\n  api_base: {url}\n  api_key_name: fake\n"
    )
    declared = ProgramSettings(
        command=(str(program), "-m", "{model}", "--no-log", "-s", "{system}"),
        network=True,
        home=str(home),
        reads=(str(INSTALLED), sys.prefix, sys.base_prefix),
        env={"LLM_USER_PATH": Secret(str(home))},
        key_variable="OPENAI_API_KEY",
    )
    return ProviderSettings(kind="program", model="fake", program=declared, api_key=Secret(KEY))


@asynccontextmanager
async def asking(folder: Path, *script: Reply) -> AsyncIterator[tuple[LlmServer, DirectProvider]]:
    async with running(*script) as server:
        yield server, service_provider(installed(folder, server.base_url), {}, HttpClient())


async def test_an_answer_comes_as_it_was_written(tmp_path: Path) -> None:
    async with asking(tmp_path, streamed(TEXT)) as (server, model):
        shown, ended = await heard(model, ASKED)
    assert isinstance(ended, ChatResponse), ended
    assert (shown, ended.text, ended.model) == (TEXT, TEXT, "fake")
    system, user = server.requests[0].body["messages"]  # type: ignore[misc]  # as the client sends
    assert system["content"].endswith("Be brief.")
    assert "<person>\n-- is the lamp on? 好\n</person>" in user["content"]
    assert server.requests[0].headers["authorization"] == f"bearer {KEY}"


async def test_a_conversation_goes_and_a_call_comes_back(tmp_path: Path) -> None:
    said = (*ASKED.messages, assistant_said("It is."), user_said("switch it on"))
    answer = text_with(TEXT, (WRITE,))
    async with asking(tmp_path, streamed(answer)) as (server, model):
        _, ended = await heard(with_tools(model), ChatRequest(said, TOOLS))
    assert isinstance(ended, ChatResponse), ended
    assert [call.name for call in ended.tool_calls] == [WRITE.name]
    assert ended.text == TEXT
    sent = str(server.requests[0].body)
    assert "board_gpio_write" in sent
    assert "<assistant>\\nIt is.\\n</assistant>" in sent


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (failed(401, "Incorrect API key provided"), KeyRefused),
        (failed(429, "Rate limit reached for requests"), RateLimited),
        (failed(429, "You exceeded your current quota, check your plan"), QuotaExhausted),
        (failed(400, "This model's maximum context length is 8192 tokens"), ContextOverflow),
        (failed(503, "overloaded"), TransientProviderError),
        (streamed(TEXT, cut_after=200), TransientProviderError),
    ],
    ids=["key", "rate limit", "quota", "too long", "overloaded", "cut"],
)
async def test_its_complaints_say_what_to_do_next(
    tmp_path: Path, reply: Reply, kind: type[ProviderError]
) -> None:
    async with asking(tmp_path, reply) as (_, model):
        _, ended = await heard(model, ASKED)
    assert type(ended) is kind, ended
    assert KEY not in str(ended)


async def test_a_model_that_it_does_not_know_is_named(tmp_path: Path) -> None:
    async with asking(tmp_path, streamed(TEXT)) as (server, model):
        _, ended = await heard(model, ChatRequest(ASKED.messages, model="gpt-none"))
    assert type(ended) is ProviderRefused, ended
    assert "has no model gpt-none" in str(ended)
    assert not server.requests


async def test_it_is_ended_when_nobody_listens_any_more(tmp_path: Path) -> None:
    async with asking(tmp_path, streamed(TEXT * 50, pause_s=0.05, piece_bytes=64)) as (
        server,
        model,
    ):
        async with aclosing(model.stream(ASKED)) as items:
            async for _ in items:
                break
        async with asyncio.timeout(PATIENCE_S):
            await server.was_abandoned.wait()
