from agent.messages import ToolCall
from agent.turn.compaction import tokens_of, tokens_of_text
from tests.fakes.said import assistant_said, tool_said, user_said


def test_each_script_is_counted_by_what_a_token_of_it_holds() -> None:
    assert 9 <= tokens_of_text("Turn on the lamp in the kitchen, please.") <= 12
    # About one sign of Chinese a token, and two letters of Cyrillic
    assert 8 <= tokens_of_text("打开厨房的灯好吗") <= 12
    assert 10 <= tokens_of_text("Включи лампу на кухне") <= 20


def test_calls_and_results_count_too() -> None:
    call = ToolCall("1", "file_write", '{"path":"a.txt","content":"' + "x" * 300 + '"}')
    assert tokens_of(assistant_said("", (call,))) > 100
    assert tokens_of(tool_said(call, "x" * 300)) > tokens_of(user_said("x" * 300))


def test_what_cannot_be_encoded_is_counted_all_the_same() -> None:
    assert tokens_of_text("\ud800") >= 1
