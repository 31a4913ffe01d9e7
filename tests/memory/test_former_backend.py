from pathlib import Path

import pytest

from agent.config import Secret
from agent.embeddings.none import NoEmbedder
from agent.memory import former_backend
from agent.memory.backends import BackendPlace, open_backend
from agent.memory.settings import Backend, MemorySettings
from tests.contracts.memory import MEI
from tests.fakes.clock import SteppedClock


def place(folder: Path, backend: Backend) -> BackendPlace:
    settings = MemorySettings(backend=backend, postgres_url=Secret("postgresql://x/y"))
    return BackendPlace(settings, folder, NoEmbedder(), SteppedClock())


async def store(at: BackendPlace) -> None:
    memory = open_backend(at)
    await memory.store("k", "content", scope=MEI)
    await memory.aclose()


@pytest.mark.parametrize("now", ["sqlite", "document", "markdown", "lucid", "postgres", "none"])
def test_with_no_memories_there_is_nothing_to_carry_over(now: Backend, tmp_path: Path) -> None:
    assert former_backend.left_behind(place(tmp_path, now)) == ""


@pytest.mark.parametrize("last", ["sqlite", "document", "markdown"])
async def test_memories_that_are_left_behind_are_said_with_the_way_out(
    last: Backend, tmp_path: Path
) -> None:
    former_backend.note(place(tmp_path, last), last)
    await store(place(tmp_path, last))
    assert former_backend.left_behind(place(tmp_path, last)) == ""
    said = former_backend.left_behind(place(tmp_path, "postgres"))
    assert f"`barnacle memory migrate --from {last} --to postgres`" in said
    former_backend.note(place(tmp_path, "postgres"), "postgres")
    assert former_backend.left_behind(place(tmp_path, "postgres")) == ""
    assert "--from postgres" in former_backend.left_behind(place(tmp_path, last))


async def test_sqlite_and_lucid_share_their_memories(tmp_path: Path) -> None:
    await store(place(tmp_path, "sqlite"))
    assert former_backend.left_behind(place(tmp_path, "lucid")) == ""
    assert "--from sqlite" in former_backend.left_behind(place(tmp_path, "document"))


async def test_a_time_without_memory_changes_nothing_of_that(tmp_path: Path) -> None:
    await store(place(tmp_path, "sqlite"))
    assert former_backend.left_behind(place(tmp_path, "none")) == ""
    former_backend.note(place(tmp_path, "none"), "none")
    assert "--from sqlite" in former_backend.left_behind(place(tmp_path, "document"))


@pytest.mark.parametrize("noted", ["", "[]", '{"last": "floppy"}', '{"last": 5}'])
async def test_a_damaged_note_means_the_default(noted: str, tmp_path: Path) -> None:
    await store(place(tmp_path, "sqlite"))
    (tmp_path / "memory" / "backend.json").write_text(noted)
    assert "--from sqlite" in former_backend.left_behind(place(tmp_path, "markdown"))


async def test_a_damaged_store_may_hold_memories(tmp_path: Path) -> None:
    await store(place(tmp_path, "sqlite"))
    (tmp_path / "memory" / "brain.db").write_bytes(b"x" * 5000)
    assert "--from sqlite" in former_backend.left_behind(place(tmp_path, "markdown"))
