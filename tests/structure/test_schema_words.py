"""No answer to a person holds the names of tools and arguments, in whatever language."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from agent.messages import Effect, ToolSpec
from agent.providers.offline.answers import answer
from agent.providers.offline.conversation import Exchange
from agent.providers.offline.lexicon import LANGUAGES, lexicon
from agent.providers.offline.plan import CallDraft, Need, Order, confirmation, settle
from agent.providers.offline.toolbox import Profile, Toolbox, toolbox
from agent.providers.offline.voice import Voice
from tests.providers.offline.toolset import RICH, choice, spec

_ODD = choice("led_2", "d7_relay", "gpio_17", "x", "heater1")
ODD = (
    *RICH,
    spec("board_valve_write", "Set a valve.", {"pin": _ODD, "value": choice("off", "on")},
         effect=Effect.ACTUATE),
    spec("board2_pwm_write", "Set an output. Frequency 0 keeps the one it has.",
         {"pin": _ODD, "frequency": {"type": "integer", "minimum": 0, "maximum": 20000},
          "duty": {"type": "number", "minimum": 0, "maximum": 100, "description": "in %"}},
         effect=Effect.ACTUATE),
    spec("board_pixel_fill", "Fill a strip of pixels.",
         {"pin": _ODD, "red": {"type": "integer"}, "first_pixel": {"type": "integer"}},
         effect=Effect.ACTUATE),
    spec("board_valve_reset", "Reset all valves.", effect=Effect.ACTUATE),
    spec("board_odd_read", "Read an odd thing.", {"pin": _ODD}),
)  # fmt: skip
# Names of tools and arguments: two words with a line between them, or one that is no plain word
_SNAKE = re.compile(r"[a-zA-Z0-9]+_[a-zA-Z0-9_]+")
_SCHEMA = re.compile(r"(?i)\b(?:pwm|gpio (?:read|write)|adc|mcu|duty|first.pixel)\b")
# The name of a variable is what has to be set
_ALLOWED = {"OPENAI_API_KEY"}
_RESULTS: tuple[Any, ...] = (
    {"pin": "led_2", "value": "on"},
    {"pin": "gpio_17", "value": 3.25, "unit": "V"},
    {"value": True},
    {"some_field": 3, "other_field": [1, 2], "nested_one": {"a": 1}},
    {"units": {"temperature": "°C", "relative_humidity": "%"}, "temperature": 20},
    {"state": "ready", "pins": [{"name": "led_2"}], "methods": ["gpio_write"]},
    {"memory_total_mb": 400, "memory_free_mb": 100, "throttled": ["under_voltage"]},
    {"watches": [{"name": "high_humidity"}]},
    {},
)  # fmt: skip


def _arguments(profile: Profile) -> dict[str, object]:
    values: dict[str, object] = {}
    for one in profile.parameters:
        plain: object = 50 if one.kind in {"number", "integer"} else "words"
        values[one.name] = one.choices[0].value if one.choices else plain
    return values


def _sentences(voice: Voice, box: Toolbox) -> Iterator[str]:
    for profile in box.profiles:
        order = Order(profile.name, _arguments(profile))
        yield voice.deed(order, profile)
        yield voice.deed(Order(profile.name, {}), profile)
        yield voice.question(confirmation((CallDraft(profile, order.arguments),), ""))
        removed = [{"removed": "high_humidity"}] if profile.name == "watch_remove" else []
        for result in (*map(json.dumps, (*_RESULTS, *removed)), "error: not now"):
            yield answer([Exchange(order, result)], box, voice, frozenset(), {})
        needed = dict(order.arguments)
        while needed:
            needed.popitem()
            item = settle(CallDraft(profile, needed))
            if isinstance(item, Need):
                yield voice.question(item)


def _complaints(voice: Voice, tools: tuple[ToolSpec, ...]) -> list[str]:
    return [
        sentence
        for sentence in _sentences(voice, toolbox(tools))
        if set(_SNAKE.findall(sentence)) - _ALLOWED or _SCHEMA.search(sentence)
    ]


@pytest.mark.parametrize("code", LANGUAGES)
def test_no_answer_holds_the_name_of_a_tool_or_an_argument(code: str) -> None:
    assert _complaints(Voice(code), ODD) == []


@pytest.mark.parametrize("code", LANGUAGES)
def test_no_template_holds_one(code: str) -> None:
    wording = lexicon(code).wording
    templates = [*wording["say"].values(), *wording["deeds"].values()]
    templates += [text for table in wording["abilities"].values() for text in table["say"]]
    templates += [table["answer"] for table in wording["manners"].values()]
    for template in templates:
        text = re.sub(r"\{\w+\}", "", template)
        assert not set(_SNAKE.findall(text)) - _ALLOWED, template


def _is_in(char: str, encoding: str) -> bool:
    try:
        char.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True


def test_an_answer_in_traditional_chinese_has_no_simplified_character() -> None:
    simplified = [
        sentence
        for sentence in _sentences(Voice("zh", traditional=True), toolbox(ODD))
        if any(_is_in(one, "gb2312") and not _is_in(one, "big5") for one in sentence if one > "一")
    ]
    assert simplified == []


def test_the_scan_finds_what_it_looks_for() -> None:
    assert _SCHEMA.search("Shall I use board pwm write?")
    assert _SNAKE.findall("board_pwm_write")
