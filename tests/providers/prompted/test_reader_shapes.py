"""Every template, whole and in pieces; and what only looks like a call."""

import itertools
import json

import pytest

from agent.messages import Effect
from agent.providers.prompted.reader import AnswerReading, PromptedReader
from tests.fakes.call_shapes import ARGUMENTS, OBJECT, PYTHON, SHAPES, Shape
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
    if not any(one in shape.answer for one in ("think", "THINK", "<|e", "<|im_", "end▁of"))
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


def test_shapes_have_names_of_their_own() -> None:
    for one, other in itertools.combinations(SHAPES, 2):
        assert one.name != other.name
    assert ARGUMENTS in OBJECT
