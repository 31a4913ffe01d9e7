import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.providers.completions.wire import (
    CompletionsChunk,
    CompletionsMessage,
    CompletionsTokenCount,
)
from agent.providers.service_json import MAX_JSON_DEPTH, WireError, decode, joined_halves, parse


def nested(depth: int, opening: str = "[", closing: str = "]") -> str:
    return opening * depth + closing * depth


def test_depth_up_to_the_limit_passes_and_beyond_is_refused() -> None:
    assert parse(nested(MAX_JSON_DEPTH)) is not None
    with pytest.raises(WireError, match="deeper than 32"):
        parse(nested(MAX_JSON_DEPTH + 1))


def test_many_levels_beside_each_other_are_not_deep() -> None:
    assert len(str(parse("[" + ",".join(["[{}]"] * 100) + "]"))) > 100


def test_brackets_in_strings_are_not_depth() -> None:
    text = '{"a": "' + "[{" * 100 + '\\"[[["}'
    assert isinstance(parse(text), dict)


def test_an_attack_on_the_recursion_is_refused() -> None:
    with pytest.raises(WireError):
        parse("[" * 200_000)


@pytest.mark.parametrize("text", ['"' + '\\"' * 120_000, '{"' * 60_000, "[" * 33 + '"\\' * 60_000])
def test_an_attack_on_the_depth_check_is_refused_quickly(text: str) -> None:
    began = time.perf_counter()
    with pytest.raises(WireError):
        parse("[" * 33 + text)
    with pytest.raises(WireError):
        parse("{[" * 17 + "}]" * 17 + text)
    assert time.perf_counter() - began < 2


@pytest.mark.parametrize(
    "text", ["", "nonsense", "{", '{"a":', "<html>", "1" * 5000, '{"a": 01}', "\x00"]
)
def test_what_is_not_json_is_refused(text: str) -> None:
    with pytest.raises(WireError):
        decode(text, CompletionsChunk)


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "7",
        "null",
        '{"choices": 7}',
        '{"choices": [{"delta": "text"}]}',
        '{"choices": [{"delta": {"content": 7}}]}',
        '{"choices": [{"delta": {"tool_calls": {"index": 0}}}]}',
    ],
)
def test_another_shape_is_refused_with_its_place(text: str) -> None:
    with pytest.raises(WireError, match="Expected"):
        decode(text, CompletionsChunk)


def test_unknown_fields_nulls_and_doubled_keys_are_tolerated() -> None:
    text = (
        '{"id": null, "new": {"x": NaN}, "choices": [{"delta": {"content": null}}],'
        ' "usage": {"prompt_tokens": 1, "prompt_tokens": 12.0}}'
    )
    chunk = decode(text, CompletionsChunk)
    assert chunk.usage == CompletionsTokenCount(12, None)
    assert chunk.choices is not None
    assert chunk.choices[0].delta == CompletionsMessage()


def test_text_among_other_parts_is_found() -> None:
    parts = '[{"type": "thinking", "thinking": []}, {"type": "text", "text": "yes"}]'
    chunk = decode('{"choices": [{"message": {"content": ' + parts + "}}]}", CompletionsChunk)
    assert chunk.choices is not None
    assert chunk.choices[0].message is not None
    assert chunk.choices[0].message.text == "yes"


@given(st.text())
def test_whole_characters_stay_as_they_are(text: str) -> None:
    assert joined_halves(text) == text


def test_halves_are_joined_or_replaced() -> None:
    assert joined_halves("a\ud83d\ude00b") == "a😀b"
    assert joined_halves("a\ud83db\ude00") == "a\ufffdb\ufffd"
