import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.errors import BadArguments
from agent.messages import Effect, Provenance
from agent.security.paths import WalkEntry, walk_beneath
from agent.tools import content_search, helper_program
from agent.tools.content_search import MAX_FILE_BYTES, ContentSearchTool
from agent.tools.files import RESULTS_FOLDER
from tests.fakes.workspace import refused, told, used, workspace_in

EITHER = pytest.mark.parametrize("regex", [False, True])


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    return workspace_in(tmp_path)


@EITHER
async def test_lines_are_found_with_path_and_number(workspace: Path, regex: object) -> None:
    found = await told(ContentSearchTool(workspace), query="water", regex=regex)
    assert found == {
        "found": [
            {"path": "notes/today.md", "line": 1, "text": "water the basil"},
            {"path": "notes/today.md", "line": 3, "text": "water the mint"},
        ],
        "more": False,
    }


@EITHER
async def test_case_counts_unless_it_is_told_not_to(workspace: Path, regex: object) -> None:
    found = await told(ContentSearchTool(workspace), query="wATER E", regex=regex, ignore_case=True)
    assert found["found"] == [{"path": "notes/old/may.md", "line": 1, "text": "Water everything"}]


async def test_an_expression_is_one_and_words_are_not(workspace: Path) -> None:
    tool = ContentSearchTool(workspace)
    found = await told(tool, query=r"^\w+ \d+ s$", regex=True, path="plan.txt")
    assert found["found"] == [{"path": "plan.txt", "line": 1, "text": "pump 5 s"}]
    assert (await told(tool, query=r"^\w+"))["found"] == []


async def test_marks_of_another_system_are_no_part_of_a_line(workspace: Path) -> None:
    (workspace / "plan.txt").write_bytes("\ufeff# Plan\r\npump 5 s\r\n".encode())
    tool = ContentSearchTool(workspace)
    for query, line, text in ((" s$", 2, "pump 5 s"), ("^# P", 1, "# Plan"), ("n$", 1, "# Plan")):
        found = await told(tool, query=query, regex=True, path="plan.txt")
        assert found["found"] == [{"path": "plan.txt", "line": line, "text": text}]


@EITHER
async def test_only_the_files_that_are_meant_are_looked_through(
    workspace: Path, regex: object
) -> None:
    tool = ContentSearchTool(workspace)
    assert (await told(tool, query="water", files="*.txt", regex=regex))["found"] == []
    assert (await told(tool, query="pump", path="notes", regex=regex))["found"] == []
    assert len(str((await told(tool, query="p", path="plan.txt", regex=regex))["found"])) > 2


async def test_what_is_found_is_trusted_as_a_file_is(workspace: Path) -> None:
    result = await used(ContentSearchTool(workspace), query="water")
    assert (result.provenance, ContentSearchTool.effect) == (Provenance.TOOL, Effect.READ)


@EITHER
async def test_results_are_bounded_and_say_so(workspace: Path, regex: object) -> None:
    (workspace / "many.txt").write_text(("hit " * 2000 + "\n") * 300)
    found = await told(ContentSearchTool(workspace), query="hit", limit=7, regex=regex)
    lines = found["found"]
    assert isinstance(lines, list)
    assert (len(lines), found["more"]) == (7, True)
    assert {len(line["text"]) for line in lines} == {300}


@EITHER
async def test_of_a_long_line_the_part_that_was_found_is_shown(
    workspace: Path, regex: object
) -> None:
    (workspace / "plan.txt").write_text(f"{'before ' * 90}PUMP{' after' * 90}\n{'x' * 400} Pump\n")
    tool = ContentSearchTool(workspace)
    found = await told(tool, query="pump", path="plan.txt", regex=regex, ignore_case=True)
    assert isinstance(found["found"], list)
    middle, end = (line["text"] for line in found["found"])
    assert (middle[0], middle[-1], len(middle)) == ("…", "…", 300)
    assert "before PUMP after" in middle
    assert (end[0], end[-6:], len(end)) == ("…", "x Pump", 300)
    begin = await told(tool, query="before", path="plan.txt", regex=regex)
    assert isinstance(begin["found"], list)
    assert begin["found"][0]["text"].startswith("before before ")


async def test_words_are_found_wherever_they_stand_in_a_line(workspace: Path) -> None:
    (workspace / "one.json").write_text("x" * 50_000 + '"pump": 5}')
    found = await told(ContentSearchTool(workspace), query='"pump"', path="one.json")
    assert isinstance(found["found"], list)
    assert (found["found"][0]["text"][-10:], found["more"]) == ('"pump": 5}', False)


async def test_a_line_that_is_too_long_for_a_pattern_is_owned_up_to(workspace: Path) -> None:
    (workspace / "one.json").write_text("x" * 50_000 + '"pump": 5}')
    found = await told(ContentSearchTool(workspace), query="pump", path="one.json", regex=True)
    assert found == {"found": [], "more": True}


