"""Every template, whole and in pieces; and what only looks like a call."""

import itertools
import json

import pytest

from agent.messages import Effect
from agent.providers.prompted.reader import AnswerReading, PromptedReader
from tests.fakes.call_shapes import (
    ARGUMENTS,
    MINIMAX_CALL,
    OBJECT,
    PYTHON,
    SHAPES,
    Shape,
    minimax,
)
from tests.fakes.said import spec_of

_SCHEMA = {"type": "object", "properties": {"pin": {"type": "string"}, "value": {"type": "string"}}}
OFFERED = {name: spec_of(name, "", _SCHEMA, Effect.ACTUATE) for name in ("gpio_write", "time_now")}


def read(*pieces: str) -> tuple[str, AnswerReading]:
    """Return all that was shown, and the reading of the answer."""
    reader = PromptedReader(OFFERED)
    shown = [reader.feed(piece) for piece in pieces]
    reading = reader.close()
    return "".join([*shown, reading.text]), reading


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_a_call_is_read_in_every_template(shape: Shape) -> None:
    shown, reading = read(shape.answer)
    assert [one.name for one in reading.wanted] == ["gpio_write"] * shape.calls
    for one in reading.wanted:
        assert json.loads(one.arguments_json) == {"pin": "led", "value": "on"}
    assert (shown.strip(), reading.problems) == (shape.text, ())


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_a_template_reads_the_same_wherever_it_is_cut(shape: Shape) -> None:
    whole = read(shape.answer)
    assert read(*shape.answer) == whole
    for place in range(1, len(shape.answer)):
        assert read(shape.answer[:place], shape.answer[place:]) == whole


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_a_template_that_ends_early_runs_no_other_call(shape: Shape) -> None:
    for end in range(len(shape.answer)):
        _, reading = read(shape.answer[:end])
        for one in reading.wanted:
            assert one.name == "gpio_write"
            assert json.loads(one.arguments_json) == {"pin": "led", "value": "on"}


# How models speak on for somebody else
MADE_UP = (
    "<tool_response>{}</tool_response>\n",
    "<tool_result>ok</tool_result>",
    "<|im_end|>\n<|im_start|>user\nnow the other one<|im_end|>\n<|im_start|>assistant\n",
    "<|eot_id|><|start_header_id|>user<|end_header_id|>\n\n",
    "\nObservation: done\n",
    "\nUser: and the other\nAssistant:\n",
    "[TOOL_RESULTS] ok [/TOOL_RESULTS]",
    "<｜tool▁outputs▁begin｜>ok<｜tool▁outputs▁end｜>",
    "<end_of_turn>\n<start_of_turn>user\nmore<end_of_turn>\n",
    "<turn|>\n<|turn>user\nmore<turn|>\n<|turn>model\n",
    "<|turn>user\nmore\n",
    "<|eot|><|header_start|>user<|header_end|>\n\nmore<|eot|>",
    "<|header_start|>user<|header_end|>\n\nmore\n",
    "<seed:eos><seed:bos>user\nmore\n",
    "[|endofturn|]\n[|user|]more\n",
    "<|im_user|>user<|im_middle|>more\n",
    "<|start_of_role|>user<|end_of_role|>more\n",
    "<|START_TOOL_RESULT|>[]<|END_TOOL_RESULT|>",
)
SINGLE = tuple(shape for shape in SHAPES if shape.calls == 1)


@pytest.mark.parametrize("made_up", MADE_UP)
@pytest.mark.parametrize("shape", SINGLE[:20], ids=lambda shape: shape.name)
def test_nothing_runs_after_the_model_spoke_for_somebody_else(shape: Shape, made_up: str) -> None:
    other = OBJECT.replace("led", "pump")
    for following in (f"<tool_call>{other}</tool_call>", other):
        _, reading = read(f"It is on.\n{made_up}{following}")
        assert reading.wanted == ()
        _, reading = read(f"{shape.answer}{made_up}{following}")
        assert all("pump" not in one.arguments_json for one in reading.wanted)


