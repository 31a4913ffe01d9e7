"""Values of arguments that models write as text, and where a value ends."""

import json
from collections.abc import Callable

import pytest

from agent.messages import Effect
from agent.providers.prompted.reader import AnswerReading, PromptedReader
from tests.fakes.said import spec_of

_SCHEMA = {
    "type": "object",
    "properties": {
        "label": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "code": {"type": ["string", "null"]},
        "id": {"oneOf": [{"type": "string"}, {"type": "object"}]},
        "seconds": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "place": {"type": "string"},
        "mixed": {"type": ["string", "number"]},
        "by_pin": {"type": "object"},
        # As a foreign server may write it
        "odd": {"type": [{"type": "string"}, None]},
    },
}
QUOTE = '<|"|>'
OFFERED = {"timer": spec_of("timer", "", _SCHEMA, Effect.ACTUATE)}


def read(answer: str) -> AnswerReading:
    """Return the reading of an answer, the same whole and in pieces."""
    readings = []
    for size in (len(answer), 1, 3, 7):
        reader = PromptedReader(OFFERED)
        for place in range(0, len(answer), size):
            reader.feed(answer[place : place + size])
        readings.append(reader.close())
    assert {one.wanted for one in readings} == {readings[0].wanted}
    return readings[0]


def arguments(answer: str) -> dict[str, object]:
    reading = read(answer)
    assert reading.problems == ()
    (wanted,) = reading.wanted
    return dict(json.loads(wanted.arguments_json))


def tagged(name: str, value: str) -> str:
    return (
        f"<tool_call>\n<function=timer>\n<parameter={name}>\n{value}\n</parameter>\n"
        "</function>\n</tool_call>"
    )


@pytest.mark.parametrize(
    ("name", "written", "value"),
    [
        ("label", "0042", "0042"),
        ("label", "42", "42"),
        ("label", "true", "true"),
        ("label", "null", None),
        ("code", "7", "7"),
        ("code", "[1]", "[1]"),
        ("id", "12", "12"),
        ("id", '{"a": 1}', {"a": 1}),
        ("mixed", "1.5", 1.5),
        ("mixed", "true", "true"),
        ("seconds", "30", 30),
        ("seconds", "null", None),
        ("odd", "at noon", "at noon"),
    ],
)
def test_a_text_stays_one_where_the_tool_takes_texts(
    name: str, written: str, value: object
) -> None:
    found = arguments(tagged(name, written))[name]
    assert (found, type(found)) == (value, type(value))


def test_an_argument_does_not_swallow_the_next_one() -> None:
    reading = read(
        "<tool_call>\n<function=timer>\n<parameter=place>\nkitchen\n<parameter=seconds>\n30\n"
        "</parameter>\n</function>\n</tool_call>"
    )
    assert (reading.wanted, reading.problems) == ((), ("the end of its place is missing",))


@pytest.mark.parametrize("text", ["<parameter=other>", '<param name="movie">', "a < b"])
def test_a_value_may_hold_what_looks_like_another_argument(text: str) -> None:
    assert arguments(tagged("place", text)) == {"place": text}


def gemma(inside: str) -> str:
    return f"<|tool_call>call:timer{{{inside.replace('Q', QUOTE)}}}<tool_call|>"


def function_gemma(inside: str) -> str:
    inside = inside.replace("Q", "<escape>")
    return f"<start_function_call>call:timer{{{inside}}}<end_function_call>"


def test_function_gemma_marks_numbers_as_texts() -> None:
    assert arguments(function_gemma("seconds:Q30Q,place:Q30Q")) == {"seconds": 30, "place": "30"}


def test_what_gemma_marks_as_text_is_one() -> None:
    assert arguments(gemma("mixed:Q30Q,seconds:30")) == {"mixed": "30", "seconds": 30}


@pytest.mark.parametrize("answer", [gemma, function_gemma])
def test_gemma_marks_keys_as_texts(answer: Callable[[str], str]) -> None:
    assert arguments(answer("by_pin:{Q3Q:QonQ}")) == {"by_pin": {"3": "on"}}


@pytest.mark.parametrize("answer", [gemma, function_gemma])
def test_an_argument_that_gemma_writes_twice_is_refused(answer: Callable[[str], str]) -> None:
    assert read(answer("place:QhereQ,place:QthereQ")).problems == ("place appears twice",)


def test_a_raw_value_may_hold_the_end_of_its_mark() -> None:
    answer = '<function name="timer"><param name="place"><![CDATA[a</param>b]]></param></function>'
    assert arguments(answer) == {"place": "a</param>b"}
