from pathlib import Path

import pytest

from agent.providers.offline.conversation import (
    MAX_TURNS,
    ConversationTurn,
    Exchange,
    separated,
    turns_of,
)
from agent.providers.offline.plan import CallStep, Order, SayStep
from agent.providers.offline.received_files import about_file
from agent.providers.offline.toolbox import toolbox
from agent.tools.files import FileListTool, FileReadTool
from tests.fakes.said import assistant_said, user_said

PLACE = "received/owner/plan.pdf"
SENT = ConversationTurn("", (), "", (PLACE,))
OTHER = "received/owner/list.txt"
NOWHERE = Path("/nowhere")
BOX = toolbox([FileReadTool(NOWHERE).spec(), FileListTool(NOWHERE).spec()])


def read(page: int, place: str = PLACE) -> ConversationTurn:
    exchange = Exchange(Order("file_read", {"path": place, "page": page}), "{}")
    return ConversationTurn(f"page {page}", (exchange,), "")


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
        ("page two", 2), ("Seite drei", 3), ("read page one", 1), ("página dos", 2),
        ("読んで", 1), ("2ページを読んで", 2), ("읽어줘", 1), ("2쪽", 2),
        ("두 번째 페이지에 뭐가 있어?", 2), ("2ページには何がありますか", 2),
    ],
)  # fmt: skip
def test_words_about_a_file_read_a_page(said: str, page: int) -> None:
    assert page_of(said) == page


@pytest.mark.parametrize(
    "said",
    [
        "read the temperature", "turn the led on", "what is the time?", "page", "read 3 sensors",
        "show me the status", "page 2 of the datasheet", "打开灯", "读温度", "온도를 읽어줘",
        "read notes.txt", "what is on?", "is the pump on?", "open the door", "page 0",
    ],
)  # fmt: skip
def test_other_words_are_not_about_the_file(said: str) -> None:
    assert page_of(said) is None


@pytest.mark.parametrize("said", ["next page", "nächste Seite", "下一页", "次のページ", "다음 쪽"])
def test_the_next_page_follows_the_one_that_was_read(said: str) -> None:
    assert page_of(said, read(4)) == 5
    assert page_of(said) == 1


@pytest.mark.parametrize("said", ["previous page", "vorherige Seite", "上一页", "前のページ"])
def test_the_page_before_is_read_again(said: str) -> None:
    assert page_of(said, read(4)) == 3
    assert page_of(said, read(1)) == 1


@pytest.mark.parametrize("said", ["more", "go on", "continue please", "weiter", "继续", "続けて"])
def test_right_after_a_page_it_goes_on(said: str) -> None:
    assert page_of(said, read(4)) == 5
    # Elsewhere it may be about anything
    assert page_of(said, read(4), ConversationTurn("what is the time?", (), "ten")) is None


def test_the_file_that_was_read_last_is_meant() -> None:
    sent = ConversationTurn("", (), "", (OTHER,))
    assert page_of("next page", sent, read(4)) == 5


def test_a_file_of_which_only_the_reading_is_known_goes_on() -> None:
    named = Exchange(Order("file_read", {"path": "plan.pdf"}), f'{{"path":"{PLACE}","text":""}}')
    turns = [ConversationTurn("read plan.pdf", (named,), ""), ConversationTurn("more", (), "")]
    assert about_file(turns, BOX) == CallStep((Order("file_read", {"path": PLACE, "page": 2}),))


def test_a_file_is_not_forgotten_over_its_pages() -> None:
    said = [user_said(f"[DOCUMENT:{PLACE}]"), assistant_said("kept")]
    for _ in range(3 * MAX_TURNS):
        said += [user_said("hello"), assistant_said("hello")]
    turns = turns_of([*said, user_said("page 2")])
    assert about_file(turns, BOX) == CallStep((Order("file_read", {"path": PLACE, "page": 2}),))


@pytest.mark.parametrize(
    "said",
    [
        "list my files", "which files did I send?", "what files have I sent you?",
        "Show me my files, please", "Zeig mir meine Dateien", "welche Dateien habe ich geschickt?",
        "quels fichiers t'ai-je envoyés", "¿qué archivos te he enviado?", "i miei file",
        "welke bestanden heb ik gestuurd?", "我发了哪些文件?", "列出我的文件", "送ったファイルは?",
        "내 파일 보여줘",
    ],
)  # fmt: skip
def test_ones_own_files_are_listed(said: str) -> None:
    step = about_file([ConversationTurn(said, (), "")], BOX)
    assert step == CallStep((Order("file_list", {"path": "received/mine"}),))


@pytest.mark.parametrize("said", ["list the files", "delete my files", "my light", "which files?"])
def test_other_lists_are_not_ones_own_files(said: str) -> None:
    assert about_file([ConversationTurn(said, (), "")], BOX) is None


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
        ("[a sticker: turn the led on]", "", ()),
        ("on\n[a place: 1.0, 2.0 (turn the led on)]", "on\n", ()),
        ("[order: a message that nothing here can read]", "", ()),
        ("[a picture of the led] turn it on", "[a picture of the led] turn it on", ()),
    ],
)  # fmt: skip
def test_marks_of_the_agent_are_not_the_persons_words(
    text: str, said: str, files: tuple[str, ...]
) -> None:
    assert separated(text) == (said, files)
