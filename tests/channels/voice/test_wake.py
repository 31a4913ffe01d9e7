"""Of what is heard, only what begins with the phrase is for the agent."""

import pytest

from agent.channels.voice.wake import ATTENTIVE_S, WakePhrase


def order_in(wake: WakePhrase, heard: str, begun_s: float = 100.0) -> str:
    return wake.order_in(heard, begun_s, begun_s + 1)


@pytest.mark.parametrize(
    ("heard", "order"),
    [
        ("barnacle turn the led on", "turn the led on"),
        ("Hey, Barnacle! Turn the LED on.", "Turn the LED on."),
        ("okay barnacle: what time is it?", "what time is it?"),
        ("turn the led on", ""),
        ("turn the led on barnacle", ""),
        ("barnacles grow on ships", ""),
        ("the barnacle is a sea animal", ""),
        ("barnacle /pair 7QK2M-X9D4T", "pair 7QK2M-X9D4T"),
        ("", ""),
    ],
)
def test_a_sentence_for_the_agent_begins_with_its_name(heard: str, order: str) -> None:
    assert order_in(WakePhrase("barnacle"), heard) == order


@pytest.mark.parametrize(
    ("phrase", "heard", "order"),
    [
        ("小助手", "小助手打开水泵。", "打开水泵。"),
        ("小助手", "小助手，打开水泵", "打开水泵"),
        ("小助手", "请小助手打开水泵", ""),
        ("バーナクル", "バーナクルポンプをつけて", "ポンプをつけて"),
        ("ผู้ช่วย", "ผู้ช่วยเปิดไฟ", "เปิดไฟ"),
        ("barnacle", "Barnacle打开水泵", "打开水泵"),
        ("바나클", "바나클아 불 켜", "불 켜"),
        ("바나클", "바나클 불 켜", "불 켜"),
        ("바나", "바나나 주세요", ""),
    ],
)
def test_no_space_need_follow_the_name_where_none_is_written(
    phrase: str, heard: str, order: str
) -> None:
    assert order_in(WakePhrase(phrase), heard) == order


def test_after_the_name_alone_the_next_sentence_is_for_it_and_only_that() -> None:
    wake = WakePhrase("barnacle")
    assert order_in(wake, "Barnacle?") == ""
    assert order_in(wake, "turn the led on") == "turn the led on"
    assert order_in(wake, "turn the pump on") == ""


def test_it_does_not_wait_for_ever() -> None:
    wake = WakePhrase("hey computer")
    assert order_in(wake, "hey computer") == ""
    assert order_in(wake, "turn the led on", 101 + ATTENTIVE_S) == ""


def test_every_word_of_the_phrase_counts() -> None:
    assert order_in(WakePhrase("computer v2"), "computer, stop") == ""
    assert order_in(WakePhrase("computer v2"), "computer v2, stop") == "stop"


def test_without_a_phrase_every_sentence_is_for_it_and_none_is_a_command() -> None:
    wake = WakePhrase("")
    assert order_in(wake, "turn the led on") == "turn the led on"
    assert order_in(wake, " /pair 7QK2M-X9D4T") == "pair 7QK2M-X9D4T"
