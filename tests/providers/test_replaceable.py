import asyncio

from agent.providers.base import ChatRequest, ChatResponse, Provider, TextDelta
from agent.providers.replaceable import ReplaceableProvider
from tests.fakes.said import user_said

HELLO = ChatRequest((user_said("hello"),))


class SlowProvider(Provider):
    """Answers with its name when it is let go, and says when it was closed."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.go = asyncio.Event()
        self.begun = asyncio.Event()
        self.is_closed = False

    async def chat(self, request: ChatRequest) -> ChatResponse:
        self.begun.set()
        await self.go.wait()
        assert not self.is_closed
        self.trouble = f"of {self.name}"
        return ChatResponse(self.name)

    async def list_models(self) -> tuple[str, ...]:
        return (self.name,)

    async def aclose(self) -> None:
        self.is_closed = True


async def test_a_request_under_way_ends_with_the_one_it_began_with() -> None:
    old, new = SlowProvider("old"), SlowProvider("new")
    provider = ReplaceableProvider(old)
    first = asyncio.create_task(provider.chat(HELLO))
    await old.begun.wait()
    exchanging = asyncio.create_task(provider.exchange(new))
    await asyncio.sleep(0)
    new.go.set()
    assert (await provider.chat(HELLO)).text == "new"
    assert not old.is_closed
    old.go.set()
    assert (await first).text == "old"
    await exchanging
    assert old.is_closed
    assert (provider.name, provider.trouble) == ("new", "of new")


async def test_an_idle_one_is_closed_at_once_and_the_rest_is_the_new_ones() -> None:
    old, new = SlowProvider("old"), SlowProvider("new")
    provider = ReplaceableProvider(old)
    await provider.warm_up()
    await provider.exchange(new)
    assert old.is_closed
    new.go.set()
    items = [item async for item in provider.stream(HELLO)]
    assert items == [TextDelta("new"), ChatResponse("new")]
    assert await provider.list_models() == ("new",)
    assert provider.capabilities() == new.capabilities()
    await provider.aclose()
    assert new.is_closed
