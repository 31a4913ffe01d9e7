import io
import json
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import PathRefused
from agent.messages import Effect, Provenance, ToolResult
from agent.security.policy import Autonomy, GateCall, Policy, Verdict, decide
from agent.tools import files
from agent.tools.base import AnyTool, ToolContext
from agent.tools.files import (
    MAX_CONTENT_BYTES,
    MAX_TEXT_BYTES,
    Excerpt,
    FileListTool,
    FileReadTool,
    FileWriteTool,
    WriteArguments,
    excerpt_of,
)
from tests.fakes.said import tool_result

CONTEXT = ToolContext("terminal", "owner", Provenance.OWNER)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    (folder / "notes").mkdir(parents=True)
    (folder / "notes" / "today.md").write_text("one\ntwo\nthree\nfour\n")
    (tmp_path / "secret.txt").write_text("outside")
    return folder


async def used(tool: AnyTool, **arguments: object) -> ToolResult:
    return await tool.execute(tool.parse(json.dumps(arguments)), CONTEXT)


async def told(tool: AnyTool, **arguments: object) -> dict[str, object]:
    result = await used(tool, **arguments)
    assert result.success, result.text
    fields = json.loads(result.text)
    assert isinstance(fields, dict)
    return fields


async def test_a_file_is_read_with_the_trust_of_a_tool(workspace: Path) -> None:
    result = await used(FileReadTool(workspace), path="notes/today.md")
    assert result == tool_result(
        success=True,
        text='{"path":"notes/today.md","text":"one\\ntwo\\nthree\\nfour\\n","more":false}',
        provenance=Provenance.TOOL,
        source="file:notes/today.md",
    )


@pytest.mark.parametrize(
    ("first_line", "lines", "text", "more"),
    [
        (1, 2, "one\ntwo\n", True),
        (3, 1, "three\n", True),
        (3, 2, "three\nfour\n", False),
        (4, 9, "four\n", False),
        (5, 9, "", False),
        (99, 9, "", False),
    ],
)
async def test_lines_are_read_from_where_they_are_asked(
    workspace: Path, first_line: int, lines: int, text: str, more: object
) -> None:
    tool = FileReadTool(workspace)
    found = await told(tool, path="notes/today.md", first_line=first_line, lines=lines)
    assert (found["text"], found["more"]) == (text, more)


async def test_a_large_file_is_read_in_parts(workspace: Path) -> None:
    (workspace / "large.txt").write_text("0123456789abcde\n" * 10_000)
    found = await told(FileReadTool(workspace), path="large.txt", lines=10_000)
    assert len(str(found["text"])) == MAX_TEXT_BYTES
    assert found["more"] is True


async def test_lines_that_the_limit_left_out_are_read_next(workspace: Path) -> None:
    """The model is told where to go on: it got fewer lines than it has asked for."""
    lines = [f"{number} {'灯' * 70}\n" for number in range(1, 801)]
    (workspace / "log.txt").write_text("".join(lines))
    parts, first = list[str](), 1
    while True:
        found = await told(FileReadTool(workspace), path="log.txt", first_line=first)
        parts += str(found["text"]).splitlines(keepends=True)
        if not found["more"]:
            break
        before, first = first, int(str(found["next_line"]))
        assert first > before
    assert parts == lines
    assert "next_line" not in found


async def test_a_line_that_goes_on_is_told_as_such(workspace: Path) -> None:
    (workspace / "one.json").write_text("x" * (MAX_TEXT_BYTES + 9) + "\nsecond\n")
    found = await told(FileReadTool(workspace), path="one.json")
    assert (found["text"], found["next_line"]) == ("x" * MAX_TEXT_BYTES, 2)
    assert found["cut"] == "this line goes on: only reading by page shows the rest of it"


def test_a_character_that_the_limit_cuts_is_left_out() -> None:
    excerpt = excerpt_of(io.BytesIO(b"a" + "灯".encode() * 30_000), 1, 10)
    assert excerpt.more
    assert set(excerpt.text) == {"a", "灯"}
    assert len(excerpt.text.encode()) > MAX_TEXT_BYTES - 3


def test_what_is_not_utf_8_is_replaced() -> None:
    assert excerpt_of(io.BytesIO(b"caf\xe9\nend\xe7"), 1, 9) == Excerpt(
        "caf\ufffd\nend\ufffd", more=False
    )


@pytest.mark.parametrize(
    "content",
    [b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "text".encode("utf-16"), b"x" * 9000 + b"\x00"],
)
async def test_what_is_no_text_is_refused_with_a_sentence(workspace: Path, content: bytes) -> None:
    (workspace / "picture").write_bytes(content)
    result = await used(FileReadTool(workspace), path="picture")
    assert not result.success
    assert "not text" in result.text


def test_a_line_beyond_reach_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_SCANNED_BYTES", 1000)
    with pytest.raises(PathRefused, match="too far into the file"):
        excerpt_of(io.BytesIO(b"line\n" * 500), 400, 1)


