import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import ContextOverflow, ProviderRefused, TransientProviderError
from agent.messages import ToolCall
from agent.providers.answer import MAX_ANSWER_BYTES, MAX_CALLS, AnswerBuilder
from agent.providers.base import ChatResponse, StopReason, Usage
from agent.providers.completions.wire import (
    CallPart,
    CompletionsChoice,
    CompletionsChunk,
    CompletionsMessage,
    CompletionsTokenCount,
    FunctionPart,
    TextPart,
    take,
)

MAX_TOKENS = 100


def said(text: str | None = None, *calls: CallPart, finish: str | None = None) -> CompletionsChunk:
    return CompletionsChunk(
        [
            CompletionsChoice(
                0, CompletionsMessage(text, tool_calls=[*calls] or None), finish_reason=finish
            )
        ]
    )


def part(
    index: int | None, name: str | None, arguments: str | dict[str, object], call_id: str | None
) -> CallPart:
    return CallPart(index, call_id, FunctionPart(name, arguments))


@pytest.mark.parametrize("module", ["functions.", "default_api.", ""])
def test_the_module_before_a_tools_name_is_left_out(module: str) -> None:
    answer = answer_of(said(None, part(0, f"{module}gpio_write", "{}", "c"), finish="tool_calls"))
    assert [call.name for call in answer.tool_calls] == ["gpio_write"]


def answer_of(*chunks: CompletionsChunk) -> ChatResponse:
    answer = AnswerBuilder()
    for chunk in chunks:
        take(chunk, answer)
    return answer.response(MAX_TOKENS)


def calls_of(*parts: CallPart) -> tuple[ToolCall, ...]:
    return answer_of(*(said(None, one) for one in parts), said(finish="tool_calls")).tool_calls


def test_blanks_come_with_the_first_word_or_not_at_all() -> None:
    answer = AnswerBuilder()
    shown = [take(said(text), answer) for text in ("\n", "\n  ", "Hi", " ", "you")]
    assert shown == ["", "", "\n\n  Hi", " ", "you"]
    assert answer.response(MAX_TOKENS).text == "\n\n  Hi you"
    assert answer_of(said("\n\n"), said(finish="stop")).text == ""
    (call,) = answer_of(said("\n\n", part(0, "a", "{}", "c"), finish="tool_calls")).tool_calls
    assert call.name == "a"


def test_text_is_handed_on_and_kept() -> None:
    answer = AnswerBuilder()
    shown = [
        take(chunk, answer)
        for chunk in (said("Hel"), said(None), said("lo"), said("", finish="stop"))
    ]
    assert shown == ["Hel", "", "lo", ""]
    assert answer.response(MAX_TOKENS) == ChatResponse("Hello", (), StopReason.END)


def test_token_count_comes_from_the_last_chunk_and_is_never_negative() -> None:
    counted = CompletionsChunk([], CompletionsTokenCount(12, 3))
    assert answer_of(said("x", finish="stop"), counted).usage == Usage(12, 3)
    assert (
        answer_of(said("x", finish="stop"), CompletionsChunk(None, CompletionsTokenCount(-1))).usage
        == Usage()
    )


def test_calls_are_assembled_by_index_though_their_pieces_are_mixed() -> None:
    calls = calls_of(
        part(0, "first", "", "a"),
        part(1, "second", "", "b"),
        part(1, None, '{"y":', None),
        part(0, None, '{"x":1', None),
        part(1, None, "2}", None),
        part(0, None, "}", None),
    )
    assert calls == (ToolCall("a", "first", '{"x":1}'), ToolCall("b", "second", '{"y":2}'))


def test_services_that_number_no_call() -> None:
    calls = calls_of(part(None, "first", "{}", "a"), part(None, "second", "{}", "b"))
    assert [call.name for call in calls] == ["first", "second"]
    nameless = calls_of(part(None, "same", "{}", None), part(None, "same", "{}", None))
    assert [call.name for call in nameless] == ["same", "same"]


def test_services_that_number_all_calls_alike() -> None:
    calls = calls_of(
        part(0, "first", "{", "a"), part(0, None, "}", None), part(0, "second", "{}", "b")
    )
    assert calls == (ToolCall("a", "first", "{}"), ToolCall("b", "second", "{}"))


def test_services_that_repeat_name_and_id_in_every_piece() -> None:
    assert calls_of(part(0, "one", "{", "a"), part(0, "one", "}", "a")) == (
        ToolCall("a", "one", "{}"),
    )
    # The id may also come late
    assert calls_of(part(0, "one", "{", None), part(0, "one", "}", "a")) == (
        ToolCall("a", "one", "{}"),
    )


