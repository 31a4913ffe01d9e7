import json
import os
from pathlib import Path
from typing import BinaryIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import BadArguments, PathRefused
from agent.messages import Effect
from agent.security.act import act_hash
from agent.security.paths import change_beneath
from agent.tools.file_edit import FileEditTool, replaced
from agent.tools.files import MAX_CONTENT_BYTES, RESULTS_FOLDER, FileWriteTool
from tests.fakes.workspace import OUTSIDE, refused, told, workspace_in


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    return workspace_in(tmp_path)


async def test_the_one_place_is_replaced_and_its_line_told(workspace: Path) -> None:
    tool = FileEditTool(workspace)
    found = await told(tool, path="notes/today.md", old="buy soil", new="buy 灯")
    assert found == {"path": "notes/today.md", "line": 2, "bytes": 39}
    text = (workspace / "notes/today.md").read_text()
    assert text == "water the basil\nbuy 灯\nwater the mint\n"
    assert tool.effect is Effect.WRITE


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        ("one\ntwo\n", "1\n2\n", b"1\r\n2\r\nthree\r\n"),
        ("one\r\ntwo", "1\r\n2", b"1\r\n2\r\nthree\r\n"),
        ("two", "2\n2b", b"one\r\n2\r\n2b\r\nthree\r\n"),
    ],
)
async def test_a_file_of_windows_keeps_its_line_ends_however_the_text_is_written(
    workspace: Path, old: str, new: str, changed: bytes
) -> None:
    (workspace / "plan.txt").write_bytes(b"one\r\ntwo\r\nthree\r\n")
    found = await told(FileEditTool(workspace), path="plan.txt", old=old, new=new)
    assert found["bytes"] == len(changed)
    assert (workspace / "plan.txt").read_bytes() == changed


async def test_in_a_file_of_mixed_line_ends_each_counts_as_it_is(workspace: Path) -> None:
    (workspace / "plan.txt").write_bytes(b"one\r\ntwo\nthree\r\n")
    tool = FileEditTool(workspace)
    assert "not in the file" in await refused(tool, path="plan.txt", old="one\ntwo", new="x")
    await told(tool, path="plan.txt", old="two\nthree", new="2\n3")
    assert (workspace / "plan.txt").read_bytes() == b"one\r\n2\n3\r\n"


async def test_the_mode_of_the_file_is_kept(workspace: Path) -> None:
    (workspace / "plan.txt").chmod(0o640)
    await told(FileEditTool(workspace), path="plan.txt", old="5 s", new="6 s")
    assert (workspace / "plan.txt").stat().st_mode & 0o7777 == 0o640


async def test_a_file_never_stays_able_to_run_as_somebody_else(workspace: Path) -> None:
    (workspace / "plan.txt").chmod(0o6755)
    await told(FileEditTool(workspace), path="plan.txt", old="5 s", new="6 s")
    assert (workspace / "plan.txt").stat().st_mode & 0o7777 == 0o755


async def test_a_text_that_is_not_there_is_refused(workspace: Path) -> None:
    text = await refused(FileEditTool(workspace), path="plan.txt", old="pump  5 s", new="x")
    assert "is not in the file" in text
    assert (workspace / "plan.txt").read_text() == "pump 5 s\nlamp 30 min\n"


async def test_a_text_at_several_places_is_refused_with_their_lines(workspace: Path) -> None:
    before = (workspace / "notes/today.md").read_bytes()
    tool = FileEditTool(workspace)
    assert "in lines 1, 3:" in await refused(tool, path="notes/today.md", old="water", new="x")
    assert (workspace / "notes/today.md").read_bytes() == before
    (workspace / "many.txt").write_text("same\n" * 30)
    text = await refused(tool, path="many.txt", old="same", new="x")
    assert "in lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and more" in text


