"""The pieces of an answer that grows: nothing is told twice, and nothing is taken back."""

import asyncio

import pytest

from agent.gateway.assistants.pending import AnswerPieces, PendingAnswer, PendingAnswers


def pieces_of(*growth: str, end: str) -> list[str]:
    pending, pieces = PendingAnswer("a"), AnswerPieces()
    told = []
    for text in growth:
        pending.grow(text)
        told.append(pieces.next(pending))
    pending.end(end)
    return [*told, pieces.next(pending)]


@pytest.mark.parametrize(
    ("growth", "end", "told"),
    [
        (("He", "Hello"), "Hello you", ["He", "llo", " you"]),
        ((), "all at once", ["all at once"]),
        # What was announced before a tool is not in the answer any more
        (
            ("Let me look.", "It is"),
            "It is 21 degrees",
            ["Let me look.", "", "\n\nIt is 21 degrees"],
        ),
        (("whole",), "whole", ["whole", ""]),
    ],
)
def test_a_stream_has_each_word_once(growth: tuple[str, ...], end: str, told: list[str]) -> None:
    assert pieces_of(*growth, end=end) == told


def test_a_note_comes_before_the_answer_or_after_it_never_in_between() -> None:
    before, after = PendingAnswer("a"), PendingAnswer("a")
    pieces = AnswerPieces()
    before.note("the kettle is done")
    before.grow("It is")
    assert pieces.next(before) == "the kettle is done\n\nIt is"
    pieces = AnswerPieces()
    after.grow("It is")
    told = pieces.next(after)
    after.note("the kettle is done")
    after.grow("It is late")
    told += pieces.next(after)
    after.end("It is late.")
    assert told + pieces.next(after) == "It is late.\n\nthe kettle is done"


def test_the_first_end_counts_and_nothing_grows_after_it() -> None:
    pending = PendingAnswer("a")
    pending.end("one")
    pending.end("two")
    pending.grow("three")
    assert pending.text == "one"
    assert not pending.note("too late")


def test_an_answer_is_forgotten_when_nobody_waits_for_it() -> None:
    answers = PendingAnswers()
    with answers.waiting("1", "a") as first, answers.waiting("1", "a") as second:
        assert first is second
        assert len(answers) == 2
    assert answers.find("1") is None


async def test_a_change_wakes_all_who_wait_and_none_is_a_timeout() -> None:
    pending = PendingAnswer("a")
    assert not await pending.change(0.01)
    waiting = [asyncio.ensure_future(pending.change(30.0)) for _ in range(2)]
    # Their first steps
    await asyncio.sleep(0)
    pending.grow("x")
    assert await asyncio.gather(*waiting) == [True, True]
