import asyncio
import json
from pathlib import Path

import pytest

from agent.cli import exits
from agent.cli.main import main
from agent.embeddings.none import NoEmbedder
from agent.memory.base import Scope
from agent.memory.sqlite import SqliteMemory
from agent.messages import Provenance
from agent.storage import lock
from agent.system.clock import SystemClock


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("BARNACLE_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setattr("agent.settings.SYSTEM_CONFIG", tmp_path / "none.toml")
    return tmp_path / "state"


@pytest.fixture
def remembered(state: Path) -> Path:
    path = state / "memory" / "brain.db"

    async def store() -> None:
        memory = SqliteMemory(path, NoEmbedder(), SystemClock())
        said = Provenance.OWNER
        await memory.store("sister", "is called 小美", scope=Scope("owner"), provenance=said)
        await memory.store("tea", "likes tea", scope=Scope("guest"))
        await memory.aclose()

    asyncio.run(store())
    return path


def migrate(source: str, target: str, *more: str) -> int:
    return main(["memory", "migrate", "--from", source, "--to", target, *more])


@pytest.mark.usefixtures("remembered")
def test_memories_are_carried_and_the_next_step_is_said(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert migrate("sqlite", "document") == exits.OK
    said = capsys.readouterr().out
    assert "document now holds 2 memories of sqlite: 2 copied" in said
    assert 'set backend = "document" in [memory]' in said
    kept = json.loads((state / "memory" / "memories.json").read_text())["memories"]
    assert {one["content"] for one in kept.values()} == {"is called 小美", "likes tea"}
    assert migrate("sqlite", "document", "--json") == exits.OK
    assert json.loads(capsys.readouterr().out) == {
        "carried": 0, "already": 2, "newer": 0, "wrong": [],
    }  # fmt: skip
    assert migrate("document", "markdown") == exits.OK
    assert "小美" in (state / "MEMORY.md").read_text()


@pytest.mark.usefixtures("remembered")
def test_after_it_nothing_is_said_of_the_old_ones(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "c.toml"
    config.write_text('[memory]\nbackend = "document"\n')
    listing = ["--config", str(config), "memory", "list"]
    main(listing)
    assert "memory migrate --from sqlite" in capsys.readouterr().err
    migrate("sqlite", "document", "--config", str(config))
    capsys.readouterr()
    main(listing)
    said = capsys.readouterr()
    assert "小美" in said.out
    assert said.err == ""


@pytest.mark.usefixtures("remembered")
def test_an_agent_at_work_is_not_disturbed(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with lock.hold(state):
        assert migrate("sqlite", "document") == exits.FAILED
    assert "another barnacle" in capsys.readouterr().err
    assert not (state / "memory" / "memories.json").exists()


@pytest.mark.usefixtures("state")
@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (("sqlite", "sqlite"), exits.USAGE, "the same"),
        (("sqlite", "none"), exits.USAGE, "stores nothing"),
        (("markdown", "sqlite"), exits.FAILED, "no memories in markdown"),
        (("postgres", "sqlite"), exits.FAILED, "no memories in postgres"),
    ],
)
def test_what_makes_no_sense_is_one_line(
    words: tuple[str, str], status: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert migrate(*words) == status
    err = capsys.readouterr().err
    assert said in err
    assert len(err.splitlines()) == 1


@pytest.mark.usefixtures("remembered")
def test_a_database_without_an_address_is_refused_by_its_key(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert migrate("sqlite", "postgres") == exits.USAGE
    assert "memory.postgres_url" in capsys.readouterr().err


@pytest.mark.usefixtures("remembered")
def test_sqlite_and_lucid_are_the_same_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert migrate("sqlite", "lucid") == exits.OK
    assert "nothing to migrate" in capsys.readouterr().out


@pytest.mark.usefixtures("state")
def test_an_unknown_backend_is_refused_with_those_there_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit):
        migrate("floppy", "sqlite")
    assert "postgres" in capsys.readouterr().err
