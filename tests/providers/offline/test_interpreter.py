"""Small talk, help, and plain words where nothing is understood."""

import pytest

from tests.providers.offline.talk import Talk
from tests.providers.offline.toolset import AGENT, MEMORY_RECALL, TIME_NOW


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("hello", "without a language model"),
        ("thank you!", "welcome"),
        ("bye", "Goodbye"),
        ("你好", "没有语言模型"),
        ("謝謝", "不客氣"),
        ("ありがとう", "どういたしまして"),
        ("고마워", "천만에요"),
        ("Danke schön", "Gern geschehen"),
        ("¡Hola!", "sin modelo"),
    ],
)
async def test_small_talk_is_answered_briefly(said: str, words: str) -> None:
    assert words in await Talk().ask(said)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("colourless green ideas sleep furiously", ("without a language model", "OPENAI_API_KEY")),
        ("无色的绿色思想愤怒地睡觉", ("没有语言模型", "OPENAI_API_KEY")),
        ("無色的綠色思想憤怒地睡覺", ("沒有語言模型", "OPENAI_API_KEY")),
        ("無色の緑の考えが猛烈に眠る", ("言語モデルなし", "OPENAI_API_KEY")),
        ("무색의 초록 생각이 맹렬히 잠잔다", ("언어 모델 없이", "OPENAI_API_KEY")),
        ("farblose grüne Ideen schlafen wütend", ("ohne Sprachmodell", "OPENAI_API_KEY")),
        ("las ideas verdes duermen con furia", ("sin modelo", "OPENAI_API_KEY")),
    ],
)
async def test_what_is_not_understood_is_said_with_the_way_out(
    said: str, words: tuple[str, ...]
) -> None:
    answer = await Talk().ask(said)
    assert all(word in answer for word in words), answer


async def test_help_is_made_of_the_tools_that_are_there() -> None:
    everything = await Talk().ask("what can you do?")
    assert "turn on the led" in everything
    assert "OPENAI_API_KEY" in everything
    little = await Talk((TIME_NOW,)).ask("what can you do?")
    assert "tell the time" in little
    assert "led" not in little
    assert "remember" not in little


@pytest.mark.parametrize("said", ["帮助", "ヘルプ", "도움말", "Hilfe", "ayuda"])
async def test_help_has_a_line_for_each_kind_of_wish_in_every_language(said: str) -> None:
    lines = (await Talk().ask(said)).splitlines()
    assert len([line for line in lines if line.startswith("- ")]) >= 8


async def test_a_greeting_before_an_order_does_not_stand_in_its_way() -> None:
    talk = Talk(results={"board_gpio_write": {"pin": "led", "value": "on"}})
    assert await talk.ask("Good morning! Turn on the led, please.") == "The led is on."
    assert await talk.ask("thanks, and switch the led on") == "The led is on."


async def test_without_a_tool_for_it_a_question_gets_a_plain_answer() -> None:
    answer = await Talk((MEMORY_RECALL,), {"memory_recall": {"memories": []}}).ask("who is Bob?")
    assert answer.startswith("I remember nothing about that.")
    assert "did not understand" in await Talk((TIME_NOW,)).ask("who is Bob?")
    assert "did not understand" in await Talk(AGENT).ask("bob")
