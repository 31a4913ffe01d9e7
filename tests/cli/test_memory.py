import asyncio
import json
from pathlib import Path

import pytest

from agent.cli import exits
from agent.cli.main import main
from agent.embeddings.none import NoEmbedder
from agent.memory.base import DAILY, Scope
from agent.memory.sqlite import SqliteMemory
from agent.messages import Provenance
from agent.system.clock import SystemClock


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("BARNACLE_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("BARNACLE_MODEL_DIR", str(tmp_path / "no-model"))
    monkeypatch.setattr("agent.settings.SYSTEM_CONFIG", tmp_path / "none.toml")
    return tmp_path / "state"


@pytest.fixture
def remembered(state: Path) -> Path:
    path = state / "memory" / "brain.db"

    async def store() -> None:
        memory = SqliteMemory(path, NoEmbedder(), SystemClock())
        owner, guest = Scope("owner"), Scope("guest")
        said = Provenance.OWNER
        await memory.store("sister", "my sister is called 小美", scope=owner, provenance=said)
        await memory.store(
            "rain", "it \x1b[31mrained", category=DAILY, scope=owner, provenance=Provenance.MODEL
        )
        await memory.store("tea", "likes tea", scope=guest, provenance=Provenance.USER)
        await memory.aclose()

    asyncio.run(store())
    return path


@pytest.mark.parametrize(
    "action", [["list"], ["list", "--everyone"], ["search", "sister"], ["export"], ["stats"]]
)
def test_looking_before_there_is_anything_makes_nothing(
    action: list[str], state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["memory", *action]) == exits.OK
    assert capsys.readouterr().err == ""
    assert not state.exists()


@pytest.mark.usefixtures("remembered")
def test_memories_of_the_owner_are_listed_and_cleaned(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["memory", "list"]) == exits.OK
    said = capsys.readouterr().out
    assert "小美" in said
    assert "it [31mrained" in said
    assert "tea" not in said


@pytest.mark.usefixtures("remembered")
def test_another_persons_memories_are_another_list(capsys: pytest.CaptureFixture[str]) -> None:
    main(["memory", "list", "--person", "guest", "--json"])
    assert [entry["key"] for entry in json.loads(capsys.readouterr().out)] == ["tea"]


@pytest.mark.usefixtures("remembered")
def test_a_category_narrows_the_list(capsys: pytest.CaptureFixture[str]) -> None:
    main(["memory", "list", "--category", "daily", "--json"])
    (only,) = json.loads(capsys.readouterr().out)
    assert (only["key"], only["content"]) == ("rain", "it \x1b[31mrained")


@pytest.mark.usefixtures("remembered")
def test_a_search_finds_by_words_of_any_language(capsys: pytest.CaptureFixture[str]) -> None:
    for query in ("sister", "小美"):
        main(["memory", "search", query, "--json"])
        assert json.loads(capsys.readouterr().out)[0]["key"] == "sister"


@pytest.mark.usefixtures("remembered")
def test_a_search_that_finds_nothing_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["memory", "search", "volcano"]) == exits.OK
    assert "no matching memories of owner" in capsys.readouterr().out


@pytest.mark.usefixtures("remembered")
def test_everything_is_exported_as_markdown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "out" / "memories.md"
    assert main(["memory", "export", "--output", str(path)]) == exits.OK
    assert capsys.readouterr().out == f"wrote 2 memories to {path}\n"
    written = path.read_text()
    assert written.startswith("# What Barnacle remembers of owner\n")
    assert "- **sister**: my sister is called 小美 (owner, " in written
    assert written.endswith("\n")
    assert path.stat().st_mode & 0o077 == 0


@pytest.mark.usefixtures("remembered")
def test_an_export_that_cannot_be_written_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    wrong = str(tmp_path / "file" / "memories.md")
    assert main(["memory", "export", "--output", wrong]) == exits.FAILED
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_a_damaged_database_is_no_traceback(
    remembered: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    remembered.write_bytes(b"not a database" * 1000)
    main(["memory", "list"])
    assert "unexpected" not in capsys.readouterr().err


@pytest.mark.usefixtures("remembered")
def test_a_source_narrows_lists_and_searches(capsys: pytest.CaptureFixture[str]) -> None:
    main(["memory", "list", "--provenance", "model", "--json"])
    assert [entry["key"] for entry in json.loads(capsys.readouterr().out)] == ["rain"]
    main(["memory", "search", "sister", "--provenance", "model", "--json"])
    assert [entry["key"] for entry in json.loads(capsys.readouterr().out)] == []
    main(["memory", "search", "rained", "--category", "daily", "--limit", "1", "--json"])
    assert [entry["key"] for entry in json.loads(capsys.readouterr().out)] == ["rain"]


@pytest.mark.usefixtures("remembered")
def test_everyones_memories_say_whose_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    main(["memory", "list", "--everyone"])
    assert {line.split()[1] for line in capsys.readouterr().out.splitlines()} == {"owner", "guest"}
    main(["memory", "list", "--everyone", "--category", "daily", "--limit", "5", "--json"])
    assert [entry["key"] for entry in json.loads(capsys.readouterr().out)] == ["rain"]


@pytest.mark.usefixtures("remembered")
def test_one_memory_is_shown_with_everything(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["memory", "show", "sister"]) == exits.OK
    said = capsys.readouterr().out
    assert "my sister is called 小美" in said
    assert "said by" in said
    main(["memory", "show", "sister", "--json"])
    assert json.loads(capsys.readouterr().out)["provenance"] == "owner"


@pytest.mark.usefixtures("remembered")
@pytest.mark.parametrize("words", [["show", "tea"], ["forget", "tea", "--yes"]])
def test_a_key_that_is_none_is_one_line_that_says_where_they_are(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["memory", *words]) == exits.FAILED
    assert "`barnacle memory list`" in capsys.readouterr().err


@pytest.mark.usefixtures("remembered")
def test_numbers_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["memory", "stats"]) == exits.OK
    said = dict(line.split(None, 1) for line in capsys.readouterr().out.splitlines())
    assert (said["backend"], said["memories"]) == ("sqlite", "3")
    main(["memory", "stats", "--json"])
    told = json.loads(capsys.readouterr().out)
    assert (told["count"], told["categories"]) == (3, {"core": 2, "daily": 1})
    assert told["provenances"]["owner"] == 1


@pytest.mark.usefixtures("remembered")
def test_memories_in_another_backend_are_said_beside_the_list(
    state: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "markdown.toml"
    config.write_text('[memory]\nbackend = "markdown"\n')
    assert main(["memory", "list", "--config", str(config)]) == exits.OK
    said = capsys.readouterr()
    assert "no matching memories" in said.out
    assert "`barnacle memory migrate --from sqlite --to markdown`" in said.err
    assert not (state / "MEMORY.md").exists()