def test_a_line_longer_than_the_limit_is_passed_over_whole() -> None:
    content = b"x" * (3 * MAX_TEXT_BYTES) + b"\nsecond\n"
    assert excerpt_of(io.BytesIO(content), 2, 1) == Excerpt("second\n", more=False)


@given(st.binary(max_size=60).filter(lambda content: b"\0" not in content), st.integers(1, 9))
def test_reading_line_by_line_gives_the_whole_text(content: bytes, lines: int) -> None:
    parts: list[str] = []
    first = 1
    while True:
        excerpt = excerpt_of(io.BytesIO(content), first, lines)
        parts.append(excerpt.text)
        first += lines
        if not excerpt.more:
            break
    assert "".join(parts) == content.decode(errors="replace")


async def test_a_file_is_written_into_folders_that_are_made(workspace: Path) -> None:
    tool = FileWriteTool(workspace)
    result = await used(tool, path="new/deep/a.txt", content="Grüße 灯")
    assert result == tool_result(success=True, text='{"path":"new/deep/a.txt","bytes":11}')
    assert (workspace / "new/deep/a.txt").read_text() == "Grüße 灯"


async def test_a_file_that_is_too_large_is_not_written(workspace: Path) -> None:
    arguments = WriteArguments("a.txt", "x" * (MAX_CONTENT_BYTES + 1))
    result = await FileWriteTool(workspace).execute(arguments, CONTEXT)
    assert not result.success
    assert "longer than 1048576 bytes" in result.text
    assert not (workspace / "a.txt").exists()


async def test_a_folder_is_listed(workspace: Path) -> None:
    (workspace / "b.txt").write_text("12345")
    result = await used(FileListTool(workspace))
    assert result == tool_result(
        success=True,
        text='{"path":".","entries":[{"name":"b.txt","kind":"file","size_bytes":5},'
        '{"name":"notes","kind":"folder","size_bytes":0}]}',
        provenance=Provenance.TOOL,
    )


@pytest.mark.parametrize("path", [".", "./", "", "notes", "notes/", "./notes", "./notes/"])
async def test_the_ways_in_which_models_write_a_folder(workspace: Path, path: str) -> None:
    entries = (await told(FileListTool(workspace), path=path))["entries"]
    assert isinstance(entries, list)
    assert [entry["name"] for entry in entries] == ["today.md" if "notes" in path else "notes"]


async def test_a_workspace_that_is_not_there_yet_is_empty(tmp_path: Path) -> None:
    assert (await told(FileListTool(tmp_path / "later")))["entries"] == []


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "../secret.txt", "/", "./../secret.txt", "notes/../../secret.txt"]
)
async def test_no_tool_leaves_the_workspace(workspace: Path, path: str) -> None:
    for tool in (FileReadTool(workspace), FileListTool(workspace)):
        result = await used(tool, path=path)
        assert not result.success
        # A refusal may name what was found there
        assert result.provenance is Provenance.TOOL
    result = await used(FileWriteTool(workspace), path=path, content="x")
    assert not result.success
    assert (workspace.parent / "secret.txt").read_text() == "outside"


async def test_a_link_out_of_the_workspace_is_not_followed(workspace: Path) -> None:
    (workspace / "link").symlink_to(workspace.parent)
    result = await used(FileReadTool(workspace), path="link/secret.txt")
    assert not result.success
    assert "outside" not in result.text


async def test_a_card_that_hangs_does_not_hang_the_turn(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = threading.Event()
    monkeypatch.setattr(files, "DISK_TIMEOUT_S", 0.05)
    monkeypatch.setattr(files, "open_beneath", lambda *_: answers.wait())
    try:
        result = await used(FileReadTool(workspace), path="notes/today.md")
    finally:
        answers.set()
    assert not result.success
    assert "did not answer" in result.text


def test_only_writing_is_an_effect(workspace: Path) -> None:
    effects = [tool(workspace).effect for tool in (FileReadTool, FileListTool, FileWriteTool)]
    assert effects == [Effect.READ, Effect.READ, Effect.WRITE]
    # What a file says cannot write another file without a question
    decision = decide(
        GateCall("file_write", Effect.WRITE), Provenance.TOOL, Policy(Autonomy.FULL), {}
    )
    assert decision.verdict is Verdict.ASK


@pytest.mark.parametrize(("number", "more"), [(3, set()), (4, {"more"})])
async def test_a_folder_with_more_than_is_listed_says_so(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, number: int, more: set[str]
) -> None:
    monkeypatch.setattr(files, "MAX_ENTRIES", 3)
    for one in range(number):
        (workspace / "notes" / f"{one}.md").touch()
    (workspace / "notes" / "today.md").unlink()
    told = json.loads((await used(FileListTool(workspace), path="notes")).text)
    assert (len(told["entries"]), told.keys()) == (3, {"path", "entries"} | more)
