"""Questions by a client's own form: the protocol's own client, and who may answer what."""

import contextlib
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import ElicitResult

from agent.channels.base import Answer
from agent.config import load
from agent.errors import ConfigRefused
from agent.gateway.assistants.mcp import elicitation
from agent.settings import Settings
from tests.fakes.board_sim import BoardSim
from tests.fakes.lent_agent import Lent, lent
from tests.fakes.mcp_client import relay_of
from tests.waits import wait_until

WORLD = {"values": {"temperature": 24.5, "button": 0}, "script": []}
WRITE_LED = {"pin": "led", "value": "on"}
OPTED_IN = 'elicit = ["watch"]'
HAZARD = """
[board.pins.valve]
pin = "PB10"
kind = "output"
max_on_s = 60
danger = "hazard"
"""


@pytest.fixture
def sim(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[BoardSim]:
    request.getfixturevalue("micropython_command")
    with BoardSim(tmp_path, WORLD) as started:
        yield started


@pytest.fixture(autouse=True)
def quick_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test's person reads at once."""
    monkeypatch.setattr(elicitation, "LEAST_READ_S", 0.0)


class Person:
    """Whoever fills in the forms of a client."""

    def __init__(self, action: str = "accept", **content: object) -> None:
        self.asked: list[Any] = []
        self._result = ElicitResult(action=action, content=content or None)  # type: ignore[arg-type]  # whatever a client sends

    async def __call__(self, _context: object, params: Any) -> ElicitResult:
        self.asked.append(params)
        return self._result


@contextlib.asynccontextmanager
async def client_of(made: Lent, person: Person, **who: str) -> AsyncIterator[Client]:
    headers = {"authorization": f"Bearer {await made.token(**who)}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60.0) as http,
        Client(
            streamable_http_client(f"{made.url}/mcp", http_client=http),
            elicitation_callback=person,
        ) as client,
    ):
        yield client


@contextlib.asynccontextmanager
async def asked(
    folder: Path, sim: BoardSim, person: Person, gateway: str = OPTED_IN, **who: str
) -> AsyncIterator[tuple[Lent, Client]]:
    """An agent whose owner says no in their own chat, and a client with a form."""
    async with (
        lent(folder, assistants=("mcp",), sim=sim, answer=Answer.NO, gateway=gateway) as made,
        client_of(made, person, **who) as client,
    ):
        yield made, client


async def test_a_yes_in_the_form_is_for_this_call_and_the_owner_hears_of_it(
    tmp_path: Path, sim: BoardSim
) -> None:
    person = Person(allow=True)
    async with asked(tmp_path, sim, person) as (made, client):
        result = await client.call_tool("board_gpio_write", WRITE_LED)
        assert not result.is_error
        assert made.led()[:1] == [1]
        assert made.owner.questions == []
        told = await wait_until(lambda: [one.text for one in made.owner.sent if "form" in one.text])
        again = await client.call_tool("board_gpio_write", {**WRITE_LED, "value": "off"})
        assert not again.is_error
    assert "Allowed by the form of `watch`" in told[0]
    assert len(person.asked) == 2
    assert "board_gpio_write" in person.asked[0].message
    assert '"pin":"led"' in person.asked[0].message.replace(" ", "")
    assert "the model of another assistant" in person.asked[0].message


@pytest.mark.parametrize(
    "person", [Person("decline"), Person(allow=False)], ids=["declined", "not allowed"]
)
async def test_a_no_in_the_form_is_a_no_and_nobody_else_is_asked(
    tmp_path: Path, sim: BoardSim, person: Person
) -> None:
    async with asked(tmp_path, sim, person) as (made, client):
        result = await client.call_tool("board_gpio_write", WRITE_LED)
        assert made.led() == []
        assert made.owner.questions == []
    assert result.is_error


@pytest.mark.parametrize(
    "person",
    [Person("cancel"), Person(), Person(allow="yes"), Person(allow=1), Person(other=True)],
    ids=["cancelled", "empty", "a word", "a number", "another field"],
)
async def test_without_a_plain_answer_the_owners_own_chat_is_asked(
    tmp_path: Path, sim: BoardSim, person: Person
) -> None:
    async with asked(tmp_path, sim, person) as (made, client):
        result = await client.call_tool("board_gpio_write", WRITE_LED)
        assert len(made.owner.questions) == 1
        assert made.led() == []
    assert result.is_error
    assert len(person.asked) == 1


async def test_a_yes_that_nobody_can_have_read_does_not_count(
    tmp_path: Path, sim: BoardSim, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(elicitation, "LEAST_READ_S", 1000.0)
    async with asked(tmp_path, sim, Person(allow=True)) as (made, client):
        result = await client.call_tool("board_gpio_write", WRITE_LED)
        assert len(made.owner.questions) == 1
        assert made.led() == []
    assert result.is_error


@pytest.mark.parametrize(
    ("gateway", "who"),
    [
        ("", {}),
        ('elicit = ["another"]', {}),
        (OPTED_IN, {"name": "stranger"}),
        (OPTED_IN, {"role": "guest"}),
    ],
    ids=["off", "for another", "by another", "a guest"],
)
async def test_only_callers_that_the_owner_named_are_asked(
    tmp_path: Path, sim: BoardSim, gateway: str, who: dict[str, str]
) -> None:
    person = Person(allow=True)
    async with asked(tmp_path, sim, person, gateway, **who) as (made, client):
        result = await client.call_tool("board_gpio_write", WRITE_LED)
        assert made.led() == []
    assert result.is_error
    assert person.asked == []


async def test_what_is_relayed_or_may_hurt_or_erases_is_the_owners_chats(
    tmp_path: Path, sim: BoardSim
) -> None:
    person = Person(allow=True)
    async with asked(tmp_path, sim, person, OPTED_IN + HAZARD) as (made, client):
        for name, arguments, meta in (
            ("board_gpio_write", WRITE_LED, {"barnacle/relayed": True}),
            ("board_gpio_write", {"pin": "valve", "value": "on"}, {}),
            ("memory_forget", {"source": "a page"}, {}),
            ("ask", {"text": "turn on the led"}, {}),
        ):
            await client.call_tool(name, arguments, meta=meta)
        assert made.led() == []
        assert len(made.owner.questions) >= 3
    assert person.asked == []


async def test_nobody_answers_for_another_caller(tmp_path: Path, sim: BoardSim) -> None:
    """Whoever guesses the question's id has another token."""
    async with lent(
        tmp_path, assistants=("mcp",), sim=sim, answer=Answer.NO, gateway=OPTED_IN
    ) as made:
        other = await made.token(name="other")
        token = await made.token()
        person = Forger(made, other)
        headers = {"authorization": f"Bearer {token}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=60.0) as http,
            Client(
                streamable_http_client(f"{made.url}/mcp", http_client=http),
                elicitation_callback=person,
            ) as client,
        ):
            result = await client.call_tool("board_gpio_write", WRITE_LED)
        assert result.is_error
        assert made.led() == []
    assert person.statuses == [202]


class Forger(Person):
    """Says yes with another caller's token, under every id, before the person says no."""

    def __init__(self, made: Lent, token: str) -> None:
        super().__init__("decline")
        self._made = made
        self._token = token
        self.statuses: list[int] = []

    async def __call__(self, context: Any, params: Any) -> ElicitResult:
        known = context.request_id
        yes = {"action": "accept", "content": {"allow": True}}
        message = {"jsonrpc": "2.0", "id": known, "result": yes}
        answered = await self._made.ask("POST", "/mcp", message, self._token)
        self.statuses.append(answered.status)
        return await super().__call__(context, params)


async def test_a_program_on_its_own_streams_puts_them_too(tmp_path: Path, sim: BoardSim) -> None:
    person = Person(allow=True)
    async with lent(
        tmp_path, assistants=("mcp",), sim=sim, answer=Answer.NO, gateway=OPTED_IN
    ) as made:
        server = await relay_of(made, tmp_path, "watch")
        async with Client(server, elicitation_callback=person) as client:
            result = await client.call_tool("board_gpio_write", WRITE_LED)
        assert made.led()[:1] == [1]
        assert made.owner.questions == []
    assert not result.is_error
    assert len(person.asked) == 1


def test_it_is_for_callers_by_this_protocol(tmp_path: Path) -> None:
    config = tmp_path / "barnacle.toml"
    config.write_text('[gateway]\nassistants = ["openai"]\nelicit = ["watch"]\n')
    with pytest.raises(ConfigRefused, match="is for callers by MCP"):
        load(config, Settings)
