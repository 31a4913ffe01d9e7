import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import TransientProviderError
from agent.providers.answer import AnswerBuilder
from agent.providers.program.output import MAX_COMPLAINT_CHARS, OutputReader, reader_of
from agent.providers.service_json import WireError
from agent.providers.settings import ProgramComplaints, ProgramOutput, ProgramSettings
from agent.providers.sse import MAX_EVENT_BYTES
from agent.providers.wire import ToldError
from tests.fakes.scripted_program import DOCUMENT, LINES, deltas, document, done, lines

TEXT = "Gern! 好的 💡\nzwei"


def reader(output: ProgramOutput, **failures: tuple[str, ...]) -> OutputReader:
    complaints = ProgramComplaints(**failures)
    return reader_of(ProgramSettings(command=("x",), output=output, failures=complaints))


def read(output: ProgramOutput, stream: bytes, size: int = 0) -> tuple[str, AnswerBuilder]:
    one, answer = reader(output), AnswerBuilder("program", "m")
    pieces = [stream[at : at + size] for at in range(0, len(stream), size)] if size else [stream]
    shown = [one.feed(piece, answer) for piece in pieces]
    if not answer.is_closed:
        shown.append(one.close(answer))
    answer.end()
    assert answer.response(10).text == "".join(shown)
    return "".join(shown), answer


@pytest.mark.parametrize("size", [0, 1, 5])
@pytest.mark.parametrize(
    ("output", "stream"),
    [
        (ProgramOutput(), f"\n\x1b[1m{TEXT}\x1b[0m\n\n".encode()),
        (DOCUMENT, document(TEXT)),
        (LINES, lines(*deltas(TEXT, 3), done())),
        (LINES, b"starting up ...\n" + lines({"type": "other"}, *deltas(TEXT), done())),
        (ProgramOutput(form="jsonl", answer="text"), lines({"text": TEXT})),
    ],
    ids=["text", "document", "lines", "lines among others", "one line"],
)
def test_the_answer_is_the_same_however_it_is_cut(
    output: ProgramOutput, stream: bytes, size: int
) -> None:
    assert read(output, stream, size)[0] == TEXT


@given(st.text(), st.integers(1, 9))
def test_any_text_is_an_answer_without_its_edges(text: str, size: int) -> None:
    whole = read(ProgramOutput(), text.encode(errors="replace"))[0]
    assert read(ProgramOutput(), text.encode(errors="replace"), size)[0] == whole
    assert whole == whole.strip()


def test_text_is_shown_as_it_comes_but_for_its_last_line_ends() -> None:
    one, answer = reader(ProgramOutput()), AnswerBuilder()
    assert one.feed(b"one\n", answer) == "one"
    assert one.feed(b"two", answer) == "\ntwo"


KIRO = ProgramOutput(mark="> ", leave_out=("^\u25b8 (Credits|Time):", "^Loading"))


@pytest.mark.parametrize("size", [0, 1, 2, 7])
@pytest.mark.parametrize(
    ("printed", "text"),
    [
        (
            "\x1b[38m> \x1b[0mone\ntwo\n\n \u25b8 x\n\u25b8 Credits: 0.2 \u2022 Time: 3s\n",
            "one\ntwo\n\n \u25b8 x",
        ),
        ("Loading ...\n> one\n> quoted", "one\n> quoted"),
        ("one\n\u25b8 Time: 3s", "one"),
        (">", ">"),
        ("> ", ""),
        ("\n> <tool_call>\n{}", "<tool_call>\n{}"),
        ("Loading", ""),
    ],
)
def test_marks_and_lines_for_people_are_no_part_of_an_answer(
    printed: str, text: str, size: int
) -> None:
    assert read(KIRO, printed.encode(), size)[0] == text


def test_a_line_that_is_left_out_is_never_shown() -> None:
    one, answer = reader(KIRO), AnswerBuilder()
    assert one.feed("> one\n\u25b8 Cre".encode(), answer) == "one"
    assert one.feed(b"dits: 1\ntwo\n", answer) == "\ntwo"


