import pytest

from agent.messages import ChatMessage, Image, Role
from agent.providers.base import ChatRequest
from agent.providers.router import VisionProvider, is_seeing
from tests.fakes.provider import ScriptedProvider
from tests.fakes.said import words

PICTURE = Image("image/png", "aGk=")
SHOWN = ChatRequest((ChatMessage(Role.USER, words("what is this?"), images=(PICTURE, PICTURE)),))


@pytest.mark.parametrize(
    "model",
    [
        *("gpt-5.6-luna", "openai/gpt-4o-mini", "claude-sonnet-4-6", "gemini-flash-latest"),
        *(
            "llava:7b",
            "qwen2.5-vl:7b",
            "meta-llama/llama-4-scout",
            "pixtral-12b",
            "o3",
            "gemma3:4b",
        ),
        *("gpt-6-luna", "openai/gpt-6.2-sol", "moonshotai/kimi-k2.6", "kimi-k3", "MiniMax-M3"),
        *("qwen3.8-max-preview", "x-ai/grok-5", "gemma4:12b"),
    ],
)
def test_models_that_see_are_known_by_name(model: str) -> None:
    assert is_seeing(model)


@pytest.mark.parametrize(
    "model",
    [
        *("deepseek-chat", "llama-3.3-70b", "qwen3:8b", "o3-mini", "vlad"),
        *("gpt-oss-120b", "gpt-4-0613", "kimi-k2-instruct", "MiniMax-M2.7", "llama3.1:8b"),
    ],
)
def test_nothing_is_assumed_of_others(model: str) -> None:
    assert not is_seeing(model)


async def test_a_model_that_sees_gets_the_pictures() -> None:
    inner = ScriptedProvider("a lamp")
    await VisionProvider(inner, "gpt-4o").chat(SHOWN)
    assert inner.requests == [SHOWN]


async def test_a_model_that_does_not_see_is_told_that_there_was_something() -> None:
    inner = ScriptedProvider("a lamp")
    provider = VisionProvider(inner, "blind")
    async for _ in provider.stream(SHOWN):
        pass
    (message,) = inner.requests[0].messages
    assert (message.images, message.text) == (
        (),
        "what is this?\n(This model cannot see pictures: 2 left out.)",
    )


async def test_it_goes_by_the_model_that_is_asked() -> None:
    provider = VisionProvider(ScriptedProvider(), "blind")
    assert not provider.capabilities().vision
    assert provider.capabilities("llava:7b").vision


@pytest.mark.parametrize("sees", [True, False])
async def test_the_configuration_has_the_last_word(sees: bool) -> None:  # noqa: FBT001 - a parameter
    assert VisionProvider(ScriptedProvider(), "gpt-4o", sees=sees).capabilities().vision is sees
    assert VisionProvider(ScriptedProvider(), "blind", sees=sees).capabilities().vision is sees
