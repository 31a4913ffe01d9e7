import os
from pathlib import Path

import pytest

from agent.backup.inventory import Inventory, is_passing
from agent.backup.manifest import PartKind
from tests.backup.conftest import make_database

WORKSPACE = "state/workspace"


def names(inventory: Inventory) -> list[str]:
    return [source.name for source in inventory.sources()]


def of(state: Path, **more: object) -> Inventory:
    known = {"workspace": state / "workspace", "documents": state / "workspace/documents", **more}
    return Inventory(state, **known)  # type: ignore[arg-type]  # each as the test says


def test_the_state_folder_is_in_it_without_what_belongs_to_one_run(state: Path) -> None:
    for name in ("agent.db-wal", "jobs.json.part", "people.json.lock", "agent.db.corrupt.2026"):
        (state / name).write_text("x")
    for folder in ("backups", ".restore", "before-restore-1", "model"):
        (state / folder).mkdir()
        (state / folder / "file").write_text("x")
    assert names(of(state)) == [
        "state/agent.db",
        "state/people.json",
        "state/audit/1.jsonl",
        f"{WORKSPACE}/IDENTITY.md",
    ]


def test_the_log_of_messages_comes_first_and_the_newest_readings_before_their_database(
    state: Path,
) -> None:
    make_database(state / "a.db", 1)
    (state / "readings.ring").write_text("x")
    assert names(of(state))[:3] == ["state/readings.ring", "state/agent.db", "state/a.db"]


def test_a_file_of_a_person_may_be_named_as_ours_are(state: Path) -> None:
    own = {"lock", "status.json", "uv.lock", "house.older", "sea.part", "teeth.corrupt", "a.clean"}
    for name in own:
        (state / "workspace" / name).write_text("mine")
    assert {f"{WORKSPACE}/{name}" for name in own} <= set(names(of(state)))
    elsewhere = of(state, workspace=state.parent / "files", documents=state / "workspace")
    assert {f"{WORKSPACE}/{name}" for name in own} <= set(names(elsewhere))


def test_folders_elsewhere_and_what_the_configuration_names_are_in_it(
    state: Path, tmp_path: Path
) -> None:
    outside, config, token = tmp_path / "files", tmp_path / "c.toml", tmp_path / "token"
    outside.mkdir()
    for path in (outside / "note.md", config, token):
        path.write_text("x")
    found = of(
        state,
        workspace=outside,
        config=config,
        named=[token],
        credentials={"api_key": "k"},
        machine={"device/hostname": b"h"},
    )
    sources = {source.name: source for source in found.sources()}
    assert set(sources) >= {"workspace/note.md", "config/barnacle.toml", "machine/device/hostname"}
    assert sources["named/0-token"].origin == str(token)
    assert sources["credentials/api_key"].kind is PartKind.CREDENTIAL


def test_the_state_folder_is_in_it_once_where_documents_are_around_it(
    state: Path, tmp_path: Path
) -> None:
    (tmp_path / "note.md").write_text("x")
    found = names(of(state, documents=tmp_path))
    assert "documents/note.md" in found
    assert "state/people.json" in found
    assert not [name for name in found if name.startswith("documents/state")]


def test_links_are_not_followed(state: Path) -> None:
    (state / "workspace" / "passwd").symlink_to("/etc/passwd")
    (state / "workspace" / "etc").symlink_to("/etc")
    assert not [name for name in names(of(state)) if "passwd" in name or "etc" in name]
    assert {path.name for path in of(state).links()} == {"passwd", "etc"}


def test_names_that_are_no_text_are_told_apart(state: Path) -> None:
    (state / "workspace" / os.fsdecode(b"caf\xe9")).mkdir()
    inside = state / "workspace" / os.fsdecode(b"caf\xe9") / "menu.txt"
    inside.write_text("x")
    assert not [name for name in names(of(state)) if "menu" in name]
    assert [*of(state).unnamed()] == [inside]


@pytest.mark.parametrize("place", [".", "workspace", "workspace/kept", "skills"])
def test_only_the_backups_are_left_out_of_the_folder_that_they_go_into(
    state: Path, place: str
) -> None:
    folder = state / place
    (folder / "deeper").mkdir(parents=True, exist_ok=True)
    backups = {"old.barnacle-backup", "new.barnacle-backup.part"}
    persons = {"note.md", "sea.barnacle", "deeper/note.md"}
    for name in backups | persons:
        (folder / name).write_text("x")
    found = set(names(of(state, backups=folder)))
    within = Path("state", place)
    assert {str(within / name) for name in persons} <= found
    assert not {str(within / name) for name in backups} & found


def test_a_backup_that_is_a_file_in_the_workspace_is_no_part_of_itself(
    state: Path, tmp_path: Path
) -> None:
    (tmp_path / "link").symlink_to(state / "workspace")
    for name in ("own.barnacle-backup", "own.barnacle-backup.part", "other.barnacle-backup"):
        (state / "workspace" / name).write_text("x")
    found = names(of(state, backups=tmp_path / "link" / "own.barnacle-backup"))
    assert f"{WORKSPACE}/other.barnacle-backup" in found
    assert not [name for name in found if "own" in name]


def test_names_that_pass() -> None:
    assert is_passing("lock")
    assert is_passing("before-restore-20260101")
    assert not is_passing("jobs.json")
