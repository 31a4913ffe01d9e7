import itertools
import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.messages import Effect
from agent.providers.answer import MAX_CALLS
from agent.providers.prompted.calls import WantedCall
from agent.providers.prompted.reader import AnswerReading, PromptedReader
from tests.fakes.said import spec_of

_PIN = {"type": "object", "properties": {"pin": {"type": "string"}, "count": {"type": "integer"}}}
OFFERED = {
    name: spec_of(name, "", _PIN, Effect.READ) for name in ("time_now", "gpio_write", "file_write")
}
LED = WantedCall("gpio_write", '{"pin": "led"}')
NO_ARGUMENTS = WantedCall("time_now", "{}")
OBJECT = '{"name":"gpio_write","arguments":{"pin":"led"}}'
CALL = f"<tool_call>{OBJECT}</tool_call>"
# Some models put their maker's name before each mark
MAKER = "antml:"


def named(prefix: str = "", indent: str = "") -> str:
    """A call with a mark for each argument."""
    return (
        f'{indent}<{prefix}invoke name="gpio_write">\n'
        f'{indent}<{prefix}parameter name="pin">led</{prefix}parameter>\n'
        f"{indent}</{prefix}invoke>"
    )


def read(*pieces: str) -> tuple[str, AnswerReading]:
    """All that was shown, and what the answer came to."""
    reader = PromptedReader(OFFERED)
    shown = [reader.feed(piece) for piece in pieces]
    reading = reader.close()
    return "".join([*shown, reading.text]), reading


FORMS = [
    CALL,
    f"<tool_call>\n{OBJECT}\n</tool_call>\n",
    f"<toolcall>{OBJECT}</toolcall>",
    f"<tool-call>{OBJECT}</tool_call>",
    f"<TOOL_CALL>{OBJECT}</TOOL_CALL>",
    f"<function_call>{OBJECT.replace('arguments', 'parameters')}</function_call>",
    '<tool_call>{"function":{"name":"gpio_write","arguments":"{\\"pin\\":\\"led\\"}"}}</tool_call>',
    f"<tool_call>[{OBJECT}]</tool_call>",
    f"<tool_call>```json\n{OBJECT}\n```</tool_call>",
    '<tool_call>gpio_write\n{"pin":"led"}\n</tool_call>',
    "<tool_call>gpio_write\n<arg_key>pin</arg_key>\n<arg_value>led</arg_value>\n</tool_call>",
    f"<tool_call>{named()}</tool_call>",
    f"<tool_call><tool_call>{OBJECT}</tool_call></tool_call>",
    "<tool_call>\n<function=gpio_write>\n<parameter=pin>\nled\n</parameter>\n</function>\n</tool_call>",
    '<function=gpio_write>{"pin":"led"}</function>',
    named(),
    '<invoke name="gpio_write"><pin>led</pin></invoke>',
    '<invoke name="gpio_write">{"pin":"led"}</invoke>',
    '<invoke name="gpio_write" pin="led"/>',
    '<tool_call name="gpio_write" args=\'{"pin":"led"}\' />',
    '<tool_call name="gpio_write">{"pin":"led"}</tool_call>',
    f"<minimax:tool_call>\n{named()}\n</minimax:tool_call>",
    f"<{MAKER}function_calls>\n{named(MAKER, '    ')}\n</{MAKER}function_calls>",
    f"<tool_calls>{CALL}</tool_calls>",
    f"```tool_call\n{OBJECT}\n```",
    f"```tool_call\n{CALL}\n```\n",
    # Nothing else in the answer
    OBJECT,
    f"[{OBJECT}]",
    f"```json\n{OBJECT}\n```",
    f"```\n{OBJECT}\n```\n",
    f"```xml\n{CALL}\n```",
    'gpio_write\n{"pin": "led"}',
    # As models misspell it
    "<tool_call>{'name': 'gpio_write', 'arguments': {'pin': 'led',},}</tool_call>",
    "<tool_call>{name: 'gpio_write', arguments: {pin: \"led\"}}</tool_call>",
    '<tool_call>{"name":"gpio_write","arguments":{"pin":"led"}</tool_call>',
    '<tool_call>{"name":"gpio_write","arguments":{"pin":"led"</tool_call>',
    f"<tool_call>{OBJECT}}}</tool_call>",
    # Without the mark at its end, but whole
    f"<tool_call>{OBJECT}",
    f"<tool_call>{OBJECT}\n",
    # After thoughts
    f"<think>time_now or not</think>{CALL}",
    f"<think>{CALL.replace('led', 'other')}</think>\n\n{OBJECT}",
    f"I could do {CALL.replace('led', 'other')}</think>{CALL}",
]


@pytest.mark.parametrize("text", FORMS)
def test_a_call_is_found_in_every_form_that_models_write(text: str) -> None:
    _, reading = read(text)
    assert (reading.wanted, reading.problems) == ((LED,), ())


