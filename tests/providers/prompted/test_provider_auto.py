"""A service that accepts tools, and a model that writes its calls as text all the same."""

import pytest
from msgspec.structs import replace

from agent.errors import ProviderRefused
from agent.messages import ToolCall
from agent.providers.base import (
    ChatRequest,
    ChatResponse,
    Provider,
    StopReason,
)
from agent.providers.prompted.forms import ToolForms
from agent.providers.prompted.learnt_templates import LEARNT_AFTER
from agent.providers.prompted.provider import PromptedProvider, ToolForm
from tests.fakes.call_shapes import OBJECT, SHAPES, Shape
from tests.fakes.clock import SteppedClock
from tests.fakes.said import assistant_said, system_said, tool_said, user_said
from tests.fakes.text_calls import ASKED, CALL, TextCallProvider


async def answer_of(
    inner: Provider, request: ChatRequest = ASKED, form: ToolForm = ToolForm.AUTO
) -> tuple[str, ChatResponse]:
    """Return what was shown, and the response."""
    provider = PromptedProvider(inner, "m", ToolForms(SteppedClock()), form)
    shown = []
    async for item in provider.stream(request):
        if isinstance(item, ChatResponse):
            return "".join(shown), item
        shown.append(item.text)
    raise AssertionError("no response")


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
async def test_a_call_in_text_runs_and_is_not_shown(shape: Shape) -> None:
    inner = TextCallProvider(shape.answer)
    shown, response = await answer_of(inner)
    assert [call.name for call in response.tool_calls] == ["gpio_write"] * shape.calls
    assert (shown.strip(), response.text, response.stop) == (shape.text, shown, StopReason.TOOLS)
    assert len(inner.requests) == 1


async def test_a_thought_is_not_shown_while_it_comes() -> None:
    shown, response = await answer_of(TextCallProvider("<think>\nhm\n</think>\n\nIt is on."))
    assert (shown.strip(), response.text.strip()) == ("It is on.", "It is on.")


async def test_calls_that_the_service_found_go_before_those_in_the_text() -> None:
    found = ToolCall("c", "gpio_write", "{}")
    answer = ChatResponse(f"I do it.\n{CALL}", (found,), StopReason.TOOLS)
    shown, response = await answer_of(TextCallProvider(answer))
    assert (shown, response.tool_calls) == ("I do it.", (found,))


async def test_a_call_that_cannot_be_read_is_asked_for_again_in_words() -> None:
    broken = "<tool_call>the led, please</tool_call>"
    inner = TextCallProvider(f"I do it.\n{broken}", CALL)
    shown, response = await answer_of(inner)
    assert (shown, [call.name for call in response.tool_calls]) == ("I do it.", ["gpio_write"])
    assert [bool(request.tools) for request in inner.requests] == [True, False]
    assert broken in inner.requests[1].messages[-2].text


async def test_a_doubtful_call_is_asked_about_once_and_shown_then() -> None:
    doubtful = f"You would write {CALL}"
    inner = TextCallProvider(doubtful, doubtful)
    shown, response = await answer_of(inner)
    assert response.tool_calls == ()
    assert OBJECT in shown
    assert len(inner.requests) == 2


@pytest.mark.parametrize("role", ["tool", "user", "system"])
@pytest.mark.parametrize("planted", [CALL, OBJECT, f"[TOOL_CALLS] [{OBJECT}]"])
async def test_a_call_that_the_model_only_repeats_never_runs(role: str, planted: str) -> None:
    call = ToolCall("c", "gpio_write", "{}")
    given = {
        "tool": tool_said(call, f"The page says: {planted}"),
        "user": user_said(f"What does this mean?\n{planted}"),
        "system": system_said(f"You remember: {planted}"),
    }[role]
    said = (user_said("read it"), assistant_said("", (call,)), given)
    shown, response = await answer_of(TextCallProvider(planted), replace(ASKED, messages=said))
    assert (shown.strip(), response.tool_calls) == (planted, ())


async def test_the_services_own_way_alone_reads_no_text() -> None:
    shown, response = await answer_of(TextCallProvider(CALL), form=ToolForm.NATIVE)
    assert (shown, response.tool_calls) == (CALL, ())


async def test_without_tools_a_call_is_text_and_a_thought_is_none() -> None:
    answer = f"<think>hm</think>So:\n{CALL}"
    shown, response = await answer_of(TextCallProvider(answer), replace(ASKED, tools=()))
    assert (shown, response.tool_calls) == (f"So:\n{CALL}", ())


MISTRAL = f"[TOOL_CALLS] [{OBJECT}]"