@EITHER
async def test_files_that_are_too_large_are_left_out_and_that_is_said(
    workspace: Path, regex: object
) -> None:
    (workspace / "huge.log").write_bytes(b"water\n" * (MAX_FILE_BYTES // 6 + 1))
    found = await told(ContentSearchTool(workspace), query="water", regex=regex)
    assert found["more"] is True
    assert "huge.log" not in str(found)


@pytest.mark.parametrize(
    "pattern", ["(a+)+$", "(a|a)*$", "(a|aa)+$", "(.*a){20}$", "(?:(?:a*)*)*$", r"^(\w+\s?)*$"]
)
async def test_a_pattern_that_explodes_ends_in_time(
    workspace: Path, pattern: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(content_search, "PATTERN_TIMEOUT_S", 1.0)
    (workspace / "bait.txt").write_text("a" * 60 + "!\n")
    began = time.monotonic()
    result = await used(ContentSearchTool(workspace), query=pattern, regex=True, path="bait.txt")
    assert time.monotonic() - began < 8
    # A newer interpreter may be cleverer than the pattern: then it finds nothing
    assert "simpler pattern" in result.text or result.text == '{"found":[],"more":false}'


async def test_this_process_stays_awake_while_a_pattern_explodes(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(content_search, "PATTERN_TIMEOUT_S", 1.0)
    (workspace / "bait.txt").write_text("a" * 60 + "!\n")
    used_s = time.process_time()
    text = await refused(ContentSearchTool(workspace), query="(a|a)*$", regex=True)
    assert time.process_time() - used_s < 0.7
    assert text == "it took longer than 1 s: use a simpler pattern, or fewer files"


@pytest.mark.parametrize("pattern", ["(", "[a", "*", "(?P<1>a)", "a{2,1}", "\\"])
async def test_what_is_no_expression_is_said(workspace: Path, pattern: str) -> None:
    text = await refused(ContentSearchTool(workspace), query=pattern, regex=True)
    assert text.startswith("the pattern is not a regular expression: ")


@EITHER
@pytest.mark.parametrize(
    "path", ["..", "/etc", "/etc/hostname", "way", "way/secret.txt", "link.txt", RESULTS_FOLDER]
)
async def test_nothing_outside_is_looked_through(workspace: Path, path: str, regex: object) -> None:
    (workspace / "way").symlink_to(workspace.parent)
    (workspace / "link.txt").symlink_to(workspace.parent / "secret.txt")
    (workspace / RESULTS_FOLDER).mkdir()
    (workspace / RESULTS_FOLDER / "page.txt").write_text("private key")
    tool = ContentSearchTool(workspace)
    assert "private key" not in await refused(tool, query="key", path=path, regex=regex)
    assert (await told(tool, query="key", regex=regex))["found"] == []


async def test_a_picture_is_no_text(workspace: Path) -> None:
    text = await refused(ContentSearchTool(workspace), query="water", path="picture.png")
    assert "not text" in text


async def test_a_file_that_becomes_a_link_on_the_way_is_passed_over(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def walk_then_swap(root: Path, relative: str, limit: int) -> Iterator[WalkEntry]:
        for found in walk_beneath(root, relative, limit):
            if found.relative == "plan.txt":
                (workspace / "plan.txt").unlink()
                (workspace / "plan.txt").symlink_to(workspace.parent / "secret.txt")
            yield found

    monkeypatch.setattr(content_search, "walk_beneath", walk_then_swap)
    found = await told(ContentSearchTool(workspace), query="t")
    assert {line["path"] for line in found["found"]} == {"notes/old/may.md", "notes/today.md"}  # type: ignore[attr-defined]  # JSON


async def test_a_slow_card_ends_the_search(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(content_search, "READ_TIMEOUT_S", -1.0)
    monkeypatch.setattr(content_search, "DISK_TIMEOUT_S", 5.0)
    assert (await told(ContentSearchTool(workspace), query="pump"))["more"] is True


async def test_an_answer_that_never_ends_is_cut(tmp_path: Path) -> None:
    program = tmp_path / "endless.py"
    program.write_text("import sys\nwhile True: sys.stdout.write('x' * 65536)\n")
    with pytest.raises(helper_program.LimitsExceeded, match="limit of time or memory"):
        await helper_program.output_of(str(program), [], b"", 10.0)


def test_arguments_that_make_no_sense_are_refused(workspace: Path) -> None:
    for arguments in ("{}", '{"query": ""}', '{"query": "a", "limit": 201}', '{"query": 5}'):
        with pytest.raises(BadArguments):
            ContentSearchTool(workspace).parse(arguments)
