import asyncio
import json

import pytest

from agent.errors import BadArguments, ChannelUnavailable
from agent.messages import Effect, Provenance
from agent.tools.ask_user import MAX_ANSWER_CHARS, AskUserTool, chosen
from agent.tools.base import ToolContext
from agent.tools.inquiry import InquiryAnswer
from tests.fakes.workspace import CONTEXT

CHOICES = ("tea", "Coffee", "2 cups")


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("1", "tea"),
        ("2.", "Coffee"),
        ("3)", "2 cups"),
        (" TEA ", "tea"),
        ("coffee.", "Coffee"),
        ("4", "4"),
        ("0", "0"),
        ("tea please", "tea please"),
        ("", ""),
    ],
)
def test_a_choice_is_meant_by_its_number_or_its_words(said: str, meant: str) -> None:
    assert chosen(said, CHOICES) == meant


@pytest.mark.parametrize(
    ("said", "meant"),
    [("2", "2"), ("1.", "1"), ("Paris (fr)", "Paris (FR)"), ("A.M.", "a.m."), ("4", "Paris (FR)")],
)
def test_every_choice_can_be_meant_by_its_words(said: str, meant: str) -> None:
    assert chosen(said, ("10", "2", "1", "Paris (FR)", "a.m.")) == meant


async def test_the_person_sees_the_question_and_the_choices_and_nothing_that_acts() -> None:
    shown: list[str] = []

    async def inquire(question: str) -> InquiryAnswer:
        shown.append(question)
        return InquiryAnswer("x" * (MAX_ANSWER_CHARS + 9) + "\x1b", Provenance.USER)

    tool = AskUserTool()
    arguments = tool.parse(json.dumps({"question": "Tea?\x1b[2J", "choices": ["yes", "no"]}))
    context = ToolContext("c", "p", Provenance.OWNER, inquire=inquire)
    result = await tool.execute(arguments, context)
    assert shown == ["Tea?[2J\n1. yes\n2. no"]
    assert len(json.loads(result.text)["answer"]) <= MAX_ANSWER_CHARS + 1
    assert result.provenance is Provenance.USER


async def test_where_nobody_is_there_it_says_so() -> None:
    tool = AskUserTool()
    result = await tool.execute(tool.parse('{"question":"Tea?"}'), CONTEXT)
    assert (result.success, result.text) == (False, "no person can be asked from here")


async def test_who_does_not_answer_in_time_is_not_waited_for() -> None:
    async def inquire(_question: str) -> InquiryAnswer:
        await asyncio.Event().wait()
        raise AssertionError("unreachable")

    tool = AskUserTool(0.01)
    context = ToolContext("c", "p", Provenance.OWNER, inquire=inquire)
    result = await tool.execute(tool.parse('{"question":"Tea?"}'), context)
    assert (result.success, "within 0.01 s" in result.text) == (False, True)


async def test_a_question_that_cannot_be_sent_is_a_sentence() -> None:
    async def inquire(_question: str) -> InquiryAnswer:
        raise ChannelUnavailable("the question could not be sent")

    tool = AskUserTool()
    context = ToolContext("c", "p", Provenance.OWNER, inquire=inquire)
    result = await tool.execute(tool.parse('{"question":"Tea?"}'), context)
    assert (result.success, result.text) == (False, "the question could not be sent")


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"question": ""},
        {"question": "x" * 1001},
        {"question": "x", "choices": ["y"] * 9},
        {"question": "x", "choices": [""]},
        {"question": "x", "approved": True},
    ],
)
def test_nothing_else_can_be_asked_for(arguments: dict[str, object]) -> None:
    with pytest.raises(BadArguments):
        AskUserTool().parse(json.dumps(arguments))


def test_asking_changes_nothing() -> None:
    assert AskUserTool().effect is Effect.READ