@pytest.mark.parametrize(
    ("path", "old", "new", "why"),
    [
        ("plan.txt", "pump", "pump", "are the same"),
        ("picture.png", "water", "x", "not text"),
        ("absent.txt", "a", "b", "there is no"),
        ("../secret.txt", "outside", "b", "refused"),
        ("/etc/hosts", "localhost", "b", "refused"),
        ("link.txt", "outside", "b", "link"),
        ("twin.txt", "pump", "b", "more than one name"),
        ("notes", "a", "b", "not a plain file"),
        (f"{RESULTS_FOLDER}/a.txt", "a", "b", "only for results"),
    ],
)
async def test_what_may_not_be_edited_is_refused(
    workspace: Path, path: str, old: str, new: str, why: str
) -> None:
    (workspace / "link.txt").symlink_to(workspace.parent / "secret.txt")
    if path == "twin.txt":
        os.link(workspace / "plan.txt", workspace / "twin.txt")
    assert why in await refused(FileEditTool(workspace), path=path, old=old, new=new)
    assert (workspace.parent / "secret.txt").read_text() == OUTSIDE


async def test_a_file_that_would_grow_too_large_is_refused(workspace: Path) -> None:
    (workspace / "large.txt").write_text("x" * (MAX_CONTENT_BYTES - 3) + "end")
    text = await refused(FileEditTool(workspace), path="large.txt", old="end", new="ends")
    assert f"longer than {MAX_CONTENT_BYTES} bytes" in text
    (workspace / "large.txt").write_text("x" * MAX_CONTENT_BYTES + "end")
    await refused(FileEditTool(workspace), path="large.txt", old="xe", new="")


def test_what_somebody_else_wrote_meanwhile_is_not_lost(workspace: Path) -> None:
    def change(file: BinaryIO) -> bytes:
        content = file.read()
        (workspace / "plan.txt").write_text("the owner's own words\n")
        return content + b"ours"

    with pytest.raises(PathRefused, match="changed by another program"):
        change_beneath(workspace, "plan.txt", change)
    assert (workspace / "plan.txt").read_text() == "the owner's own words\n"
    assert sorted(one.name for one in workspace.iterdir()) == ["notes", "picture.png", "plan.txt"]


@pytest.mark.parametrize(
    "arguments",
    [
        '{"path": "a", "old": "", "new": "b"}',
        '{"path": "a", "old": "a"}',
        '{"path": "a", "old": "a", "new": "b", "approved": true}',
    ],
)
def test_arguments_that_make_no_sense_are_refused(workspace: Path, arguments: str) -> None:
    with pytest.raises(BadArguments):
        FileEditTool(workspace).parse(arguments)


@given(st.text("ab\n", max_size=20), st.text("ab\n", min_size=1, max_size=3), st.text("ab"))
def test_only_a_single_place_is_ever_replaced(content: str, old: str, new: str) -> None:
    places = [at for at in range(len(content)) if content.startswith(old, at)]
    try:
        line, changed = replaced(content.encode(), old.encode(), new.encode())
    except PathRefused:
        assert len(places) != 1 or old == new
        return
    (place,) = places
    assert changed.decode() == content[:place] + new + content[place + len(old) :]
    assert line == content.count("\n", 0, place) + 1


@pytest.mark.parametrize("kind", [FileEditTool, FileWriteTool])
def test_a_yes_is_for_the_file_as_it_stands(
    tmp_path: Path, kind: type[FileEditTool] | type[FileWriteTool]
) -> None:
    tool = kind(tmp_path)
    names = ("old", "new") if kind is FileEditTool else ("content",)
    written = json.dumps({"path": "./a.txt", **dict(zip(names, ("one", "two"), strict=False))})
    (tmp_path / "a.txt").write_text("one")

    def act() -> str:
        return act_hash(tool.name, written, tool.binds_to(tool.parse(written)))

    before = act()
    assert act() == before
    (tmp_path / "a.txt").write_text("one, and more")
    assert act() != before