@pytest.mark.parametrize("text", FORMS)
def test_a_call_and_a_thought_are_never_shown(text: str) -> None:
    shown, _ = read(*text)
    assert shown in {"", "I could do "} or shown.strip() == "I could do"


def test_text_around_calls_is_kept() -> None:
    shown, reading = read(f"Let me look. {CALL}\nAnd then the other.\n{CALL}\n")
    assert shown.split() == ["Let", "me", "look.", "And", "then", "the", "other."]
    assert reading.wanted == (LED, LED)


def test_a_call_without_arguments_needs_none() -> None:
    assert read('<tool_call>{"name":"time_now"}</tool_call>')[1].wanted == (NO_ARGUMENTS,)
    assert read("<tool_call>time_now</tool_call>")[1].wanted == (NO_ARGUMENTS,)
    assert read('<invoke name="time_now"></invoke>')[1].wanted == (NO_ARGUMENTS,)


def test_arguments_in_marks_become_what_the_schema_asks_for() -> None:
    text = (
        '<invoke name="gpio_write"><parameter name="pin">12</parameter>'
        '<parameter name="count">12</parameter></invoke>'
    )
    (wanted,) = read(text)[1].wanted
    assert json.loads(wanted.arguments_json) == {"pin": "12", "count": 12}


def test_marks_inside_the_arguments_are_only_text() -> None:
    content = f"a </tool_call> and {CALL} in a file"
    body = json.dumps({"name": "file_write", "arguments": {"content": content}})
    (wanted,) = read(f"<tool_call>{body}</tool_call>")[1].wanted
    assert json.loads(wanted.arguments_json) == {"content": content}


QUOTED = [
    f"You would write it so:\n\n```\n{CALL}\n```\nand wait.",
    f"You would write it so:\n```xml\n{CALL}\n```",
    f"You would write it so:\n```json\n{OBJECT}\n```",
    f"```json\n{OBJECT}\n```\nis how it is done.",
    f"````md\n```tool_call\n{OBJECT}\n```\n````\n",
    f"~~~\n{CALL}\n~~~\nso",
    f"```\nnot closed {CALL}",
    f"Write `{CALL}` in one line.",
    f"Write ``x {CALL}`` in one line.",
    f'He wrote "{CALL}" to me.',
    f"He wrote “{CALL}” to me.",
    f"> {CALL}\nis what you sent",
    f"As code:\n\n    {CALL}\n",
    f"It is {OBJECT} then.",
    f"{OBJECT} is the call.",
    'time_now\n{"a": 1} is the call.',
    "```python\nprint(1)\n```",
    '{"name":"nobody_offered_this","arguments":{}}',
    '{"name":"gpio_write","arguments":{},"note":"an example"}',
    '{"name":"gpio_write"}',
    "[1, 2, 3]",
    "[ ] buy milk",
    '{"open": ',
]


@pytest.mark.parametrize("text", QUOTED)
def test_a_quoted_call_is_text(text: str) -> None:
    shown, reading = read(text)
    assert (shown, reading.wanted, reading.problems) == (text, (), ())


@pytest.mark.parametrize(
    "text",
    [
        "<tool_call>this is no call</tool_call>",
        '<tool_call>{"arguments":{}}</tool_call>',
        '<tool_call>{"name":"gpio_write","arguments":[1]}</tool_call>',
        '<tool_call>{"name":"gpio_write","arguments":{"pin":"it"s"}}</tool_call>',
        "<tool_call>{'name': 'it's'}</tool_call>",
        '<tool_call>{"name":"a","name":"b"}</tool_call>',
        '<tool_call>{"name":"gpio_write","arguments":{"pin":</tool_call>',
        '<tool_call>{"name":"gpio_write","arguments":{"pin":"led",</tool_call>',
        '<tool_call>{"name":"gpio_write","arguments":{"count":[1</tool_call>',
        "<invoke>x</invoke>",
        '<invoke name="gpio_write">what</invoke>',
        '<tool_call>{"name":"gpio_write","arguments":' + "[" * 99 + "</tool_call>",
    ],
)
def test_what_cannot_be_read_is_a_problem_and_no_call(text: str) -> None:
    shown, reading = read(text)
    assert (reading.wanted, bool(reading.problems), shown) == ((), True, "")


@pytest.mark.parametrize(
    "text",
    [
        f"<tool_call>{OBJECT}</tool_call>",
        named(),
        '<tool_call name="gpio_write" args=\'{"pin":"led"}\'/>',
        "<tool_call>gpio_write\n<arg_key>pin</arg_key>\n<arg_value>led</arg_value>\n</tool_call>",
        f"```tool_call\n{OBJECT}\n```",
        f"```json\n{OBJECT}\n```",
        'gpio_write\n{"pin":"led"}',
        f"[{OBJECT}]",
    ],
)
def test_a_call_that_is_cut_anywhere_never_runs_with_less_than_was_written(text: str) -> None:
    for end in range(len(text)):
        _, reading = read(text[:end])
        assert reading.wanted in {(), (LED,)}, text[:end]
        if reading.wanted:
            assert reading.is_cut or text[:end].rstrip("`\n").endswith(("}", "]", ">"))


