import pytest

from agent.messages import ToolCall
from agent.providers.base import Capabilities, ChatRequest, Provider
from agent.providers.classifier import Classifier
from agent.providers.router import RouterProvider
from agent.providers.section import ClassifySettings
from tests.fakes.provider import ScriptedProvider
from tests.fakes.said import assistant_said, tool_said, user_said


class Able(ScriptedProvider):
    """Answers once, and can do what it is made with."""

    def __init__(self, name: str, **able: bool) -> None:
        super().__init__(f"from {name}")
        self.name = name
        self._able = Capabilities(**able)
        self.asked_for: list[str | None] = []
        self.is_closed = False

    def capabilities(self, model: str | None = None) -> Capabilities:
        self.asked_for.append(model)
        return self._able

    async def list_models(self) -> tuple[str, ...]:
        return (self.name,)

    async def aclose(self) -> None:
        self.is_closed = True


@pytest.fixture
def usual() -> Able:
    return Able("usual", native_tools=True)


@pytest.fixture
def fast() -> Able:
    return Able("fast", vision=True)


@pytest.fixture
def router(usual: Able, fast: Able) -> RouterProvider:
    rules = {"fast": ClassifySettings(keywords=("quick",))}
    return RouterProvider(usual, {"fast": fast}, Classifier(rules))


def asked(model: str | None, text: str = "hello") -> ChatRequest:
    return ChatRequest((user_said(text),), model=model)


async def test_a_hint_is_answered_by_its_route_with_the_routes_own_model(
    router: RouterProvider, usual: Able, fast: Able
) -> None:
    assert (await router.chat(asked("hint:fast"))).text == "from fast"
    assert [request.model for request in fast.requests] == [None]
    assert usual.requests == []


@pytest.mark.parametrize("hint", ["hint:nobody", "hint:", "hint:Fast", "hint:hint:fast"])
async def test_an_unknown_hint_never_reaches_a_service_and_means_the_usual_model(
    hint: str, router: RouterProvider, usual: Able
) -> None:
    assert (await router.chat(asked(hint))).text == "from usual"
    assert [request.model for request in usual.requests] == [None]


async def test_a_hint_without_any_route_never_reaches_a_service(usual: Able) -> None:
    await RouterProvider(usual, {}).chat(asked("hint:fast"))
    assert [request.model for request in usual.requests] == [None]


async def test_a_model_by_its_name_is_asked_of_the_usual_service(
    router: RouterProvider, usual: Able
) -> None:
    await router.chat(asked("large", "quick"))
    assert [request.model for request in usual.requests] == ["large"]


async def test_capabilities_are_those_of_the_model_that_will_answer(
    router: RouterProvider, usual: Able, fast: Able
) -> None:
    assert router.capabilities("hint:fast") == Capabilities(vision=True)
    assert router.capabilities("hint:nobody") == Capabilities(native_tools=True)
    assert router.capabilities("large") == Capabilities(native_tools=True)
    assert router.capabilities() == Capabilities(native_tools=True)
    assert (fast.asked_for, usual.asked_for) == ([None], [None, "large", None])


async def test_a_message_is_sorted_where_no_model_was_chosen(
    router: RouterProvider,
) -> None:
    assert (await router.chat(asked(None, "a quick one"))).text == "from fast"


async def test_a_turn_stays_with_the_model_that_its_message_was_sorted_to(
    router: RouterProvider,
) -> None:
    call = ToolCall("1", "lamp", "{}")
    messages = (
        user_said("a quick one"),
        assistant_said("", (call,)),
        tool_said(call, "a slow result"),
    )
    assert (await router.chat(ChatRequest(messages))).text == "from fast"


async def test_a_stream_goes_the_same_way(router: RouterProvider, fast: Able) -> None:
    items = [item async for item in router.stream(asked("hint:fast"))]
    assert items[-1].text == "from fast"
    assert len(fast.requests) == 1


async def test_lists_are_of_the_usual_service_and_all_are_closed(
    router: RouterProvider, usual: Able, fast: Able
) -> None:
    provider: Provider = router
    assert (provider.name, await provider.list_models()) == ("usual", ("usual",))
    await provider.warm_up()
    await provider.aclose()
    assert usual.is_closed
    assert fast.is_closed
