import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from agent.app.reading_store import agent_name, open_store
from agent.config import Secret
from agent.errors import ConfigRefused
from agent.memory.settings import MemorySettings
from agent.readings.settings import ReadingsSettings
from agent.settings import Paths, Settings
from tests.fakes.clock import SteppedClock


def settings(**readings: str) -> Settings:
    memory = MemorySettings(backend="postgres", postgres_url=Secret("postgresql://x/y"))
    return Settings(memory=memory, readings=msgspec.convert(readings, ReadingsSettings))


def exists(path: Path) -> bool:
    return path.exists()


async def test_readings_are_on_the_server_of_the_brain_and_opening_makes_nothing(
    tmp_path: Path,
) -> None:
    store = open_store(settings(), Paths(tmp_path, tmp_path / "state"), SteppedClock())
    assert store._shared is not None
    await store.aclose()
    store = open_store(Settings(), Paths(tmp_path, tmp_path / "state"), SteppedClock())
    assert store._shared is None
    await store.aclose()
    assert not exists(tmp_path / "state")


def test_two_agents_of_one_machine_have_two_names(tmp_path: Path) -> None:
    one, other = (
        agent_name(settings(), Paths(tmp_path, tmp_path / folder))
        for folder in ("garden", "cellar")
    )
    assert one != other
    assert one == agent_name(settings(), Paths(tmp_path, tmp_path / "garden"))
    assert one.replace("-", "").replace(".", "").replace("_", "").isalnum()


def test_a_configured_name_is_that_of_any_machine(tmp_path: Path) -> None:
    assert agent_name(settings(agent="greenhouse"), Paths(tmp_path, tmp_path)) == "greenhouse"


def test_a_server_without_an_address_is_refused(tmp_path: Path) -> None:
    memory = MemorySettings(backend="postgres", postgres_url_file=str(tmp_path / "none"))
    with pytest.raises(ConfigRefused, match=r"memory\.postgres_url_file"):
        open_store(Settings(memory=memory), Paths(tmp_path, tmp_path), SteppedClock())


def test_psycopg_is_loaded_only_where_it_is_configured() -> None:
    code = "import sys, agent.app.readings; print('psycopg' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert done.stdout == b"False\n"
