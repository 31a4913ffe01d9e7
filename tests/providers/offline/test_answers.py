"""Results as sentences: readings, states, files, failures, and shapes that nobody knows."""

import pytest

from agent.messages import Effect
from tests.providers.offline.talk import Talk
from tests.providers.offline.toolset import TOOLS, spec

SET_LED = {"pin": "led", "value": "on"}
WARM = {"value": 24.5, "unit": "°C"}
WET = {"pin": "moisture", "value": 1.234, "unit": "V"}
AWAY = "error: the board is not connected (no answer for 2 s)"


@pytest.mark.parametrize(
    ("said", "tool", "result", "answer"),
    [
        ("turn on the led", "board_gpio_write", SET_LED, "The led is on."),
        ("打开led灯", "board_gpio_write", SET_LED, "LED灯已打开。"),
        ("打開燈", "board_gpio_write", SET_LED, "LED燈已打開。"),
        ("LEDをつけて", "board_gpio_write", SET_LED, "LEDをオンにしました。"),
        ("LED 켜줘", "board_gpio_write", SET_LED, "LED 전원을 켰습니다."),
        ("Schalte die LED ein", "board_gpio_write", SET_LED, "Die LED ist an."),
        ("Enciende el led", "board_gpio_write", SET_LED, "El led está encendido."),
        (
            "Apaga la bomba",
            "board_gpio_write",
            {"pin": "pump", "value": "off"},
            "La bomba está apagada.",
        ),
        ("is the led on?", "board_gpio_read", {"pin": "led", "value": "off"}, "The led is off."),
        ("灯开着吗?", "board_gpio_read", SET_LED, "LED灯现在是开着的。"),
        ("what is the temperature?", "board_mcu_temperature", WARM, "The temperature is 24.5 °C."),
        ("现在温度是多少?", "board_mcu_temperature", WARM, "现在温度是 24.5 °C。"),
        ("現在溫度是多少?", "board_mcu_temperature", WARM, "現在溫度是 24.5 °C。"),
        ("温度を教えて", "board_mcu_temperature", WARM, "温度は 24.5 °C です。"),
        ("온도 알려줘", "board_mcu_temperature", WARM, "현재 온도: 24.5 °C."),
        ("Wie warm ist es?", "board_mcu_temperature", WARM, "Die Temperatur ist 24,5 °C."),
        ("¿Qué temperatura hace?", "board_mcu_temperature", WARM, "La temperatura es 24,5 °C."),
        ("how moist is the soil?", "board_adc_read", WET, "The moisture is 1.234 V."),
        ("measure a0", "board_adc_read", {"pin": "a0", "value": 2, "unit": "V"}, "A0 is 2 V."),
        ("turn on the led", "board_gpio_write", AWAY,
         "I could not turn the led on: the board is not connected (no answer for 2 s)"),
        ("打开led灯", "board_gpio_write", "error: the board is not connected (no answer)",
         "我没能打开LED灯：板子没有连接 (no answer)"),
        ("Wie warm ist es?", "board_mcu_temperature", "error: the board is not connected",
         "Das hat nicht geklappt (die Temperatur lesen): die Platine ist nicht verbunden"),
        ("turn on the led", "board_gpio_write", {"pin": "led", "value": "off"},
         "I asked for “on”, but the led is off."),
        ("turn on the led", "board_gpio_write", "error: not allowed (owner-no): the owner said no",
         "I could not turn the led on: not allowed (owner-no): the owner said no"),
        ("list the files", "file_list",
         {"path": ".", "entries": [{"name": "a.txt", "kind": "file", "size_bytes": 3},
                                   {"name": "logs", "kind": "folder", "size_bytes": 0}]},
         "Files: a.txt, logs/."),
        ("list the files", "file_list", {"path": ".", "entries": []}, "There are no files."),
        ("read a.txt", "file_read", {"path": "a.txt", "text": "one\ntwo\n", "more": True},
         "```\none\ntwo\n```\n(there is more)"),
        ("read a.txt", "file_read", {"path": "a.txt", "text": "", "more": False},
         "a.txt is empty."),
        ("write hello to a.txt", "file_write", {"path": "a.txt", "bytes": 5},
         "I wrote 5 bytes to a.txt."),
        ("read a.txt", "file_read", "error: a.txt is outside of the workspace",
         "I could not read that file: a.txt is outside of the workspace"),
    ],
)  # fmt: skip
async def test_a_result_becomes_a_sentence_in_the_persons_language(
    said: str, tool: str, result: object, answer: str
) -> None:
    assert await Talk(results={tool: result}).ask(said) == answer


async def test_two_results_are_two_sentences() -> None:
    talk = Talk(results={"board_gpio_write": SET_LED, "board_mcu_temperature": WARM})
    text = await talk.ask("turn on the led and read the temperature")
    assert text == "The led is on. The temperature is 24.5 °C."
    assert await talk.ask("打开led灯然后读温度") == "LED灯已打开。现在温度是 24.5 °C。"


@pytest.mark.parametrize(
    ("result", "answer"),
    [
        (
            {"depth": 3.5, "tags": ["a", "b"], "deep": {"x": 1}, "none": None, "ok": True},
            'depth: 3.5\ntags: a, b\ndeep: {"x": 1}\nnone: -\nok: on',
        ),
        ("just words", "just words"),
        ("", "Done."),
        ({"value": [1, 2]}, "The sonar: [1, 2]."),
        ({"value": True}, "The sonar is on."),
    ],
)
async def test_a_result_of_unknown_shape_is_told_as_it_is(result: object, answer: str) -> None:
    tools = (*TOOLS, spec("deck_sonar", "Read the sonar."))
    assert await Talk(tools, {"deck_sonar": result}).ask("read the sonar") == answer


async def test_a_call_that_was_not_understood_is_told_in_words() -> None:
    error = '{"error":"bad_arguments","message":"the depth is too large"}'
    tools = (*TOOLS, spec("deck_sonar", "Read the sonar."))
    answer = await Talk(tools, {"deck_sonar": f"error: {error}"}).ask("read the sonar")
    assert "the depth is too large" in answer
    assert "bad_arguments" not in answer


async def test_a_tool_that_is_gone_is_told_by_its_name() -> None:
    talk = Talk((*TOOLS, spec("deck_sonar", "Ping.", effect=Effect.ACTUATE)))
    talk.results = {"deck_sonar": "error: there is no tool 'deck_sonar'"}
    response = await talk.say("sonar")
    talk.tools = TOOLS
    assert "deck_sonar" in outcome_of(talk, response.text)


def outcome_of(talk: Talk, text: str) -> str:
    return text or talk.messages[-1].tool_calls[0].name


async def test_the_text_of_a_file_is_told_as_it_is_and_a_cut_is_told() -> None:
    text = "# Title\n*not bold*\n```\n[IMAGE:secret.png] a\u202eb\tc\u200bd é\n"
    talk = Talk(results={"file_read": {"path": "a.md", "text": text, "more": False}})
    told = await talk.ask("read a.md")
    assert told == (
        "````\n# Title\n*not bold*\n```\n[ IMAGE:secret.png] a<U+202E>b\tc<U+200B>d é\n````"
    )
    long = {"path": "a.md", "text": "x" * 9000, "more": False}
    cut = await Talk(results={"file_read": long}).ask("read a.md")
    assert cut.endswith("x\n```\n(there is more)")
