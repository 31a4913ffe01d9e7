import re
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import BadArguments
from agent.messages import Effect, Provenance
from agent.tools import glob_search
from agent.tools.files import RESULTS_FOLDER
from agent.tools.glob_search import GlobSearchTool, fits
from tests.fakes.workspace import refused, told, used, workspace_in


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    return workspace_in(tmp_path)


@pytest.mark.parametrize(
    ("pattern", "path", "paths"),
    [
        ("*.txt", ".", ["plan.txt"]),
        ("**/*.md", ".", ["notes/old/may.md", "notes/today.md"]),
        ("./**/*.md", "./notes/", ["notes/old/may.md", "notes/today.md"]),
        ("*.md", "notes", ["notes/today.md"]),
        ("notes/**", ".", ["notes/old/may.md", "notes/today.md"]),
        ("*/today.??", ".", ["notes/today.md"]),
        ("[pn]*.png", ".", ["picture.png"]),
        # As git and shells write it, too
        ("[!p]*.txt", ".", []),
        ("[^p]*.txt", ".", []),
        ("[^]x]*.txt", ".", ["plan.txt"]),
        ("[x^p]*.txt", ".", ["plan.txt"]),
        ("*.pdf", ".", []),
    ],
)
async def test_files_are_found_by_their_names(
    workspace: Path, pattern: str, path: str, paths: list[str]
) -> None:
    found = await told(GlobSearchTool(workspace), pattern=pattern, path=path)
    assert found == {"paths": paths, "more": False}


async def test_names_are_trusted_as_a_tool_is(workspace: Path) -> None:
    result = await used(GlobSearchTool(workspace), pattern="*")
    assert (result.provenance, GlobSearchTool.effect) == (Provenance.TOOL, Effect.READ)


async def test_links_are_not_followed_and_kept_results_not_listed(workspace: Path) -> None:
    (workspace / "way").symlink_to(workspace.parent)
    (workspace / RESULTS_FOLDER).mkdir()
    (workspace / RESULTS_FOLDER / "one.txt").write_text("x")
    assert (await told(GlobSearchTool(workspace), pattern="**/*.txt"))["paths"] == ["plan.txt"]


@pytest.mark.parametrize(
    "pattern", ["/etc/*", "../*", "a/../../*", "a//b", "/", "/".join("a" * 17)]
)
async def test_patterns_that_lead_nowhere_are_refused(workspace: Path, pattern: str) -> None:
    assert "matches no workspace path" in await refused(GlobSearchTool(workspace), pattern=pattern)


@pytest.mark.parametrize("path", ["..", "/etc", "way", "notes/today.md", "absent"])
async def test_folders_outside_are_refused(workspace: Path, path: str) -> None:
    (workspace / "way").symlink_to(workspace.parent)
    await refused(GlobSearchTool(workspace), pattern="*", path=path)


async def test_what_is_too_much_is_said(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(glob_search, "MAX_PATHS", 1)
    found = await told(GlobSearchTool(workspace), pattern="**/*.md")
    assert found == {"paths": ["notes/old/may.md"], "more": True}
    monkeypatch.setattr(glob_search, "MAX_LOOKED_AT", 2)
    assert (await told(GlobSearchTool(workspace), pattern="*.txt"))["more"] is True


def test_arguments_that_make_no_sense_are_refused(workspace: Path) -> None:
    for arguments in ("{}", '{"pattern": ""}', '{"pattern": "*", "follow": true}'):
        with pytest.raises(BadArguments):
            GlobSearchTool(workspace).parse(arguments)


def test_no_pattern_takes_long() -> None:
    began = time.process_time()
    assert not fits(["**"] * 15 + ["x"], ["a"] * 16)
    assert not fits(["*a" * 100 + "b"], ["a" * 255])
    assert time.process_time() - began < 1.0


parts = st.lists(st.sampled_from(["a", "b", "ab"]), min_size=1, max_size=5)


@given(st.lists(st.sampled_from(["**", "*", "a", "b", "a*"]), min_size=1, max_size=5), parts)
def test_patterns_mean_what_an_expression_of_them_means(
    pattern: list[str], path: list[str]
) -> None:
    words = {"**": "(?:/[^/]+)*", "*": "/[^/]+", "a": "/a", "b": "/b", "a*": "/a[^/]*"}
    expression = "".join(words[part] for part in pattern)
    whole = "".join(f"/{part}" for part in path)
    assert fits(pattern, path) == (re.fullmatch(expression, whole) is not None)
