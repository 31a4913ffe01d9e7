import errno
import json
import os
import threading
from pathlib import Path

import pytest

from agent.messages import Provenance, ToolResult
from agent.tools import results
from agent.tools.base import ToolContext
from agent.tools.files import RESULTS_FOLDER, FileReadTool, FileWriteTool
from agent.tools.result_names import trust_of
from agent.tools.results import (
    MAX_KEPT_AGE_S,
    MAX_KEPT_BYTES,
    MAX_KEPT_FILES,
    MAX_KEPT_TOTAL_BYTES,
    MAX_LINE_CHARS,
    MAX_RESULT_BYTES,
    Results,
)
from tests.fakes.clock import SteppedClock
from tests.fakes.many_tools import NamedTool
from tests.fakes.said import tool_result
from tests.fakes.tools import PageTool

CONTEXT = ToolContext("terminal_owner", "owner", Provenance.OWNER)
ROWS = [{"name": f"row {n}", "说明": "雨"} for n in range(4000)]


@pytest.fixture
def keeper(tmp_path: Path) -> Results:
    return Results(tmp_path, SteppedClock())


async def bounded(
    keeper: Results, text: str, provenance: Provenance = Provenance.OWNER, name: str = "page"
) -> ToolResult:
    result = tool_result(success=True, text=text, provenance=provenance, source="a page")
    return await keeper.bounded(NamedTool(name, "Read a page."), result)


def kept(keeper: Results) -> list[Path]:
    return sorted((keeper.workspace / RESULTS_FOLDER).glob("*"))


async def test_a_short_result_is_left_alone(keeper: Results) -> None:
    assert (await bounded(keeper, "short")).text == "short"
    assert not (keeper.workspace / RESULTS_FOLDER).exists()


async def test_a_long_result_is_cut_by_its_entries_and_says_how_to_read_on(keeper: Results) -> None:
    result = await bounded(keeper, json.dumps({"rows": ROWS}), Provenance.WEB)
    told = json.loads(result.text)
    (file,) = kept(keeper)
    assert len(result.text.encode()) <= MAX_RESULT_BYTES
    assert told["rows"] == ROWS[: len(told["rows"])]
    assert f"{RESULTS_FOLDER}/{file.name}" in told["cut"]
    assert "file_read" in told["cut"]
    assert (result.success, result.provenance, result.source) == (True, Provenance.WEB, "a page")


async def test_the_whole_can_be_read_on_in_parts(keeper: Results) -> None:
    await bounded(keeper, json.dumps({"rows": ROWS}), Provenance.WEB)
    assert json.loads(kept(keeper)[0].read_text()) == {"rows": ROWS}
    reader = FileReadTool(keeper.workspace)
    path = f"{RESULTS_FOLDER}/{kept(keeper)[0].name}"
    arguments = json.dumps({"path": path, "first_line": 15_990, "lines": 20})
    read = await reader.execute(reader.parse(arguments), CONTEXT)
    assert "row 3997" in read.text
    assert (await keeper.bounded(reader, read)) == read


@pytest.mark.parametrize(
    ("provenance", "read_again"),
    [
        (Provenance.WEB, Provenance.WEB),
        (Provenance.TOOL, Provenance.TOOL),
        # The folder is no safer than any other file
        (Provenance.SENSOR, Provenance.TOOL),
        (Provenance.OWNER, Provenance.TOOL),
    ],
)
async def test_reading_it_again_lowers_the_trust_as_the_first_time(
    keeper: Results, provenance: Provenance, read_again: Provenance
) -> None:
    await bounded(keeper, "line\n" * MAX_RESULT_BYTES, provenance)
    reader = FileReadTool(keeper.workspace)
    path = f"./{RESULTS_FOLDER}/{kept(keeper)[0].name}"
    read = await reader.execute(reader.parse(json.dumps({"path": path})), CONTEXT)
    assert read.success
    assert read.provenance is read_again


@pytest.mark.parametrize(
    "name", ["notes.txt", "0000000001-abcdef12-page.owner.txt.txt", "0000000001-abcdef12-a.no.txt"]
)
def test_what_is_not_named_as_ours_is_trusted_least(name: str) -> None:
    assert trust_of(name) is Provenance.WEB


def test_no_name_makes_a_file_more_than_a_file() -> None:
    assert trust_of("0000000001-abcdef12-page.owner.txt") is Provenance.TOOL


