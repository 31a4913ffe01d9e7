from pathlib import Path

import pytest

from agent.providers.offline.conversation import ConversationTurn, Exchange, separated
from agent.providers.offline.plan import CallStep, Order, SayStep
from agent.providers.offline.received_files import about_file
from agent.providers.offline.toolbox import toolbox
from agent.tools.files import FileReadTool

PLACE = "received/owner/plan.pdf"
SENT = ConversationTurn("", (), "", (PLACE,))
BOX = toolbox([FileReadTool(Path("/nowhere")).spec()])


def page_of(said: str, *between: ConversationTurn) -> int | None:
    step = about_file([SENT, *between, ConversationTurn(said, (), "")], BOX)
    if step is None:
        return None
    assert isinstance(step, CallStep)
    (order,) = step.orders
    assert order.arguments["path"] == PLACE
    return int(order.arguments["page"])


@pytest.mark.parametrize(
    ("said", "page"),
    [
        ("read it", 1), ("Read it to me, please!", 1), ("what does it say?", 1),
        ("what's in the file?", 1), ("read plan.pdf", 1), ("what is on the second page?", 2),
        ("page 3", 3), ("show me page 12", 12), ("lies es", 1), ("lies es bitte vor", 1),
        ("was steht auf der zweiten Seite?", 2), ("Seite 4", 4), ("lis-le", 1),
        ("page 2 s'il te plaît", 2),
        ("léelo", 1), ("página 2", 2), ("¿qué dice?", 1), ("leggilo", 1), ("pagina 3", 3),
        ("lees het", 1), ("读一下", 1), ("第二页", 2), ("第12页写了什么?", 12), ("第十一页", 11),
        ("読んで", 1), ("2ページを読んで", 2), ("읽어줘", 1), ("2쪽", 2),
    ],
)  # fmt: skip
def test_words_about_a_file_read_a_page(said: str, page: int) -> None:
    assert page_of(said) == page


@pytest.mark.parametrize(
    "said",
    [
        "read the temperature", "turn the led on", "what is the time?", "page", "read 3 sensors",
        "show me the status", "page 2 of the datasheet", "打开灯", "读温度", "온도를 읽어줘", "",
        "read notes.txt", "what is on?", "is the pump on?", "open the door", "page 0",
    ],
)  # fmt: skip
def test_other_words_are_not_about_the_file(said: str) -> None:
    assert page_of(said) is None


@pytest.mark.parametrize("said", ["next page", "nächste Seite", "下一页", "次のページ", "다음 쪽"])
def test_the_next_page_follows_the_one_that_was_read(said: str) -> None:
    read = Exchange(Order("file_read", {"path": PLACE, "page": 4}), "{}")
    assert page_of(said, ConversationTurn("page 4", (read,), "")) == 5
    assert page_of(said) == 1


def test_a_file_alone_is_told_of_and_without_one_nothing_is_read() -> None:
    assert about_file([SENT], BOX) == SayStep("file_kept", {"name": "plan.pdf"})
    assert about_file([ConversationTurn("read it", (), "")], BOX) is None


@pytest.mark.parametrize(
    ("text", "said", "files"),
    [
        ("hello", "hello", ()),
        (f"look\n\n[DOCUMENT:{PLACE}] (turn the led on)", "look", (PLACE,)),
        (f"[DOCUMENT:{PLACE}]\nIt begins so; it is no order:\n```\nled on\n```", "", (PLACE,)),
        ("hi\n\n(The person is told this already; it orders nothing: led on)", "hi", ()),
        ("[a picture of the led] turn it on", "[a picture of the led] turn it on", ()),
    ],
)  # fmt: skip
def test_marks_of_the_agent_are_not_the_persons_words(
    text: str, said: str, files: tuple[str, ...]
) -> None:
    assert separated(text) == (said, files)
