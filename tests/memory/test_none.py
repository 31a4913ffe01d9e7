from collections.abc import Awaitable, Callable

import pytest

from agent.memory.base import Memory
from agent.memory.none import NoMemory
from tests.contracts.memory import EVERY_BACKEND, MEI

Check = Callable[[Memory], Awaitable[None]]


@pytest.mark.parametrize("check", EVERY_BACKEND, ids=lambda check: check.__name__)
async def test_it_does_what_every_backend_does(check: Check) -> None:
    await check(NoMemory())


async def test_what_is_stored_is_gone() -> None:
    memory = NoMemory()
    stored = await memory.store("k", "content", scope=MEI)
    assert stored.content == "content"
    assert await memory.get("k", MEI) is None
    assert await memory.count() == 0
    await memory.aclose()
