from agent.messages import ToolCall
from agent.providers.base import ChatResponse, StopReason
from agent.turn.guidance import Guidance
from tests.fakes.said import tool_result

CALL = ToolCall("1", "lamp", "{}")
PROMISE = "I will now turn on the lamp."


def test_a_promise_is_answered_with_a_reminder_that_the_next_round_takes_away() -> None:
    guidance = Guidance()
    assert guidance.is_only_announced(ChatResponse(PROMISE))
    promise, reminder = guidance.aside
    assert promise.text == PROMISE
    assert "called no tool" in reminder.text
    guidance.begin_round()
    assert guidance.aside == ()


def test_a_cut_answer_is_no_promise() -> None:
    assert not Guidance().is_only_announced(ChatResponse(PROMISE, stop=StopReason.LENGTH))


def test_two_calls_in_one_round_are_one_attempt_at_repair() -> None:
    guidance = Guidance()
    for _ in range(2):
        guidance.begin_round()
        for _ in range(5):
            assert "unknown_tool" in guidance.unknown(CALL, []).text
        guidance.end_round()
    guidance.begin_round()
    assert "left_out" in guidance.unknown(CALL, []).text


def test_a_failed_call_has_changed_nothing_whatever_its_tool_does() -> None:
    guidance = Guidance()
    for n, value in enumerate(("", "", "repeated the same steps")):
        guidance.begin_round()
        guidance.note(CALL, tool_result(success=False, text="no"), changes=True)
        told, stopped = guidance.end_round()
        assert value in stopped
        assert bool(told) is (n == 1)
