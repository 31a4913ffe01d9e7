"""Refusals that a service sends with 200, in place of an answer."""

import json

import pytest

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
from agent.providers.base import ChatRequest
from agent.providers.create import service_provider
from agent.providers.settings import ProviderSettings
from tests.fakes.llm_server import JSON, Reply, running, sse
from tests.fakes.llm_talk import asking, heard
from tests.fakes.said import user_said


def minimax(code: int, message: str) -> str:
    """Return what MiniMax sends for a failure, its parts that matter."""
    told = {"status_code": code, "status_msg": message}
    usage = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
    return json.dumps({"id": "0", "choices": None, "usage": usage, "base_resp": told})


# As Zhipu's and Z.AI's gateways answer a path that they do not have
ZHIPU = '{"code":500,"msg":"404 NOT_FOUND","success":false}'


@pytest.mark.parametrize(
    ("body", "kind", "said"),
    [
        (minimax(1008, "insufficient balance"), QuotaExhausted, "insufficient balance"),
        (minimax(2056, "usage limit exceeded"), QuotaExhausted, "usage limit exceeded"),
        (minimax(2062, "slow down"), RateLimited, "asked too often"),
        (minimax(1004, "login fail"), KeyRefused, "refused the key"),
        (minimax(2061, "plan not support model"), ProviderRefused, "plan not support model"),
        (
            minimax(2013, "invalid params, context window exceeds limit"),
            ContextOverflow,
            "too long",
        ),
        (ZHIPU, TransientProviderError, "404 NOT_FOUND"),
        ('{"detail": "Not Found"}', TransientProviderError, "Not Found"),
    ],
)
async def test_a_refusal_with_success_is_heard(
    body: str, kind: type[ProviderError], said: str
) -> None:
    as_events = [Reply(body=sse(json.loads(body))), Reply(body=f"data: {body}\n\n".encode())]
    for reply in (Reply(body=body.encode(), content_type=JSON), *as_events):
        async with asking(reply) as (_, provider):
            shown, told = await heard(provider)
        assert (shown, type(told)) == ("", kind)
        assert said in str(told)


async def test_a_refusal_with_success_is_heard_in_other_wire_formats() -> None:
    http = HttpClient()
    try:
        async with running(Reply(body=ZHIPU.encode(), content_type=JSON)) as server:
            kind = f"anthropic-custom:{server.base_url}"
            provider = service_provider(ProviderSettings(kind=kind, model="m"), {}, http)
            with pytest.raises(TransientProviderError, match="404 NOT_FOUND"):
                await provider.chat(ChatRequest((user_said("hi"),)))
    finally:
        await http.aclose()


async def test_an_answer_beside_a_word_of_success_is_an_answer() -> None:
    said: dict[str, object] = {
        "choices": [{"index": 0, "delta": {"content": "Done."}, "finish_reason": "stop"}],
        "base_resp": {"status_code": 0, "status_msg": ""},
    }
    status: dict[str, object] = {"message": "queued", "base_resp": {"status_code": 0}}
    async with asking(Reply(body=sse(status, said))) as (_, provider):
        assert (await heard(provider))[0] == "Done."