def test_a_call_without_its_end_says_that_it_may_be_cut() -> None:
    assert read(f"<tool_call>{OBJECT}")[1].is_cut
    assert not read(CALL)[1].is_cut


def test_thoughts_without_an_end_hide_the_rest() -> None:
    shown, reading = read("Hm. <think>and now", " on and on ", CALL)
    assert (shown.rstrip(), reading.wanted) == ("Hm.", ())


def test_results_that_the_model_made_up_are_left_out_with_all_after_them() -> None:
    shown, reading = read(f"{CALL}<tool_result>12 V</tool_result>It is 12 V.{CALL}")
    assert (shown, reading.wanted) == ("", (LED,))


def test_more_calls_than_anybody_makes_are_a_problem() -> None:
    _, reading = read(CALL * (MAX_CALLS + 1))
    assert reading.problems


def test_the_mark_that_some_models_end_with_is_left_out() -> None:
    assert read("It is 12 V.<eom>")[0] == "It is 12 V."


_PIECES = st.sampled_from(
    [
        *("<tool_call>", "</tool_call>", OBJECT, "<think>", "</think>", "`", "```", "```json\n"),
        *("\n", " ", "    ", "> ", '"', "<", "</", "<tool", "_call>", "{", "}", "[", "~~~", "\r"),
        *('<invoke name="time_now">', "</invoke>", "<tool_result>", "time_now", "it is warm", "é"),
        *("<function_calls>", "</function_calls>", "```tool_call\n", "\t", "<arg_key>", "'", "'a'"),
    ]
)
MARKED = st.lists(_PIECES, max_size=14).map("".join)


@given(MARKED, st.lists(st.integers(0, 400), max_size=6))
def test_every_text_comes_to_the_same_wherever_it_is_split(text: str, cuts: list[int]) -> None:
    places = sorted({min(cut, len(text)) for cut in cuts})
    bounds = [0, *places, len(text)]
    pieces = [text[a:b] for a, b in itertools.pairwise(bounds)]
    wanted = read(text)
    for split in (pieces, list(text)):
        shown, reading = read(*split)
        assert shown == wanted[0]
        assert reading.wanted == wanted[1].wanted
        assert reading.problems == wanted[1].problems


@given(st.text(alphabet=st.characters(exclude_characters="<[◁"), max_size=200))
def test_text_without_a_mark_comes_out_as_it_went_in(text: str) -> None:
    shown, reading = read(*text)
    if not reading.wanted and not reading.problems:
        assert shown == text
    else:
        # Without marks only these are calls
        assert "tool" in text or "{" in text


@given(st.lists(st.sampled_from(["a < b", "<b>", "`x`", "\n", "* ", "<tool", "```\n"])))
def test_other_marks_than_those_of_calls_come_out_as_they_went_in(parts: list[str]) -> None:
    text = " ".join(parts)
    assert read(*text)[0] == text


HOSTILE = [
    "<tool_call>",
    "</tool_call>",
    "<tool_call></tool_call>",
    "<tool_call>{",
    '<tool_call>{"a":"',
    '<tool_call>{"a":"</tool_call>',
    "<think>",
    "<think></think>",
    "<think><",
    "<",
    "</",
    "<tool_call ",
    "<invoke name=",
    '<invoke name="time_now"><parameter name="a">',
    "`",
    "``` ",
    "```\n",
    "```tool_call\n",
    "{",
    "[",
    "[{",
    " ",
    "\n",
    "'\\",
    "time_now",
    "<tool_call>[1,",
    "<tool_result>",
    "<function_calls>",
    "~",
    "}",
    "]",
    "]<]minimax[>[",
    "]<]minimax[>[<a>",
    "<|tool_call|>",
    "<|tool_call|>{",
]


def taken_s(unit: str, size: int) -> float:
    text = unit * (size // len(unit))
    begun_s = time.process_time()
    read(*(text[place : place + 50] for place in range(0, size, 50)))
    return time.process_time() - begun_s


@pytest.mark.parametrize("unit", HOSTILE)
def test_the_time_to_read_anything_grows_with_its_length(unit: str) -> None:
    # Ten times the text; a reader that looks back would take a hundred times as long
    assert taken_s(unit, 100_000) < 35 * max(taken_s(unit, 10_000), 0.01)


def test_a_megabyte_of_beginnings_of_calls_takes_ten_times_a_tenth_of_it() -> None:
    assert taken_s("<tool_call>", 1_000_000) < 35 * max(taken_s("<tool_call>", 100_000), 0.01)
