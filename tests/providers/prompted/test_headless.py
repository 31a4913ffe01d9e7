"""Thoughts without their beginning, which a server's template has written itself."""

import pytest

from agent.errors import ProviderRefused
from agent.providers.base import ChatResponse, StopReason
from agent.providers.prompted.forms import ToolForms
from agent.providers.prompted.provider import PromptedProvider
from tests.fakes.clock import SteppedClock
from tests.fakes.text_calls import ASKED, CALL, TextCallProvider

THOUGHT = "Okay, the user wants to know the time.\nIt may be noon."
ANSWER = f"{THOUGHT}\n</think>\n\nIt is noon."


class Answers:
    """Answers of one model, asked by a provider that outlives them."""

    def __init__(self, *answers: ChatResponse | str, model: str = "m") -> None:
        self._provider = PromptedProvider(
            TextCallProvider(*answers), model, ToolForms(SteppedClock())
        )

    async def next(self) -> tuple[str, ChatResponse]:
        """Return what was shown while it came, and the response."""
        shown = []
        async for item in self._provider.stream(ASKED):
            if isinstance(item, ChatResponse):
                return "".join(shown), item
            shown.append(item.text)
        raise AssertionError("no response")


@pytest.mark.parametrize("end", ["</think>", "[/THINK]", "◁/think▷", "</mm:think>"])
async def test_a_thought_without_a_beginning_is_no_part_of_the_answer(end: str) -> None:
    _, response = await Answers(f"{THOUGHT}{end}It is noon.").next()
    assert (response.text, response.thoughts) == ("It is noon.", THOUGHT)


async def test_a_call_in_the_thought_does_not_run_and_one_behind_it_does() -> None:
    other = CALL.replace("led", "pump")
    _, response = await Answers(f"I could do\n{other}\nor not.\n</think>\n\nYes.\n{CALL}").next()
    assert (response.text.strip(), len(response.tool_calls)) == ("Yes.", 1)
    assert "led" in response.tool_calls[0].arguments_json


async def test_from_the_second_answer_on_the_thought_is_not_shown_while_it_comes() -> None:
    answers = Answers(ANSWER, ANSWER)
    await answers.next()
    shown, response = await answers.next()
    assert (shown.strip(), response.text.strip()) == ("It is noon.", "It is noon.")


@pytest.mark.parametrize("model", ["deepseek-r1:8b", "QwQ-32B", "qwen3-4b-thinking-2507"])
async def test_of_a_model_known_to_think_the_first_thought_is_not_shown(model: str) -> None:
    shown, _ = await Answers(ANSWER, model=model).next()
    assert shown.strip() == "It is noon."


async def test_an_answer_that_only_might_have_been_a_thought_is_shown_whole() -> None:
    answers = Answers("It is noon.", "It is one.", model="deepseek-r1")
    assert [(await answers.next())[0] for _ in range(2)] == ["It is noon.", "It is one."]


async def test_a_model_that_stops_thinking_is_shown_while_it_writes() -> None:
    answers = Answers(ANSWER, "It is one.", "It is two.")
    for _ in range(2):
        await answers.next()
    provider = answers._provider
    items = [item async for item in provider.stream(ASKED)]
    assert len(items) > len("It is")


async def test_a_thought_that_takes_all_tokens_is_no_answer() -> None:
    cut = ChatResponse(THOUGHT, stop=StopReason.LENGTH)
    answers = Answers(ANSWER, cut)
    await answers.next()
    with pytest.raises(ProviderRefused, match="max_tokens"):
        await answers.next()


async def test_the_end_of_a_thought_in_code_ends_none() -> None:
    text = "Write `</think>` there.\n```\n</think>\n```\nDone."
    assert (await Answers(text).next())[1].text == text
