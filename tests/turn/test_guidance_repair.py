import json

from agent.errors import BadArguments
from agent.messages import Provenance, ToolCall
from agent.turn.guidance import MAX_REPAIR_ROUNDS, Repairs, bad_arguments, unknown_tool
from tests.fakes.said import words

CALL = ToolCall("1", "lmp", "{}")


def test_an_unknown_tool_is_told_with_the_nearest_and_a_way_to_more() -> None:
    result = unknown_tool(CALL, [words("lamp", Provenance.SENSOR)])
    # The names of a strange board are its words
    assert result.provenance is Provenance.SENSOR
    assert not result.success
    assert json.loads(result.text) == {
        "error": "unknown_tool",
        "tool": "lmp",
        "message": "there is no tool 'lmp'",
        "nearest": ["lamp"],
        "more": "tool_search finds tools by what they do",
    }


def test_a_name_that_is_far_too_long_is_cut() -> None:
    assert len(unknown_tool(ToolCall("1", "x" * 10_000, "{}"), []).text) < 400


def test_bad_arguments_are_told_with_what_does_not_fit() -> None:
    result = bad_arguments(CALL, BadArguments("Expected `str` - at `$.value`"), Provenance.WEB)
    # Nobody says whose words these are
    assert result.provenance is Provenance.WEB
    assert json.loads(result.text) == {
        "error": "bad_arguments",
        "tool": "lmp",
        "message": "bad arguments for lmp: Expected `str` - at `$.value`",
    }


def test_after_the_last_round_a_call_is_left_out_and_the_person_is_told_once() -> None:
    repairs, problem = Repairs(), unknown_tool(CALL, [])
    for _ in range(MAX_REPAIR_ROUNDS):
        assert repairs.answer(CALL, problem) is problem
        assert repairs.sentence() == ""
        repairs.rounds += 1
    for _ in range(2):
        assert json.loads(repairs.answer(CALL, problem).text)["error"] == "left_out"
    assert repairs.sentence() == "\n(Not done, because the call was not understood: lmp.)"