def test_a_text_that_may_be_a_complaint_is_held_back_until_it_is_too_long_for_one() -> None:
    one, answer = reader(ProgramOutput(), busy=("^Sorry",)), AnswerBuilder()
    assert one.feed(b"x" * MAX_COMPLAINT_CHARS, answer) == ""
    assert one.feed(b"y", answer) == "x" * MAX_COMPLAINT_CHARS + "y"
    assert one.feed(b"z", answer) == "z"


def test_tokens_are_counted_where_they_are_told() -> None:
    usage = read(LINES, lines(*deltas(TEXT), done()))[1].usage
    assert (usage.input_tokens, usage.output_tokens) == (90, 12)
    odd = done() | {"usage": {"input": -1, "output": "many"}}
    assert read(LINES, lines(*deltas(TEXT), odd))[1].usage.output_tokens == 0


def test_lines_without_their_end_were_cut() -> None:
    with pytest.raises(TransientProviderError, match="broke off, in the middle of the answer"):
        read(LINES, lines(*deltas(TEXT)))
    assert read(ProgramOutput(form="jsonl", delta="text"), lines(*deltas(TEXT)))[0] == TEXT


def test_of_several_whole_answers_the_last_counts_and_pieces_go_before_them() -> None:
    """An agent tells what it does before it answers; others repeat their pieces as a whole."""
    both = ProgramOutput(
        form="jsonl", answer="whole", delta="[type=delta].text", end="[type=done].type"
    )
    told = ({"whole": "I look it up."}, {"whole": "It is on."})
    assert read(both, lines(*told, done()))[0] == "It is on."
    assert read(both, lines(*deltas(TEXT), {"whole": TEXT}, done()))[0] == TEXT
    without_end = ProgramOutput(form="jsonl", answer="whole")
    assert read(without_end, lines(*told))[0] == "It is on."


def test_nothing_counts_after_the_end() -> None:
    stream = lines(*deltas("yes"), done(), *deltas("no"), {"type": "error", "message": "x"})
    assert read(LINES, stream)[0] == "yes"


@pytest.mark.parametrize(
    ("output", "stream", "told"),
    [
        (DOCUMENT, document("overloaded", failed=True), "overloaded"),
        (LINES, lines(*deltas(TEXT), {"type": "error", "message": "overloaded"}), "overloaded"),
    ],
)
def test_an_error_is_told_as_one(output: ProgramOutput, stream: bytes, told: str) -> None:
    with pytest.raises(ToldError) as caught:
        read(output, stream)
    assert caught.value.body == told


@pytest.mark.parametrize(
    ("output", "stream", "said"),
    [
        (ProgramOutput(), bytes(range(128, 256)) * 4, "no text"),
        (DOCUMENT, b"not JSON at all", "not JSON"),
        (DOCUMENT, b"", "not JSON"),
        (DOCUMENT, b"[" * 100_000, "nested deeper"),
        (DOCUMENT, b'{"failed": false, "result": ["a"]}', "list where the answer should be"),
        (LINES, b'{"type": "delta", "text": {"a": 1}}\n', "dict where the answer should be"),
        (LINES, b'{"type": "delta", "te\n', "not JSON"),
    ],
)
def test_what_is_of_another_form_is_refused(
    output: ProgramOutput, stream: bytes, said: str
) -> None:
    with pytest.raises(WireError, match=said):
        read(output, stream)


def test_an_answer_may_quote_bytes_that_are_no_text() -> None:
    assert "\ufffd" in read(ProgramOutput(), b"the file has \xff\xfe" + b" and words" * 20)[0]


def test_a_line_has_an_end() -> None:
    with pytest.raises(TransientProviderError, match="a line of more than"):
        read(LINES, b'{"text": "' + b"x" * MAX_EVENT_BYTES)


def test_colours_in_json_are_removed_too() -> None:
    stream = json.dumps({"failed": False, "result": "\x1b[31mred\x1b[0m \ud83d"}).encode()
    assert read(DOCUMENT, stream)[0] == "red \ufffd"
