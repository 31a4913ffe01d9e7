from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from agent.access.commands import ChatCommand, command_of
from agent.errors import ProviderRefused
from agent.messages import Inbound, Provenance
from agent.messaging import model_commands
from agent.messaging.journal import open_agent_db
from agent.messaging.model_commands import (
    NO_SERVICE_TEXT,
    NOT_A_PERSON_TEXT,
    PAGE_MODELS,
    ModelCommands,
)
from agent.providers.base import Provider
from agent.storage.worker import DatabaseWorker
from agent.turn.model_choice import ModelChoices
from tests.fakes.channel import FakeChannel, message
from tests.fakes.dispatching import running
from tests.fakes.provider import ScriptedProvider

OFFER = ModelChoices(
    "groq", "llama", {"fast": "groq:tiny", "deep": "openai:big"}, ("openai:small",)
)


class Listing(ScriptedProvider):
    """Lists what it is made with, or says why not."""

    def __init__(self, *names: str, refusal: str = "") -> None:
        super().__init__()
        self.names = names
        self.refusal = refusal

    async def list_models(self) -> tuple[str, ...]:
        if self.refusal:
            raise ProviderRefused(self.refusal)
        return self.names


class SilentListing(ScriptedProvider):
    """Never says what it has."""

    async def list_models(self) -> tuple[str, ...]:
        raise TimeoutError


@pytest.fixture
async def journal(tmp_path: Path) -> AsyncIterator[DatabaseWorker]:
    opened = open_agent_db(tmp_path / "agent.db")
    yield opened
    await opened.aclose()


async def told(
    journal: DatabaseWorker,
    text: str,
    provider: Provider | None = None,
    offer: ModelChoices = OFFER,
    inbound: Inbound | None = None,
) -> str:
    command = command_of(text)
    assert isinstance(command, ChatCommand)
    made = ModelCommands(journal, provider or Listing("llama", "large"), offer)
    return await made.obey(command, inbound or message(text))


async def test_without_a_choice_the_configured_model_is_told(journal: DatabaseWorker) -> None:
    assert await told(journal, "/model") == "Model: llama at groq, as configured."
    sorting = replace(OFFER, sorted_to=("deep",))
    assert "Some messages go to hint:deep." in await told(journal, "/model", offer=sorting)


async def test_a_choice_is_told_with_the_way_back(journal: DatabaseWorker) -> None:
    assert await told(journal, "/model large") == (
        "Model: large at groq. /model default goes back."
    )
    assert (await told(journal, "/model")).startswith(
        "Model: large at groq. It was chosen for this conversation"
    )
    assert await told(journal, "/model Default") == "Model: llama at groq, as configured."
    assert await told(journal, "/model") == "Model: llama at groq, as configured."


async def test_a_hint_is_told_as_what_it_stands_for(journal: DatabaseWorker) -> None:
    assert "groq:tiny (hint:fast)" in await told(journal, "/model hint:fast")
    assert "groq:tiny (hint:fast)" in await told(journal, "/model")


async def test_an_unknown_hint_is_not_chosen(journal: DatabaseWorker) -> None:
    said = await told(journal, "/model hint:nope")
    assert said == "There is no route hint:nope. There are hint:fast, hint:deep."
    assert "as configured" in await told(journal, "/model")
    bare = await told(journal, "/model hint:nope", offer=ModelChoices("groq", "llama"))
    assert "[provider.routes]" in bare


async def test_a_route_that_was_taken_away_is_told_with_what_answers(
    journal: DatabaseWorker,
) -> None:
    await told(journal, "/model hint:fast")
    said = await told(journal, "/model", offer=ModelChoices("groq", "llama"))
    assert said.startswith("Model: llama at groq, because provider.routes has no hint:fast")


async def test_a_name_that_is_not_listed_is_chosen_with_a_doubt(journal: DatabaseWorker) -> None:
    said = await told(journal, "/model larg")
    assert "Model: larg at groq. groq does not list it; did you mean large?" in said
    assert "/models shows" in await told(journal, "/model zzz")


