from pathlib import Path

import pytest

from agent.channels.email.inbound import ReceivedEmail
from agent.channels.email.threads import EmailThreads, thread_mark

ROOT = "<root@example.org>"


def letter(message_id: str, *references: str) -> ReceivedEmail:
    return ReceivedEmail(message_id, "a@b.org", "", "pump", "on", "", references, ())


@pytest.fixture
async def threads(tmp_path: Path) -> EmailThreads:
    threads = EmailThreads(tmp_path / "letters.json")
    first = letter(ROOT)
    await threads.note(first, await threads.thread(first))
    await threads.save()
    return threads


def ours(thread: str) -> str:
    return f"<barnacle.question.ab3d.17{thread_mark(thread)}@example.org>"


async def test_a_letter_that_answers_nothing_begins_one(threads: EmailThreads) -> None:
    assert await threads.thread(letter("<2@example.org>")) == "<2@example.org>"


async def test_whoever_names_only_our_letter_is_in_its_thread(threads: EmailThreads) -> None:
    assert await threads.thread(letter("<2@example.org>", ours(ROOT))) == ROOT


async def test_whoever_names_only_the_letter_before_is_in_its_thread(threads: EmailThreads) -> None:
    second = letter("<2@example.org>", ours(ROOT))
    await threads.note(second, await threads.thread(second))
    assert await threads.thread(letter("<3@example.org>", "<2@example.org>")) == ROOT


async def test_a_list_that_was_shortened_from_the_front_loses_no_thread(
    threads: EmailThreads,
) -> None:
    assert await threads.thread(letter("<2@b.org>", "<x@b.org>", ours(ROOT))) == ROOT


async def test_an_answer_to_what_nobody_asked_for_is_in_its_thread(threads: EmailThreads) -> None:
    told = ours("")
    assert await threads.thread(letter("<2@example.org>", told)) == told


@pytest.mark.usefixtures("threads")
async def test_a_restart_forgets_no_thread(tmp_path: Path) -> None:
    again = EmailThreads(tmp_path / "letters.json")
    assert await again.thread(letter("<2@example.org>", ours(ROOT))) == ROOT


async def test_what_an_earlier_version_kept_is_read(tmp_path: Path) -> None:
    kept = '{"<2@b.org>":{"subject":"pump","references":["<root@example.org>"]}}'
    (tmp_path / "letters.json").write_text(kept)
    again = EmailThreads(tmp_path / "letters.json")
    assert await again.thread(letter("<3@b.org>", "<2@b.org>")) == ROOT
