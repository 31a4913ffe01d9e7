"""In a large store a message that one common word fits is not about a memory."""

from agent.memory.base import CORE, MemoryEntry, Scope
from agent.memory.candidate import MemoryCandidate
from agent.memory.ranking import DOUBTED, SearchedStore, belief
from agent.memory.settings import MemorySettings
from agent.messages import Provenance

LARGE = SearchedStore(memories=700)
ENTRY = MemoryEntry(1, "1", "said", CORE, Provenance.OWNER, Scope(), 0.0, 0.0)


def found(
    coverage: float, strength: float = 6.0, cosine: float | None = None
) -> list[MemoryCandidate]:
    return [MemoryCandidate(ENTRY, strength, coverage, cosine)]


def test_what_is_doubted_stays_out_of_the_prompt() -> None:
    assert MemorySettings().min_score > DOUBTED


def test_one_word_of_several_is_doubted_in_a_large_store_alone() -> None:
    assert belief(found(0.3), 4.0, LARGE) == DOUBTED
    assert belief(found(0.3), 4.0, SearchedStore(memories=30)) == 1.0


def test_most_of_the_words_are_believed_unless_all_of_them_are_everybodys() -> None:
    assert belief(found(0.6), 4.0, LARGE) == 1.0
    assert belief(found(1.0, strength=3.0), 4.0, LARGE) == DOUBTED


def test_what_stands_out_with_its_conversation_is_believed() -> None:
    assert belief(found(0.3), 8.0, LARGE) == 1.0


def test_a_model_that_understands_is_asked_rather_than_single_words() -> None:
    assert belief(found(0.1, cosine=0.4), 0.0, LARGE) == 1.0
    assert belief(found(0.5, cosine=0.1), 9.0, LARGE) == DOUBTED
    assert belief(found(0.8, cosine=0.1), 0.0, LARGE) == 1.0


def test_a_model_that_does_not_understand_decides_nothing() -> None:
    blind = SearchedStore(memories=700, understood=0.1)
    assert belief(found(0.3, cosine=0.0), 0.0, blind) == 1.0


def test_doubt_grows_with_the_store() -> None:
    needed = [
        next(
            part
            for part in range(100)
            if belief(found(part / 100), 0.0, SearchedStore(count)) == 1.0
        )
        for count in (60, 150, 400, 700)
    ]
    assert needed == sorted(set(needed))
    assert needed[-1] == 55


def test_where_nothing_is_found_nothing_is_doubted() -> None:
    assert belief([], 0.0, LARGE) == 1.0