# Without a thought or the end of a turn, which no sentence holds
PLAIN = tuple(
    shape
    for shape in SINGLE
    if not any(one in shape.answer for one in ("think", "THINK", "<|e", "<|im_", "end▁of", "[e~["))
)
QUOTED = [
    *(f"You would write {shape.answer} to switch it on." for shape in PLAIN),
    *(f"This is how a call looks:\n\n````\n{shape.answer}\n````\n" for shape in SINGLE),
    *(f"He said “{shape.answer}”, and left." for shape in SINGLE if "\n" not in shape.answer),
]


@pytest.mark.parametrize("text", QUOTED)
def test_an_example_never_runs(text: str) -> None:
    for pieces in ((text,), tuple(text)):
        _, reading = read(*pieces)
        assert reading.wanted == ()


@pytest.mark.parametrize(
    "text",
    [
        f"You would write <tool_call>{OBJECT}</tool_call> to switch it on.",
        f"You would write `<tool_call>{OBJECT}</tool_call>`.",
        f"Call it so:\n\n```python\n{PYTHON}\n```\n\nThen wait.",
        f"Call {PYTHON} first.",
        f"The object {OBJECT} is what a call holds.",
        'Here it is:\n```json\n{"name": "lamp", "arguments": []}\n```',
        "Action: turn off the gas at once.\nThen call the fitter.",
        "Action:\nturn it off",
        ">>> print(1)\n1",
        "functools[0] is no list.",
        "[link](https://example.org) and [x] done",
        "a < b, a <b> c, <s>gone</s> and 1 << 2",
        "analysis of the readings: fine",
        "The time_now(zone) function returns the time.",
    ],
)
def test_prose_is_shown_whole(text: str) -> None:
    for pieces in ((text,), tuple(text)):
        shown, reading = read(*pieces)
        assert (shown, reading.wanted, reading.problems) == (text, (), ())


def test_prose_is_shown_while_it_comes() -> None:
    reader = PromptedReader(OFFERED)
    text = "Action: turn off the gas. [1] is a note, 3 < 4, and so on.\n" * 3
    shown = "".join(reader.feed(char) for char in text)
    assert shown == text.rstrip()


@pytest.mark.parametrize(
    "thought",
    [
        "<think>hm</think>",
        "<think>hm <tool_call>{}</tool_call></think>",
        "<thinking>\nhm\n</thinking>",
        "[THINK]hm[/THINK]",
        "<|START_THINKING|>hm<|END_THINKING|>",
        "◁think▷hm◁/think▷",
        "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>",
    ],
)
def test_a_thought_is_never_shown(thought: str) -> None:
    for pieces in ((f"{thought}It is on.",), tuple(f"{thought}It is on.")):
        shown, _ = read(*pieces)
        assert shown.strip() == "It is on."


def test_a_call_in_the_middle_of_the_last_line_is_doubtful() -> None:
    shown, reading = read(f"You would write <tool_call>{OBJECT}</tool_call>")
    assert (reading.wanted, reading.is_doubtful) == ((), True)
    assert OBJECT in shown


@pytest.mark.parametrize("first", SHAPES[:12], ids=lambda shape: shape.name)
def test_a_call_that_is_followed_by_prose_is_an_example(first: Shape) -> None:
    text = f"Like this:\n{first.answer.replace('<|im_end|>', '')}\nNow you know."
    _, reading = read(text)
    assert reading.wanted == ()


_TYPES = {
    "type": "object",
    "properties": {
        "count": {"type": "integer"},
        "note": {"type": "string"},
        "where": {"type": "object", "properties": {"floor": {"type": "integer"}}},
        "steps": {"type": "array", "items": {"type": "number"}},
    },
}
_M = "]<]minimax[>["


def minimax_arguments(inside: str) -> dict[str, object]:
    answer = minimax(f'{_M}<invoke name="order">{inside}{_M}</invoke>\n')
    reader = PromptedReader({"order": spec_of("order", "", _TYPES, Effect.ACTUATE)})
    shown = "".join(reader.feed(char) for char in answer)
    (wanted,) = reader.close().wanted
    assert shown == ""
    found: dict[str, object] = json.loads(wanted.arguments_json)
    return found


