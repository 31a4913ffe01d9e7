import pytest
from msgspec.structs import replace

from agent.errors import ConfigRefused, MemoryUnavailable
from agent.health.base import Level, MemoryStore, Patient
from agent.health.checks.memory import check_memory
from agent.memory.base import Memory, MemoryStats
from tests.fakes.memory import PreparedMemory


class Counted(PreparedMemory):
    """Tells these details, or fails."""

    def __init__(self, details: dict[str, str], failure: str = "") -> None:
        super().__init__()
        self._details = details
        self._failure = failure
        self.is_closed = False

    async def stats(self) -> MemoryStats:
        if self._failure:
            raise MemoryUnavailable(self._failure)
        return MemoryStats("postgres", 7, details=self._details)

    async def aclose(self) -> None:
        self.is_closed = True


def with_store(patient: Patient, store: MemoryStore) -> Patient:
    return replace(patient, find_store=lambda: store)


async def test_memories_that_are_reached_are_counted(patient: Patient) -> None:
    memory = Counted({"words": "by trigrams (pg_trgm)"})
    found = await check_memory(
        with_store(patient, MemoryStore("postgres", "barn", open=lambda: memory))
    )
    assert found.level is Level.OK
    assert found.sentence == "7 memories in postgres (barn): words by trigrams (pg_trgm)"
    assert memory.is_closed


async def test_a_store_out_of_reach_is_failed_with_the_reason(patient: Patient) -> None:
    memory = Counted({}, "PostgreSQL cannot be reached: no route")
    found = await check_memory(
        with_store(patient, MemoryStore("postgres", "barn", open=lambda: memory))
    )
    assert found.level is Level.FAILED
    assert "no route" in found.sentence
    assert memory.is_closed


async def test_what_a_store_advises_is_a_warning(patient: Patient) -> None:
    memory = Counted({"advice": "too many", "damage": "set aside", "file": "x"})
    found = await check_memory(
        with_store(patient, MemoryStore("document", "x", open=lambda: memory))
    )
    assert (found.level, found.sentence) == (Level.WARNING, "set aside; too many")


@pytest.mark.parametrize(
    ("store", "level", "said"),
    [
        (MemoryStore("sqlite", "/s/brain.db"), Level.OK, "sqlite (/s/brain.db)"),
        (MemoryStore("none", "nowhere"), Level.OK, "switched off: nothing is remembered"),
        (MemoryStore("sqlite", "x", "left behind"), Level.WARNING, "left behind"),
    ],
)
async def test_what_is_not_opened_is_told_as_it_is(
    store: MemoryStore, level: Level, said: str, patient: Patient
) -> None:
    found = await check_memory(with_store(patient, store))
    assert (found.level, found.sentence) == (level, said)


async def test_a_store_that_is_refused_says_so_itself(patient: Patient) -> None:
    def refused() -> Memory:
        raise ConfigRefused("memory.postgres_url_file: cannot be read")

    with pytest.raises(ConfigRefused):
        await check_memory(with_store(patient, MemoryStore("postgres", "barn", open=refused)))


async def test_nothing_known_is_nothing_wrong(patient: Patient) -> None:
    assert (await check_memory(patient)).level is Level.OK
