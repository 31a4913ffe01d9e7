import asyncio
import io
import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from agent.cli import exits
from agent.cli.main import main
from agent.embeddings.none import NoEmbedder
from agent.memory.base import Scope
from agent.memory.sqlite import SqliteMemory
from agent.messages import Provenance
from agent.system.clock import SystemClock

PAGE = "https://example.org/pump"


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
        owner = Scope("owner")
        await memory.store("sister", "is called 小美", scope=owner, provenance=Provenance.OWNER)
        await memory.store("pump", "is \x1b[2Jloud", scope=owner, source=PAGE)
        await memory.store("valve", "is stuck", scope=owner, source=PAGE)
        await memory.aclose()

    asyncio.run(store())
    return path


def keys(capsys: pytest.CaptureFixture[str]) -> set[str]:
    capsys.readouterr()
    main(["memory", "list", "--json"])
    return {entry["key"] for entry in json.loads(capsys.readouterr().out)}


class Person(io.StringIO):
    """Somebody at a terminal who types this."""

    def isatty(self) -> bool:
        return True


@pytest.mark.usefixtures("remembered")
def test_keys_are_forgotten_with_yes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["memory", "forget", "sister", "pump", "--yes"]) == exits.OK
    assert capsys.readouterr().out == "sister forgotten\npump forgotten\n"
    assert keys(capsys) == {"valve"}


@pytest.mark.usefixtures("remembered")
def test_no_file_holds_what_was_forgotten_and_the_rest_is_named(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    damaged = state / "memory" / "brain.db.corrupt.20260101T000000"
    damaged.touch()
    main(["memory", "snapshot"])
    assert main(["memory", "forget", "sister", "--yes"]) == exits.OK
    files = [path for path in state.rglob("*") if path.is_file()]
    assert [one for one in files if "小美".encode() in one.read_bytes()] == []
    assert capsys.readouterr().err == f"barnacle: the words may still be in {damaged}\n"


@pytest.mark.usefixtures("remembered")
@pytest.mark.parametrize(("typed", "left"), [("y\n", set()), ("\n", {"pump"}), ("no\n", {"pump"})])
def test_a_person_is_asked_with_what_it_says(
    typed: str,
    left: set[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("sys.stdin", Person(typed))
    assert main(["memory", "forget", "pump"]) == exits.OK
    assert "forget pump: is [2Jloud? [y/N]" in capsys.readouterr().out
    assert keys(capsys) == {"sister", "valve"} | left


@pytest.mark.usefixtures("remembered")
def test_without_anybody_to_ask_nothing_is_forgotten(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    assert main(["memory", "forget", "pump"]) == exits.FAILED
    assert "--yes" in capsys.readouterr().err
    assert "pump" in keys(capsys)


@pytest.mark.usefixtures("remembered")
def test_everything_of_a_page_is_forgotten_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["memory", "forget", "--source", PAGE, "--yes"]) == exits.OK
    assert "2 memories" in capsys.readouterr().out
    assert keys(capsys) == {"sister"}


@pytest.mark.usefixtures("remembered")
def test_forget_without_saying_what_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["memory", "forget"]) == exits.FAILED
    assert "--source" in capsys.readouterr().err


def test_a_log_says_that_it_takes_nothing_out(
    state: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "c.toml"
    config.write_text('[memory]\nbackend = "markdown"\n')
    state.mkdir()
    (state / "MEMORY.md").write_text('<!-- barnacle {"person": "owner"} -->\n- **a**: b\n')
    words = ["--config", str(config), "memory", "forget", "a", "--yes"]
    assert main(words) == exits.FAILED
    assert "cannot delete" in capsys.readouterr().err


@pytest.mark.usefixtures("remembered")
def test_a_copy_of_a_snapshot_brings_everything_back(
    state: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["memory", "snapshot"]) == exits.OK
    snapshot = state / "memory" / "MEMORY_SNAPSHOT.md"
    assert capsys.readouterr().out == f"wrote 3 memories to {snapshot}\n"
    copy = shutil.copy(snapshot, tmp_path)
    main(["memory", "forget", "sister", "pump", "valve", "--yes"])
    assert main(["memory", "import", str(copy)]) == exits.OK
    assert "imported 3 memories from" in capsys.readouterr().out
    assert keys(capsys) == {"sister", "pump", "valve"}


@pytest.mark.usefixtures("state")
def test_what_is_brought_in_is_trusted_as_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "MEMORY.md").write_text("# Memory\n\n- The goat is called Lin\n")
    imported = ["memory", "import", str(notes), "--provenance", "owner"]
    # Nobody is there to ask
    assert main(imported) == exits.FAILED
    assert "import 1 memories of" in capsys.readouterr().err
    assert main([*imported, "--yes"]) == exits.OK
    assert "none is trusted more than owner" in capsys.readouterr().out
    main(["memory", "list", "--json"])
    (only,) = json.loads(capsys.readouterr().out)
    assert (only["provenance"], only["person"]) == ("owner", "owner")


@pytest.mark.usefixtures("remembered")
def test_an_export_for_reading_is_not_taken_for_notes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "memories.md"
    assert main(["memory", "export", "--everyone", "--output", str(file)]) == exits.OK
    before = keys(capsys)
    words = ["memory", "import", str(file), "--provenance", "owner", "--yes"]
    assert main(words) == exits.FAILED
    assert "is an export for reading" in capsys.readouterr().err
    assert keys(capsys) == before


@pytest.mark.usefixtures("state")
def test_a_file_that_is_not_there_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["memory", "import", "/nowhere/at-all.md"]) == exits.FAILED
    assert len(capsys.readouterr().err.splitlines()) == 1


@pytest.mark.usefixtures("remembered")
def test_the_index_is_made_anew(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["memory", "rebuild"]) == exits.OK
    assert "3 memories" in capsys.readouterr().out
    main(["memory", "search", "小美", "--json"])
    assert json.loads(capsys.readouterr().out)[0]["key"] == "sister"


def test_a_check_mends_what_the_snapshot_tells(
    remembered: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["memory", "check"]) == exits.OK
    assert capsys.readouterr().out == "3 memories are whole\n"
    main(["memory", "snapshot"])
    with closing(sqlite3.connect(remembered)) as db:
        db.execute("UPDATE memories SET content = 'is stucj' WHERE key = 'valve'")
        db.commit()
    capsys.readouterr()
    assert main(["memory", "check", "--json"]) == exits.OK
    assert json.loads(capsys.readouterr().out) == {
        "memories": 3,
        "texts": 1,
        "words": 0,
        "vectors": 0,
        "doubtful": [],
    }
    main(["memory", "show", "valve"])
    assert "is stuck" in capsys.readouterr().out


def test_a_check_names_what_nothing_tells(
    remembered: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with closing(sqlite3.connect(remembered)) as db:
        db.execute("UPDATE memories SET content = 'is stucj' WHERE key = 'valve'")
        db.commit()
    (remembered.parent / "MEMORY_SNAPSHOT.md").unlink(missing_ok=True)
    assert main(["memory", "check"]) == exits.FAILED
    said = capsys.readouterr()
    assert "1 in doubt" in said.out
    assert "valve: text and word index differ" in said.out + said.err