@pytest.mark.parametrize("provider", [Listing(), Listing(refusal="no key"), SilentListing()])
async def test_a_service_that_lists_nothing_raises_no_doubt(
    provider: Provider, journal: DatabaseWorker
) -> None:
    said = await told(journal, "/model meta/llama-4:free", provider)
    assert said == "Model: meta/llama-4:free at groq. /model default goes back."


@pytest.mark.parametrize("name", ["x" * 201, "a\x1b[31m"])
async def test_what_can_be_no_name_is_not_chosen(name: str, journal: DatabaseWorker) -> None:
    assert await told(journal, f"/model {name}") == "That is not a valid model name."


async def test_what_no_person_said_chooses_nothing(journal: DatabaseWorker) -> None:
    sensor = replace(message("/model large"), provenance=Provenance.SENSOR)
    assert await told(journal, "/model large", inbound=sensor) == NOT_A_PERSON_TEXT
    assert "as configured" in await told(journal, "/model")


async def test_without_a_service_there_is_nothing_to_choose(journal: DatabaseWorker) -> None:
    assert await told(journal, "/model x", offer=ModelChoices("offline")) == NO_SERVICE_TEXT
    assert await told(journal, "/models", offer=ModelChoices("offline")) == NO_SERVICE_TEXT


async def test_what_there_is_comes_in_pages(journal: DatabaseWorker) -> None:
    provider = Listing(*(f"model-{number:03}" for number in range(2 * PAGE_MODELS + 1)))
    first = (await told(journal, "/models", provider)).splitlines()
    assert first[:4] == [
        "Usual: llama at groq",
        "hint:fast: groq:tiny",
        "hint:deep: openai:big",
        "When it does not answer: openai:small",
    ]
    assert first[4] == f"groq has {2 * PAGE_MODELS + 1} models, page 1 of 3; /models 2 goes on:"
    assert first[5:] == [f"model-{number:03}" for number in range(PAGE_MODELS)]
    for asked in ("/models 3", "/models 99"):
        last = (await told(journal, asked, provider)).splitlines()
        assert last[4:] == ["groq has 81 models, page 3 of 3:", "model-080"]
    assert (await told(journal, "/models nonsense", provider)).splitlines() == first


async def test_names_from_a_service_cannot_paint_the_terminal(journal: DatabaseWorker) -> None:
    assert "\x1b" not in await told(journal, "/models", Listing("a\x1b[31mb"))


async def test_why_nothing_is_listed_is_told(journal: DatabaseWorker) -> None:
    assert "no models now: no key" in await told(journal, "/models", Listing(refusal="no key"))
    assert "groq names no models." in await told(journal, "/models", Listing())
    assert "it does not answer" in await told(journal, "/models", SilentListing())


async def test_a_list_is_not_waited_for_without_end(
    journal: DatabaseWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Stalled(ScriptedProvider):
        async def list_models(self) -> tuple[str, ...]:
            await journal.transact(lambda _: None)
            await model_commands.asyncio.Event().wait()
            return ()

    monkeypatch.setattr(model_commands, "LIST_TIMEOUT_S", 0.05)
    assert "it does not answer" in await told(journal, "/models", Stalled())


async def test_each_conversation_is_asked_of_its_own_model_over_a_restart(tmp_path: Path) -> None:
    channel, provider = FakeChannel(), ScriptedProvider("one", "two", "three")
    async with running(tmp_path, provider, channel) as agent:
        await agent.say("/model hint:fast", "1")
        await channel.wait_for(1)
    async with running(tmp_path, provider, channel) as agent:
        await agent.say("hello", "2")
        await channel.wait_for(2)
        await agent.say("hello", "3", sender="somebody")
        await channel.wait_for(3)
        await agent.say("/model default", "4")
        await channel.wait_for(4)
        await agent.say("hello", "5")
        await channel.wait_for(5)
    assert [request.model for request in provider.requests] == ["hint:fast", None, None]
