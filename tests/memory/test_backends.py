import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

from agent.config import Secret
from agent.embeddings.none import NoEmbedder
from agent.errors import ConfigRefused
from agent.memory.backends import BackendPlace, open_backend, postgres_url, where
from agent.memory.settings import Backend, MemorySettings
from tests.fakes.clock import SteppedClock

EVERY: tuple[Backend, ...] = get_args(Backend)


def exists(path: Path) -> bool:
    return path.exists()


@pytest.mark.parametrize("name", EVERY)
async def test_each_has_its_name_and_opening_makes_nothing(name: Backend, tmp_path: Path) -> None:
    settings = MemorySettings(backend=name, postgres_url=Secret("postgresql://x/y"))
    place = BackendPlace(settings, tmp_path / "state", NoEmbedder(), SteppedClock())
    memory = open_backend(place)
    assert memory.name == name
    assert where(place, name)
    await memory.aclose()
    assert not exists(tmp_path / "state")


def test_an_address_may_stand_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "url"
    path.write_text("postgresql://barnacle:hush@server/barn\n")
    settings = MemorySettings(backend="postgres", postgres_url_file=str(path))
    assert postgres_url(settings).reveal() == "postgresql://barnacle:hush@server/barn"


@pytest.mark.parametrize("content", [None, b"\xff\xfe", b"two\nlines hush"])
def test_a_file_without_one_is_refused_by_name_and_not_shown(
    content: bytes | None, tmp_path: Path
) -> None:
    path = tmp_path / "url"
    if content is not None:
        path.write_bytes(content)
    settings = MemorySettings(backend="postgres", postgres_url_file=str(path))
    with pytest.raises(ConfigRefused, match=r"memory\.postgres_url_file") as refused:
        postgres_url(settings)
    assert "hush" not in str(refused.value)


def test_without_an_address_a_migration_is_told_what_is_missing() -> None:
    with pytest.raises(ConfigRefused, match=r"memory\.postgres_url"):
        postgres_url(MemorySettings())


def test_psycopg_is_loaded_only_where_it_is_configured() -> None:
    code = "import sys, agent.memory.backends; print('psycopg' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert done.stdout == b"False\n"
