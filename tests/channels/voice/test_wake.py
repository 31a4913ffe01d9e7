"""Of what is heard, only what begins with the phrase is for the agent."""

import pytest

from agent.channels.voice.wake import ATTENTIVE_S, WakePhrase


class Clock:
    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


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
    assert WakePhrase("barnacle", Clock()).order_in(heard) == order


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
    assert WakePhrase(phrase, Clock()).order_in(heard) == order


def test_after_the_name_alone_the_next_sentence_is_for_it_and_only_that() -> None:
    wake = WakePhrase("barnacle", Clock())
    assert wake.order_in("Barnacle?") == ""
    assert wake.order_in("turn the led on") == "turn the led on"
    assert wake.order_in("turn the pump on") == ""


def test_it_does_not_wait_for_ever() -> None:
    wake = WakePhrase("hey computer", clock := Clock())
    assert wake.order_in("hey computer") == ""
    clock.now_s += ATTENTIVE_S
    assert wake.order_in("turn the led on") == ""


def test_every_word_of_the_phrase_counts() -> None:
    assert WakePhrase("computer v2", Clock()).order_in("computer, stop") == ""
    assert WakePhrase("computer v2", Clock()).order_in("computer v2, stop") == "stop"


def test_without_a_phrase_every_sentence_is_for_it_and_none_is_a_command() -> None:
    wake = WakePhrase("", Clock())
    assert wake.order_in("turn the led on") == "turn the led on"
    assert wake.order_in(" /pair 7QK2M-X9D4T") == "pair 7QK2M-X9D4T"
