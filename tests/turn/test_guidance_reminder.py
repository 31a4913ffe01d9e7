"""The reminder of what was only announced begins no turn: what the person said stays the last."""

import pytest

from agent.messages import ChatMessage, ToolCall
from agent.providers.base import ChatResponse
from agent.providers.classifier import Classifier
from agent.providers.offline import conversation
from agent.providers.reliable import shortened
from agent.providers.section import ClassifySettings
from agent.tools.selection import ToolSelection
from agent.turn.guidance import Guidance
from agent.turn.window import SmallWindow
from tests.fakes.many_tools import crowded
from tests.fakes.said import assistant_said, system_said, tool_said, user_said

ORDER = "watch the pressure in python"
CALL = ToolCall("c", "lamp", "{}")
LONG = "x" * 9000


def reminded(*turn: ChatMessage) -> tuple[ChatMessage, ...]:
    """What a model is asked after it has only announced something."""
    guidance = Guidance()
    assert guidance.is_only_announced(ChatResponse("I will now turn on the lamp."))
    return (system_said("be good"), *turn, *guidance.aside)


@pytest.mark.parametrize("earlier", [0, 1, 2, 3])
def test_a_conversation_that_is_too_long_keeps_the_order(earlier: int) -> None:
    before = [one for _ in range(earlier) for one in (user_said("hi"), assistant_said("hi"))]
    turn = (user_said(ORDER), assistant_said("", (CALL,)), tool_said(CALL, LONG))
    messages: tuple[ChatMessage, ...] | None = reminded(*before, *turn)
    sizes = []
    while (messages := shortened(messages or ())) is not None:
        assert [one.text for one in messages].count(ORDER) == 1
        assert "called no tool" in messages[-1].text
        sizes.append(sum(len(one.text) for one in messages))
    assert sizes[-1] < 3000


def test_a_small_window_keeps_the_order() -> None:
    turn = (user_said(ORDER), assistant_said("", (CALL,)), tool_said(CALL, LONG))
    fitted = SmallWindow(1500).fitted(reminded(*turn), 0)
    assert ORDER in [one.text for one in fitted.messages]
    assert not fitted.is_shortened


async def test_a_small_window_is_shown_the_tools_of_the_order() -> None:
    shelf = ToolSelection(crowded())
    before = await shelf.fitting((user_said(ORDER),), 400)
    assert await shelf.fitting(reminded(user_said(ORDER)), 400) == before


def test_a_turn_stays_with_the_model_that_its_order_was_sorted_to() -> None:
    rules = {"code": ClassifySettings(keywords=("python",))}
    assert Classifier(rules).hint(reminded(user_said(ORDER))) == "code"


def test_without_a_model_the_order_is_what_is_done() -> None:
    (turn,) = conversation.turns_of(reminded(user_said(ORDER)))
    assert turn.text == ORDER