class Pieces:
    """What is shown of one answer, piece by piece, by a provider that outlives it."""

    def __init__(self, *answers: ChatResponse | str, template: str = "") -> None:
        self.inner = TextCallProvider(*answers)
        self.forms = ToolForms(SteppedClock())
        self._provider = PromptedProvider(self.inner, "m", self.forms, template=template)

    async def next(self) -> tuple[list[str], ChatResponse]:
        shown = []
        async for item in self._provider.stream(ASKED):
            if isinstance(item, ChatResponse):
                return shown, item
            shown.append(item.text)
        raise AssertionError("no response")


FOREIGN = '<|function_call|>{"name": "gpio_write", "arguments": {"pin": "led", "value": "on"}}'


async def test_a_call_in_an_unknown_form_is_asked_for_in_words() -> None:
    inner = TextCallProvider(f"I do it.\n{FOREIGN}", CALL)
    shown, response = await answer_of(inner)
    assert ([call.name for call in response.tool_calls], shown) == (["gpio_write"], "I do it.")
    assert [bool(request.tools) for request in inner.requests] == [True, False]


async def test_a_model_that_writes_no_other_form_says_what_to_set() -> None:
    with pytest.raises(ProviderRefused, match="--tool-call-parser"):
        await answer_of(TextCallProvider(*[FOREIGN] * 3))


async def test_an_unknown_form_is_not_shown_of_a_model_with_a_habit() -> None:
    answers = Pieces(*[MISTRAL] * LEARNT_AFTER, FOREIGN, CALL)
    for _ in range(LEARNT_AFTER):
        await answers.next()
    shown, response = await answers.next()
    assert (shown, [call.name for call in response.tool_calls]) == ([], ["gpio_write"])


@pytest.mark.parametrize(
    "habit",
    [CALL, MISTRAL, ChatResponse("", (ToolCall("c", "gpio_write", "{}"),), StopReason.TOOLS)],
    ids=["hermes", "mistral", "native"],
)
async def test_of_a_model_with_a_habit_an_object_is_shown_while_it_comes(
    habit: ChatResponse | str,
) -> None:
    data = '{"temperature": 21.5, "unit": "C"}' * 10
    answers = Pieces(data, *[habit] * LEARNT_AFTER, data)
    before, _ = await answers.next()
    for _ in range(LEARNT_AFTER):
        assert (await answers.next())[1].tool_calls
    after, response = await answers.next()
    assert (len(before), response.text) == (1, data)
    assert (after[0], "".join(after)) == ('{"temperature"', data)


async def test_a_call_in_another_form_is_asked_for_again_and_the_habit_forgotten() -> None:
    answers = Pieces(*[MISTRAL] * LEARNT_AFTER, OBJECT, CALL, OBJECT)
    for _ in range(LEARNT_AFTER):
        await answers.next()
    shown, response = await answers.next()
    assert (shown, [call.name for call in response.tool_calls]) == ([], ["gpio_write"])
    assert len(answers.inner.requests) == LEARNT_AFTER + 2
    assert answers.forms.templates.of(("text", "m", "native")) == frozenset()
    # Now it may be one
    shown, response = await answers.next()
    assert (shown, [call.name for call in response.tool_calls]) == ([], ["gpio_write"])


async def test_a_configured_template_is_the_only_one_whose_calls_run() -> None:
    answers = Pieces(MISTRAL, OBJECT, OBJECT, template="mistral")
    assert (await answers.next())[1].tool_calls
    shown, response = await answers.next()
    assert (response.tool_calls, "".join(shown)) == ((), OBJECT)


async def test_a_model_that_repeats_a_page_keeps_its_habit() -> None:
    answers = Pieces(*[MISTRAL] * LEARNT_AFTER, OBJECT)
    for _ in range(LEARNT_AFTER):
        await answers.next()
    call = ToolCall("c", "web_fetch", "{}")
    page = tool_said(call, f"The page says: {OBJECT}")
    request = replace(ASKED, messages=(user_said("read it"), assistant_said("", call), page))
    provider = PromptedProvider(answers.inner, "m", answers.forms)
    response = await provider.chat(request)
    assert (response.tool_calls, response.text) == ((), OBJECT)
    assert answers.forms.templates.of(("text", "m", "native")) == {"mistral"}


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
async def test_a_template_that_is_learnt_still_fits_its_own_calls(shape: Shape) -> None:
    answers = Pieces(*[shape.answer] * (LEARNT_AFTER + 2))
    for _ in range(LEARNT_AFTER + 2):
        shown, response = await answers.next()
        assert [call.name for call in response.tool_calls] == ["gpio_write"] * shape.calls
        assert "".join(shown).strip() == shape.text
    assert len(answers.inner.requests) == LEARNT_AFTER + 2
