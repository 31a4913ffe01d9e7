"""Facts of finding that must stay true whatever the weights are; all with the real model."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent.embeddings.base import Embedder
from agent.embeddings.none import NoEmbedder
from agent.memory.base import Scope
from agent.memory.sqlite import SqliteMemory
from agent.messages import Provenance
from tests.fakes.clock import SteppedClock
from tests.memory.conftest import MakeMemory

MEI = Scope("mei")
CHAT = Scope("mei", "chat")
_DAY_S = 86_400.0
# 2023-05-08
_MAY_8_S = 1_683_504_000.0


@pytest.fixture
def clock() -> SteppedClock:
    return SteppedClock(_MAY_8_S)


@pytest.fixture
async def memory(
    tmp_path: Path, real_model: Embedder, clock: SteppedClock
) -> AsyncIterator[SqliteMemory]:
    made = SqliteMemory(tmp_path / "brain.db", real_model, clock)
    yield made
    await made.aclose()


async def remember(memory: SqliteMemory, *contents: str, scope: Scope = MEI) -> None:
    for content in contents:
        await memory.store("", content, scope=scope, provenance=Provenance.OWNER)


async def first(memory: SqliteMemory, question: str, scope: Scope = MEI) -> str:
    return (await memory.recall(question, 1, scope))[0].content


async def test_an_allergy_is_still_found_after_the_tea(memory: SqliteMemory) -> None:
    await remember(
        memory,
        "Mei is allergic to penicillin",
        "Mei likes green tea",
        "Mei likes black tea too, with milk",
        "the pump is switched on at seven",
    )
    assert await first(memory, "what is Mei allergic to?") == "Mei is allergic to penicillin"
    assert await first(memory, "which medicine must she never get") == (
        "Mei is allergic to penicillin"
    )
    assert "tea" in await first(memory, "what does Mei like to drink")


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("妹妹住在哪里", "我妹妹住在大阪"),
        ("過敏", "她對青黴素過敏"),
        ("無線LANのパスワードは", "無線LANのパスワードは冷蔵庫に貼ってある"),
        ("보일러 수리", "보일러는 3월에 수리했다"),
    ],
)
async def test_questions_without_spaces_find_their_answer(
    memory: SqliteMemory, question: str, answer: str
) -> None:
    await remember(
        memory,
        "我妹妹住在大阪",
        "她對青黴素過敏",
        "無線LANのパスワードは冷蔵庫に貼ってある",
        "보일러는 3월에 수리했다",
        "今天天气很好",
    )
    assert await first(memory, question) == answer


async def test_of_two_people_the_one_named_is_heard(memory: SqliteMemory) -> None:
    said = ("Tom: I moved to a new flat", "Anna: I moved to a new flat")
    await remember(memory, *said, scope=CHAT)
    assert await first(memory, "Where did Tom move?") == said[0]
    assert await first(memory, "Where did Anna move?") == said[1]


async def test_of_two_days_the_one_named_counts(memory: SqliteMemory, clock: SteppedClock) -> None:
    await remember(memory, "we went swimming in the lake")
    clock.advance(60 * _DAY_S)
    await remember(memory, "we went swimming in the sea")
    assert await first(memory, "where did we go swimming in May 2023?") == (
        "we went swimming in the lake"
    )
    assert await first(memory, "where did we go swimming in July 2023?") == (
        "we went swimming in the sea"
    )


async def test_an_answer_is_found_by_the_question_before_it(memory: SqliteMemory) -> None:
    await remember(
        memory,
        "Tom: the weather was awful",
        "Anna: where is your brother working now?",
        "Tom: in a bakery down the road",
        "Anna: the bus was late again",
        scope=CHAT,
    )
    found = [one.content for one in await memory.recall("where does the brother work", 2, MEI)]
    assert "Tom: in a bakery down the road" in found


async def test_what_is_asked_for_scores_higher_than_what_is_not_there(
    memory: SqliteMemory,
) -> None:
    await remember(memory, "the wifi password is on the fridge", "the pump starts at seven")
    [there] = await memory.recall("what is the wifi password", 1, MEI)
    [not_there] = await memory.recall("who won the war of the roses", 1, MEI)
    assert there.score is not None
    assert not_there.score is not None
    assert there.score > 0.4 > not_there.score


@pytest.mark.parametrize(
    ("answer", "asked", "foreign"),
    [
        ("my sister is called Mei", "sister", "roses"),
        (
            "Anna: we repaired the pump in the cellar on Friday",
            "on which day of last week was the pump down in the cellar repaired by you",
            "which of the two kings was crowned after the long war of the roses",
        ),
        ("我姐姐的生日是五月三号", "姐姐的生日是什么时候", "玫瑰战争是谁赢的"),
        (
            "Meine Schwester ist gegen Penizillin allergisch",
            "Wogegen ist die Schwester allergisch",
            "Wer gewann den Krieg der Rosen",
        ),
    ],
)
async def test_one_threshold_serves_all_questions_and_all_sizes_of_a_store(
    memory: SqliteMemory, answer: str, asked: str, foreign: str
) -> None:
    await remember(memory, answer)
    [alone] = await memory.recall(asked, 1, MEI)
    await remember(memory, *(f"shelf {number} of the shed holds paint" for number in range(60)))
    [among_others] = await memory.recall(asked, 1, MEI)
    not_asked = await memory.recall(foreign, 1, MEI)
    assert among_others.content == answer
    assert alone.score == pytest.approx(among_others.score, abs=0.1)
    assert among_others.score > 0.4 > max((one.score or 0.0 for one in not_asked), default=0.0)


@pytest.mark.parametrize(
    ("contents", "question"),
    [
        (("موعد الطبيب يوم الثلاثاء", "كلمة سر الشبكة على الثلاجة"), "متى موعد الطبيب"),
        (("डॉक्टर से मंगलवार को मिलना है", "वाईफाई का पासवर्ड फ्रिज पर है"), "डॉक्टर से कब मिलना है"),
        (("ο γιατρός είναι την Τρίτη", "ο κωδικός είναι στο ψυγείο"), "πότε είναι ο γιατρός"),
        (("врач принимает во вторник", "пароль висит на холодильнике"), "когда принимает врач"),
        (("의사 예약은 화요일이다", "비밀번호는 냉장고에 있다"), "의사 예약은 언제인가"),
        (("お医者さんはかようびです", "あいことばはれいぞうこです"), "お医者さんはいつですか"),
        (("医生的预约在星期二", "密码在冰箱上"), "医生的预约是哪天"),
    ],
)
async def test_a_model_of_another_language_changes_nothing_that_words_find(
    memory: SqliteMemory,
    tmp_path: Path,
    clock: SteppedClock,
    contents: tuple[str, ...],
    question: str,
) -> None:
    await remember(memory, *contents)
    without = SqliteMemory(tmp_path / "brain.db", NoEmbedder(), clock)
    by_words = await without.recall(question, 5, MEI)
    await without.aclose()
    assert by_words[0].content == contents[0]
    assert await memory.recall(question, 5, MEI) == by_words


async def test_an_empty_question_lists_the_newest(
    memory: SqliteMemory, clock: SteppedClock
) -> None:
    for content in ("one", "two", "three"):
        await remember(memory, content)
        clock.advance(1)
    assert [one.content for one in await memory.recall("*", 2, MEI)] == ["three", "two"]
    assert [one.content for one in await memory.recall("  ", 2, MEI)] == ["three", "two"]


async def test_what_happened_at_a_named_time_comes_first(make_memory: MakeMemory) -> None:
    memory = make_memory(NoEmbedder())
    for number in range(30):
        made = await memory.store(f"k{number}", f"I baked bread number {number}", scope=MEI)
        at_s = made.created_at_s - number * 86_400.0
        await memory.mark(made.key, MEI, said_at_s=at_s)
    for question, wanted in (("what happened yesterday?", "k1"), ("何をした？三日前", "k3")):
        found = await memory.recall(question, 3, MEI)
        assert found[0].key == wanted
        assert (found[0].score or 0.0) >= 0.4
