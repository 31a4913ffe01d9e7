import pytest

from agent.errors import KeyRefused, ProviderError, ProviderRefused, QuotaExhausted
from agent.providers.base import ChatRequest, ChatResponse, Provider, TextDelta
from agent.providers.fallback import FallbackProvider
from tests.fakes.provider import (
    CutStreamProvider,
    ScriptedProvider,
    UnreachableProvider,
    calls,
)
from tests.fakes.said import user_said

REQUEST = ChatRequest((user_said("hi"),))


class RefusingProvider(Provider):
    """Will not answer."""

    name = "refusing"

    def __init__(self, err: ProviderError) -> None:
        self._err = err

    async def chat(self, request: ChatRequest) -> ChatResponse:
        raise self._err


async def streamed(provider: Provider) -> list[TextDelta | ChatResponse]:
    return [item async for item in provider.stream(REQUEST)]


async def test_where_the_model_answers_the_last_resort_is_not_asked() -> None:
    last = ScriptedProvider()
    provider = FallbackProvider(ScriptedProvider("a", "b"), last)
    assert (await provider.chat(REQUEST)).text == "a"
    assert (await streamed(provider))[-1] == ChatResponse("b")
    assert last.requests == []


async def test_without_a_network_the_last_resort_answers_and_says_why() -> None:
    provider = FallbackProvider(UnreachableProvider(), ScriptedProvider("hello", "hello"))
    expected = "(I cannot reach the model: no route to the service) hello"
    assert (await provider.chat(REQUEST)).text == expected
    assert await streamed(provider) == [TextDelta(expected), ChatResponse(expected)]


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("打开灯", "（我现在连不上语言模型：no route to the service）好"),
        ("打開燈", "（我現在連不上語言模型：no route to the service）好"),
        ("ライトをつけて", "(言語モデルに接続できません: no route to the service)好"),
        ("불 켜줘", "(언어 모델에 연결할 수 없습니다: no route to the service) 好"),
        ("Mach das Licht an", "(Ich erreiche das Sprachmodell nicht: no route to the service) 好"),
        ("Enciende la luz", "(No puedo contactar con el modelo: no route to the service) 好"),
    ],
)
async def test_the_notice_is_in_the_language_of_the_message(said: str, expected: str) -> None:
    provider = FallbackProvider(UnreachableProvider(), ScriptedProvider("好"))
    answer = await provider.chat(ChatRequest((user_said(said),)))
    assert answer.text == expected


async def test_what_keeps_the_model_away_is_known_until_it_answers_again() -> None:
    away = FallbackProvider(UnreachableProvider(), ScriptedProvider("hello"))
    assert away.trouble == ""
    await away.chat(REQUEST)
    assert "no route" in away.trouble
    back = FallbackProvider(ScriptedProvider("a", "b"), ScriptedProvider())
    back.trouble = "it was away"
    await back.chat(REQUEST)
    assert back.trouble == ""
    back.trouble = "it was away again"
    await streamed(back)
    assert back.trouble == ""


async def test_the_last_resort_may_use_tools() -> None:
    wanted = calls(("lamp", "{}"))
    provider = FallbackProvider(UnreachableProvider(), ScriptedProvider(wanted))
    assert await streamed(provider) == [wanted]


@pytest.mark.parametrize("err", [KeyRefused("wrong key"), QuotaExhausted("no money left")])
async def test_without_a_key_or_money_the_last_resort_answers_and_says_why(
    err: ProviderError,
) -> None:
    provider = FallbackProvider(RefusingProvider(err), ScriptedProvider("hello"))
    assert (await provider.chat(REQUEST)).text == f"(I cannot reach the model: {err}) hello"


async def test_a_request_that_is_wrong_is_not_hidden() -> None:
    provider = FallbackProvider(
        RefusingProvider(ProviderRefused("no such model")), ScriptedProvider("hello")
    )
    with pytest.raises(ProviderRefused):
        await provider.chat(REQUEST)


async def test_an_answer_that_has_begun_is_not_taken_over() -> None:
    last = ScriptedProvider("hello")
    provider = FallbackProvider(CutStreamProvider(["The "]), last)
    with pytest.raises(ProviderError):
        await streamed(provider)
    assert last.requests == []