def test_services_that_send_arguments_as_an_object() -> None:
    (call,) = calls_of(part(0, "one", {"pin": "灯"}, "a"))
    assert call.arguments_json == '{"pin":"灯"}'


def test_calls_without_usable_ids_get_their_own() -> None:
    calls = calls_of(
        part(0, "a", "{}", "0"),
        part(1, "b", "{}", "0"),
        part(2, "c", "{}", None),
        part(3, "d", "{}", "two words"),
        part(4, "e", "{}", "x" * 500),
    )
    ids = [call.call_id for call in calls]
    assert ids[0] == "0"
    assert len(set(ids)) == 5
    assert all(call_id.startswith("call_") for call_id in ids[1:])


def test_names_are_made_such_that_every_service_takes_them_back() -> None:
    calls = calls_of(
        part(0, "board.gpio/write\x00", "{}", "a"),
        part(1, "n" * 500, "{}", "b"),
        CallPart(2, "c", None),
    )
    assert [call.name for call in calls] == ["board_gpio_write_", "n" * 64, "unnamed"]


def test_wrong_arguments_are_the_tools_to_refuse() -> None:
    assert calls_of(part(0, "one", "{not json", "a"))[0].arguments_json == "{not json"


def test_whole_calls_with_one_number_and_no_ids_are_told_apart() -> None:
    one, other = part(0, "lamp", '{"on":true}', ""), part(0, "pump", '{"on":false}', None)
    said_of = [(call.name, call.arguments_json) for call in calls_of(one, other)]
    assert said_of == [("lamp", '{"on":true}'), ("pump", '{"on":false}')]
    together = answer_of(said(None, one, other, one, finish="tool_calls")).tool_calls
    assert [call.name for call in together] == ["lamp", "pump", "lamp"]
    assert len({call.call_id for call in together}) == 3


def test_a_name_that_comes_with_each_piece_begins_no_other_call() -> None:
    pieces = [part(0, "lamp", piece, "") for piece in ('{"a":', '{"b":1}', "}", "")]
    (call,) = calls_of(*pieces)
    assert call.arguments_json == '{"a":{"b":1}}'


@pytest.mark.parametrize(
    ("finish", "stop"),
    [
        ("stop", StopReason.END),
        ("eos", StopReason.END),
        ("length", StopReason.LENGTH),
        ("content_filter", StopReason.REFUSED),
        ("tool_calls", StopReason.TOOLS),
        ("function_call", StopReason.TOOLS),
        # Mistral and GLM
        ("model_length", StopReason.LENGTH),
        ("model_context_window_exceeded", StopReason.LENGTH),
        ("sensitive", StopReason.REFUSED),
    ],
)
def test_reasons_for_stopping(finish: str, stop: StopReason) -> None:
    assert answer_of(said("x", finish=finish)).stop is stop


@pytest.mark.parametrize(
    "finish",
    # OpenRouter and Mistral, DeepSeek, GLM, SGLang
    ["error", "insufficient_system_resource", "network_error", "abort"],
)
def test_an_answer_that_the_service_broke_off_is_never_a_whole_one(finish: str) -> None:
    with pytest.raises(TransientProviderError, match=f"in the middle of the answer .{finish}"):
        answer_of(said("The lamp is"), said(finish=finish))
    with pytest.raises(TransientProviderError, match="in the middle of the call to all_off"):
        answer_of(said(None, part(0, "all_off", "", "x")), said(finish=finish))


def test_calls_are_a_reason_of_their_own() -> None:
    assert answer_of(said(None, part(0, "a", "{}", "i"), finish="stop")).stop is StopReason.TOOLS


def test_a_refusal_is_told_as_text() -> None:
    refusal = CompletionsChunk(
        [CompletionsChoice(0, CompletionsMessage(refusal="I cannot do that."))]
    )
    response = answer_of(refusal, said(finish="stop"))
    assert (response.text, response.stop) == ("I cannot do that.", StopReason.REFUSED)


def test_a_call_without_the_end_of_the_answer_is_never_returned() -> None:
    with pytest.raises(TransientProviderError, match="in the middle of the call to board_write"):
        answer_of(said("Now "), said(None, part(0, "board_write", '{"a":1}', "x")))


def test_text_without_the_end_of_the_answer_is_returned() -> None:
    assert answer_of(said("Hello")).text == "Hello"


def test_a_call_cut_by_the_token_limit_is_never_returned() -> None:
    cut = part(0, "board_write", '{"pin":"le', "x")
    with pytest.raises(ProviderRefused, match=r"cut after 100 tokens.*provider.max_tokens"):
        answer_of(said(None, cut, finish="length"))
    whole = part(0, "board_write", '{"pin":"led"}', "x")
    assert answer_of(said(None, whole, finish="length")).stop is StopReason.LENGTH


