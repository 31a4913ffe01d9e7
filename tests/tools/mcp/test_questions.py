import json
from pathlib import Path

import pytest

from agent.errors import ChannelUnavailable
from agent.passage import Provenance
from agent.security.access import AT_THE_DEVICE, Audience, AudienceRole
from agent.system.clock import SystemClock
from agent.tools.base import ToolContext
from agent.tools.inquiry import InquiryAnswer
from agent.tools.mcp.lines import ServerQuestion
from agent.tools.mcp.questions import OwnerQuestions, value_of
from agent.tools.mcp.server import McpServer
from agent.tools.mcp.tool import McpTool
from tests.fakes.mcp_household import asking, offer_of

NAME = {"type": "string", "title": "Your name", "minLength": 2}
AGE = {"type": "integer", "minimum": 0, "default": 30}
COLOUR = {"type": "string", "enum": ["red", "blue"], "enumNames": ["Red", "Blue"]}
DAYS = {"type": "array", "items": {"enum": ["mon", "tue", "wed"]}}
SURE = {"type": "boolean"}


class SaidOwner:
    """Answers in these words, one after the other, and keeps what they were asked."""

    def __init__(self, *answers: str, provenance: Provenance = Provenance.OWNER) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[str, Provenance]] = []
        self.provenance = provenance

    async def __call__(self, question: str, trust: Provenance = Provenance.MODEL) -> InquiryAnswer:
        self.asked.append((question, trust))
        if not self.answers:
            raise ChannelUnavailable("nobody is there")
        return InquiryAnswer(self.answers.pop(0), self.provenance)

    def questions(self) -> OwnerQuestions:
        return OwnerQuestions("garden", self, lambda text: "sk-secret" in text)


async def test_each_field_is_asked_and_its_kind_is_kept() -> None:
    owner = SaidOwner("Ada", "-", "2", "mon, 3", "no")
    fields = {"name": NAME, "age": AGE, "colour": COLOUR, "days": DAYS, "sure": SURE}
    reply = await owner.questions()(ServerQuestion("Who are you?", fields, ("name",)))
    values = {"name": "Ada", "age": 30, "colour": "blue", "days": ["mon", "wed"], "sure": False}
    assert (reply.action, reply.values) == ("accept", values)
    first, _ = owner.asked[0]
    assert first.startswith(
        "The MCP server garden asks you (no model reads it): Who are you?\n(1 of 5) Your name"
    )
    assert "1. Red\n2. Blue" in owner.asked[2][0]


async def test_what_does_not_fit_is_asked_again_and_then_left() -> None:
    owner = SaidOwner("many", "-1", "7")
    reply = await owner.questions()(ServerQuestion("How many?", {"n": {**AGE}}, ("n",)))
    assert (reply.action, reply.values) == ("accept", {"n": 7})
    assert "That does not fit: a whole number." in owner.asked[1][0]
    assert "That does not fit: at least 0." in owner.asked[2][0]
    lost = SaidOwner("a", "b", "c")
    reply = await lost.questions()(ServerQuestion("How many?", {"n": {"type": "number"}}))
    assert reply.action == "decline"


@pytest.mark.parametrize(
    ("owner", "action"),
    [
        (SaidOwner("no"), "decline"),
        (SaidOwner(), "cancel"),
        # Somebody else in the conversation
        (SaidOwner("Ada", provenance=Provenance.USER), "decline"),
        # What no server may have
        (SaidOwner("sk-secret"), "decline"),
    ],
)
async def test_nothing_goes_to_the_server_without_the_owners_word(
    owner: SaidOwner, action: str
) -> None:
    reply = await owner.questions()(ServerQuestion("Who are you?", {"name": NAME}))
    assert (reply.action, reply.values) == (action, {})


async def test_a_sign_in_shows_its_link_whole_and_takes_the_address() -> None:
    link, back = "https://login.example.org/authorize?x=1", "http://127.0.0.1:33418/signed-in"
    owner = SaidOwner(f"{back}?code=abc&state=s")
    reply = await owner.questions()(ServerQuestion("", address=link, returns_to=back))
    assert reply.values == {"address": f"{back}?code=abc&state=s"}
    [(shown, trust)] = owner.asked
    assert link in shown
    # A model's own links would be left out
    assert trust is Provenance.OWNER


@pytest.mark.parametrize(
    ("audience", "got"),
    [
        (AT_THE_DEVICE, "got {'action': 'accept', 'content': {'word': 'roses'}}"),
        (Audience(AudienceRole.OWNER, group="family"), "got {'action': 'decline'}"),
    ],
)
async def test_the_server_gets_the_owners_answer_where_the_owner_is_alone(
    tmp_path: Path, audience: Audience, got: str
) -> None:
    server = McpServer("garden", asking(), tmp_path, SystemClock())
    owner = SaidOwner("roses")
    try:
        tool = McpTool(await offer_of(server, "ask"), server, reads=False)
        context = ToolContext(
            "terminal", "owner", Provenance.OWNER, inquire=owner, audience=audience
        )
        result = await tool.execute(tool.parse("{}"), context)
    finally:
        await server.aclose()
    told = json.loads(json.loads(result.text)["text"])
    assert told["elicitation/create"] == got
    assert told["sampling/createMessage"] == told["roots/list"] == "refused"


@pytest.mark.parametrize(
    ("said", "value"),
    [("1", "1"), ("2", "2"), ("3", "FR-75"), ("Paris (FR)", "FR-75"), ("fr-75", "FR-75")],
)
def test_every_value_of_a_field_can_be_meant_by_what_is_shown(said: str, value: str) -> None:
    field = {"oneOf": [{"const": "2"}, {"const": "1"}, {"const": "FR-75", "title": "Paris (FR)"}]}
    assert value_of(said, field) == value


@pytest.mark.parametrize("said", ["nan", "NaN", "inf", "-Infinity", "1e999"])
async def test_what_is_no_number_of_json_is_asked_again(said: str) -> None:
    owner = SaidOwner(said, "0.5")
    level = {"type": "number"}
    question = ServerQuestion("How far?", {"level": level}, ("level",))
    reply = await OwnerQuestions("valve", owner, lambda _: False)(question)
    assert (reply.action, reply.values) == ("accept", {"level": 0.5})
    assert "That does not fit" in owner.asked[1][0]