async def test_nothing_can_be_written_among_the_results(keeper: Results) -> None:
    writer = FileWriteTool(keeper.workspace)
    for path in (f"{RESULTS_FOLDER}/x.txt", f"./{RESULTS_FOLDER}/x.txt", RESULTS_FOLDER):
        arguments = writer.parse(json.dumps({"path": path, "content": "x"}))
        written = await writer.execute(arguments, CONTEXT)
        assert not written.success
        assert "only for results" in written.text


async def test_long_lines_are_broken_so_that_they_can_be_read_in_parts(keeper: Results) -> None:
    text = json.dumps({"text": f"{'a line' * 3}\n" * 4000 + "雨" * 20_000}, ensure_ascii=False)
    await bounded(keeper, text)
    lines = kept(keeper)[0].read_text().splitlines()
    assert max(map(len, lines)) <= MAX_LINE_CHARS
    assert len(lines) > 4000


async def test_of_a_huge_result_only_the_first_part_is_kept(keeper: Results) -> None:
    result = await bounded(keeper, "雨\n" * MAX_KEPT_BYTES)
    assert kept(keeper)[0].stat().st_size <= MAX_KEPT_BYTES
    assert f"the first {MAX_KEPT_BYTES} bytes" in result.text
    assert "\ufffd" not in kept(keeper)[0].read_text()


async def test_files_are_bounded_in_number_and_the_oldest_go_first(keeper: Results) -> None:
    for n in range(MAX_KEPT_FILES + 3):
        await bounded(keeper, f"{n}\n" * MAX_RESULT_BYTES)
        await keeper.clock.sleep(1)
    assert len(kept(keeper)) == MAX_KEPT_FILES
    assert kept(keeper)[0].read_text().startswith("3\n")


async def test_files_are_bounded_in_bytes(keeper: Results) -> None:
    for n in range(6):
        await bounded(keeper, f"{n}" * MAX_KEPT_BYTES)
        await keeper.clock.sleep(1)
    sizes = [file.stat().st_size for file in kept(keeper)]
    assert sum(sizes) <= MAX_KEPT_TOTAL_BYTES
    assert kept(keeper)[-1].read_text().startswith("5")


async def test_files_are_bounded_in_age(keeper: Results) -> None:
    await bounded(keeper, "old\n" * MAX_RESULT_BYTES)
    (keeper.workspace / RESULTS_FOLDER / "mine.txt").write_text("put here by a person")
    await keeper.clock.sleep(MAX_KEPT_AGE_S + 2)
    await bounded(keeper, "new\n" * MAX_RESULT_BYTES)
    new, mine = kept(keeper)
    assert new.read_text().startswith("new")
    assert mine.name == "mine.txt"


async def test_a_name_that_no_file_can_have_is_made_plain(keeper: Results) -> None:
    await bounded(keeper, "x" * 2 * MAX_RESULT_BYTES, name="../../etc/passwd " + "x" * 200)
    await bounded(keeper, "x" * 2 * MAX_RESULT_BYTES, name="")
    assert len(kept(keeper)) == 2


async def test_a_folder_that_is_a_link_keeps_nothing_and_the_model_is_told(
    keeper: Results, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (tmp_path / RESULTS_FOLDER).symlink_to(outside)
    result = await bounded(keeper, json.dumps({"rows": ROWS}))
    assert "could not be kept" in json.loads(result.text)["cut"]
    assert list(outside.iterdir()) == []


async def test_a_full_disk_costs_the_handle_and_not_the_result(
    keeper: Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "no space left")

    monkeypatch.setattr(os, "fsync", full)
    result = await bounded(keeper, json.dumps({"rows": ROWS}))
    told = json.loads(result.text)["cut"]
    assert "could not be kept" in told
    assert os.strerror(errno.ENOSPC) in told


async def test_a_storage_that_hangs_costs_the_handle_and_not_the_result(
    keeper: Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(results, "DISK_TIMEOUT_S", 0.05)
    goes_on = threading.Event()
    monkeypatch.setattr(os, "fsync", lambda _: goes_on.wait())
    try:
        result = await bounded(keeper, json.dumps({"rows": ROWS}))
    finally:
        goes_on.set()
    told = json.loads(result.text)["cut"]
    assert told == "the rest could not be kept: the storage did not answer in time"


async def test_a_failure_that_talks_too_much_is_cut_too(keeper: Results) -> None:
    failed = tool_result(success=False, text="no " * MAX_RESULT_BYTES)
    result = await keeper.bounded(PageTool(), failed)
    assert not result.success
    assert len(result.text.encode()) <= MAX_RESULT_BYTES