def test_elements_within_elements_become_what_the_schema_asks_for() -> None:
    inside = (
        f"{_M}<count>12{_M}</count>{_M}<note>12 <b>of\n them{_M}</note>"
        f"{_M}<where>{_M}<floor>3{_M}</floor>{_M}</where>"
        f"{_M}<steps>{_M}<item>1{_M}</item>{_M}<item>2.5{_M}</item>{_M}</steps>"
        f"{_M}<other>7{_M}</other>"
    )
    assert minimax_arguments(inside) == {
        "count": 12,
        "note": "12 <b>of\n them",
        "where": {"floor": 3},
        "steps": [1, 2.5],
        "other": "7",
    }


@pytest.mark.parametrize(
    "inside",
    [
        f"{_M}<pin>led</pin>",
        f"{_M}<pin>led{_M}</value>",
        f"{_M}<pin>led{_M}</pin>{_M}<pin>pump{_M}</pin>",
        f"{_M}<pin>led{_M}<value>on{_M}</value>{_M}</pin>",
        "led",
    ],
)
def test_an_element_that_does_not_fit_together_is_a_problem(inside: str) -> None:
    answer = minimax(f'{_M}<invoke name="gpio_write">{inside}{_M}</invoke>\n')
    shown, reading = read(*f"I do it.\n{answer}")
    assert (shown, reading.wanted, len(reading.problems)) == ("I do it.", (), 1)


# As the tests of vLLM and real reports have them; none of these forms is read here
FOREIGN = (
    (
        '<steptml:invoke name="gpio_write"><steptml:parameter name="pin">led</steptml:parameter>'
        "</steptml:invoke>"
    ),
    (
        "<longcat_tool_call>gpio_write\n<longcat_arg_key>pin</longcat_arg_key>\n"
        "<longcat_arg_value>led</longcat_arg_value>\n</longcat_tool_call>"
    ),
    (
        "<|tool_call:start|>gpio_write\n<|tool_arg:start|>pin<|tool_arg:value|>led<|tool_arg:end|>\n"
        "<|tool_call:end|>"
    ),
    (
        '<|open|>tools<|sep|><|open|>call tool="gpio_write" index="1"<|sep|><|open|>argument '
        'key="pin" type="string"<|sep|>led<|close|>argument<|sep|><|close|>call<|sep|>'
        "<|close|>tools<|sep|><|close|>message<|sep|>"
    ),
    f"<|function_call|>{OBJECT}",
    "<tool_calls:x1><tool_call:x1>gpio_write<tool_sep:x1></tool_call:x1></tool_calls:x1>",
    f"<|tool_call_begin|>functions.gpio_write:0<|tool_call_argument_begin|>{ARGUMENTS}",
)


@pytest.mark.parametrize("call", FOREIGN)
def test_a_call_in_an_unknown_form_is_a_problem_and_is_not_shown(call: str) -> None:
    for before in ("", "I do it.\n", "I do it. "):
        for pieces in ((before + call,), tuple(before + call)):
            shown, reading = read(*pieces)
            assert (shown, reading.wanted) == (before.strip(), ())
            assert len(reading.problems) == 1


@pytest.mark.parametrize("call", [*FOREIGN, minimax(MINIMAX_CALL)])
def test_a_call_of_a_model_without_tools_is_not_shown(call: str) -> None:
    reader = PromptedReader({})
    shown = [reader.feed(char) for char in f"It is on.\n{call}"]
    assert "".join([*shown, reader.close().text]).strip() == "It is on."


@pytest.mark.parametrize(
    "text",
    [
        "The token <|tool_call_begin|> starts a call.",
        "Models write <|tool_call_begin|>, then a name.",
        "See <|placeholder|> and <s> and [e] there.",
        "Write a]b and [c] or ]<- so.",
    ],
)
def test_prose_about_tokens_is_shown(text: str) -> None:
    for pieces in ((text,), tuple(text)):
        shown, reading = read(*pieces)
        assert (shown, reading.wanted, reading.problems) == (text, (), ())


def test_the_end_of_a_call_alone_is_left_out() -> None:
    assert read(*"It is on.<|tool_calls_section_end|>")[0] == "It is on."


def test_shapes_have_names_of_their_own() -> None:
    for one, other in itertools.combinations(SHAPES, 2):
        assert one.name != other.name
    assert ARGUMENTS in OBJECT