def test_an_answer_with_no_room_for_words_names_the_setting() -> None:
    with pytest.raises(ProviderRefused, match=r"provider\.max_tokens"):
        answer_of(said("", finish="length"))
    assert answer_of(said("Beginning", finish="length")).stop is StopReason.LENGTH


@pytest.mark.parametrize("finish", ["model_length", "model_context_window_exceeded"])
def test_a_full_window_is_a_conversation_that_is_too_long(finish: str) -> None:
    with pytest.raises(ContextOverflow, match="fills the model's window"):
        answer_of(said("", finish=finish))
    with pytest.raises(ContextOverflow, match="fills the model's window"):
        answer_of(said(None, part(0, "board_write", '{"pin":"le', "x"), finish=finish))
    # What was said stays, and the next request is to have more room
    assert answer_of(said("Beginning", finish=finish)).was_shortened
    assert not answer_of(said("Beginning", finish="length")).was_shortened


def test_only_the_first_of_several_answers_counts() -> None:
    second = CompletionsChoice(1, CompletionsMessage("other"), finish_reason="stop")
    assert (
        answer_of(CompletionsChunk([CompletionsChoice(0, CompletionsMessage("mine")), second])).text
        == "mine"
    )


def test_a_whole_document_needs_no_reason_for_stopping() -> None:
    message = CompletionsMessage("done", tool_calls=[part(None, "a", "{}", "i")])
    response = answer_of(CompletionsChunk([CompletionsChoice(message=message)]))
    assert (response.text, len(response.tool_calls)) == ("done", 1)
    assert (
        answer_of(
            CompletionsChunk(
                [CompletionsChoice(message=CompletionsMessage([TextPart("x"), TextPart()]))]
            )
        ).text
        == "x"
    )


def test_choices_without_content_are_skipped() -> None:
    assert answer_of(CompletionsChunk([CompletionsChoice(0)]), said("x", finish="stop")).text == "x"


def test_characters_cut_between_chunks_are_whole_when_shown() -> None:
    answer = AnswerBuilder()
    shown = [take(said(text), answer) for text in ("a\ud83d", "\ude00b", "\ud83d", "x", "\ud83d")]
    assert shown == ["a", "😀b", "", "\ufffdx", ""]
    assert answer.response(MAX_TOKENS).text == "a😀b\ufffdx"


@given(st.lists(st.text(st.characters(categories=["Lu", "Cs", "So", "Nd"]), max_size=4)))
def test_what_was_shown_joined_is_the_answer_and_can_be_stored(texts: list[str]) -> None:
    answer = AnswerBuilder()
    shown = "".join(take(said(text), answer) for text in texts)
    text = answer.response(MAX_TOKENS).text
    assert text == shown
    text.encode()


def test_too_many_calls_are_refused() -> None:
    answer = AnswerBuilder()
    for number in range(MAX_CALLS):
        take(said(None, part(number, "a", "{}", f"i{number}")), answer)
    with pytest.raises(TransientProviderError, match="more than 256 tool calls"):
        take(said(None, part(MAX_CALLS, "a", "{}", "last")), answer)


@pytest.mark.parametrize(
    "chunk", [said("x" * 1000), said(None, part(0, "a", "y" * 1000, "i")), said("灯" * 1000)]
)
def test_an_answer_without_end_is_refused(chunk: CompletionsChunk) -> None:
    with pytest.raises(TransientProviderError, match="longer than 1024 KB"):
        answer_of(*[chunk] * (MAX_ANSWER_BYTES // 1000 + 2))


def test_the_place_of_a_break_is_told() -> None:
    answer = AnswerBuilder()
    assert answer.place() == ""
    take(said("x"), answer)
    assert answer.place() == ", in the middle of the answer"
    take(said(None, CallPart(0, "i", None)), answer)
    assert answer.place() == ", in the middle of the call to a tool"


def test_a_call_that_was_withheld_before_its_arguments_is_never_returned() -> None:
    begun = part(0, "all_off", "", "a")
    answer = answer_of(said("Now.", begun), said(finish="content_filter"))
    assert (answer.text, answer.tool_calls) == ("Now.", ())
    assert answer.stop is StopReason.REFUSED


def test_the_message_so_far_beside_an_addition_does_not_end_the_answer() -> None:
    answer = AnswerBuilder()
    for added, so_far in (("Not ", "Not "), ("yet", "Not yet")):
        choice = CompletionsChoice(0, CompletionsMessage(added), CompletionsMessage(so_far))
        assert take(CompletionsChunk([choice]), answer) == added
    # A connection that is cut here is told, and not taken for the end
    assert not answer.is_ended
    take(said(finish="stop"), answer)
    assert answer.response(MAX_TOKENS).text == "Not yet"
