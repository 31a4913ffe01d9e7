"""Writing to files in a person's own words."""

import pytest

from tests.providers.offline.talk import Talk, outcome


@pytest.mark.parametrize(
    ("said", "path", "content"),
    [
        ("write hello world to notes.txt", "notes.txt", "hello world"),
        ("please write 'Hello, World!' into logs/a.txt", "logs/a.txt", "Hello, World!"),
        ("write to notes.txt: turn on the pump", "notes.txt", "turn on the pump"),
        ("把你好写到notes.txt", "notes.txt", "你好"),
        ("在notes.txt里写你好", "notes.txt", "你好"),
        ("notes.txtに「やあ」と書いて", "notes.txt", "やあ"),
        ("notes.txt에 안녕 써줘", "notes.txt", "안녕"),
        ("Schreib Guten Tag in notizen.txt", "notizen.txt", "Guten Tag"),
        ("Escribe Hola a todos en notas.txt", "notas.txt", "Hola a todos"),
    ],
)
async def test_what_is_written_is_what_was_said(said: str, path: str, content: str) -> None:
    wanted = f"file_write path={path} content={content}"
    assert outcome(await Talk().say(said)) == wanted


@pytest.mark.parametrize(
    "said", ["don't write hello to notes.txt", "how do I write to notes.txt?", "delete notes.txt"]
)
async def test_what_is_no_order_to_write_writes_nothing(said: str) -> None:
    response = await Talk().say(said)
    assert "file_write" not in outcome(response)


async def test_a_text_that_is_missing_is_asked_for() -> None:
    talk = Talk()
    assert (await talk.say("write to notes.txt")).text == "What should “text” be?"
    wanted = "file_write path=notes.txt content=Buy milk, please"
    assert outcome(await talk.say("Buy milk, please")) == wanted
