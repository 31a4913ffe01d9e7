import os
import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from agent.embeddings.none import NoEmbedder
from agent.errors import MemoryUnavailable
from agent.memory.base import CONVERSATION, CORE, DAILY, Memory
from agent.memory.markdown import MarkdownMemory
from agent.messages import Provenance
from tests.contracts.memory import APPENDING, EVERYBODY, MEI
from tests.fakes.clock import SteppedClock

Check = Callable[[Memory], Awaitable[None]]


def memory_in(folder: Path) -> MarkdownMemory:
    return MarkdownMemory(folder, NoEmbedder(), SteppedClock())


def text(path: Path) -> str:
    return path.read_text()


def write(path: Path, content: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(content)


def append(path: Path, content: str) -> None:
    with path.open("a") as file:
        file.write(content)


@pytest.mark.parametrize("check", APPENDING, ids=lambda check: check.__name__)
async def test_it_does_what_every_backend_that_appends_does(check: Check, tmp_path: Path) -> None:
    memory = memory_in(tmp_path)
    await check(memory)
    await memory.aclose()


async def test_core_memories_and_days_have_their_files(tmp_path: Path) -> None:
    memory = memory_in(tmp_path)
    await memory.store("sister", "my sister is called 小美", scope=MEI)
    await memory.store("rain", "it rained", category=DAILY, scope=MEI)
    assert "- **sister**: my sister is called 小美\n" in text(tmp_path / "MEMORY.md")
    assert "- **rain**: it rained\n" in text(tmp_path / "memory" / "2027-01-15.md")
    await memory.aclose()


async def test_nothing_is_ever_taken_out(tmp_path: Path) -> None:
    memory = memory_in(tmp_path)
    await memory.store("tea", "likes green tea", scope=MEI)
    before = text(tmp_path / "MEMORY.md")
    assert not await memory.forget("tea", MEI)
    await memory.store("tea", "likes black tea", scope=MEI)
    assert text(tmp_path / "MEMORY.md").startswith(before)
    assert [entry.content for entry in await memory.list(MEI)] == ["likes black tea"]
    await memory.aclose()


async def test_everything_is_there_after_a_restart(tmp_path: Path) -> None:
    first = memory_in(tmp_path)
    await first.store("a", "the old word", scope=MEI)
    kept = [
        await first.store("a", "two\n\nlines", scope=MEI, provenance=Provenance.OWNER),
        await first.store("b", "\x00 odd \x1b\r\n", category=DAILY, source="a -->"),
    ]
    await first.aclose()
    second = memory_in(tmp_path)
    assert [entry async for entry in second.entries()] == kept
    await second.aclose()


async def test_what_was_said_earlier_than_it_was_stored_keeps_what_is_done_with_it(
    tmp_path: Path,
) -> None:
    first = memory_in(tmp_path)
    allergy = await first.store("allergy", "never any penicillin", scope=MEI)
    await first.mark("allergy", MEI, said_at_s=allergy.created_at_s - 5.0)
    await first.mark("allergy", MEI, pinned=True)
    boiler = await first.store("boiler", "is of 1998", category=CONVERSATION, scope=MEI)
    await first.restore(replace(boiler, category=CORE))
    kept = [entry async for entry in first.entries()]
    assert [(entry.pinned, entry.category) for entry in kept] == [(True, CORE), (False, CORE)]
    await first.aclose()
    second = memory_in(tmp_path)
    assert [entry async for entry in second.entries()] == kept
    await second.aclose()


async def test_a_clock_that_was_set_back_undoes_nothing(tmp_path: Path) -> None:
    for wall_s, content in ((1_800_000_000.0, "likes green tea"), (1_700_000_000.0, "no tea")):
        memory = MarkdownMemory(tmp_path, NoEmbedder(), SteppedClock(wall_s))
        await memory.store("tea", content, scope=MEI)
        await memory.aclose()
    memory = memory_in(tmp_path)
    assert [entry.content for entry in await memory.list(MEI)] == ["no tea"]
    await memory.aclose()


async def test_a_mark_at_the_beginning_of_a_file_makes_nothing_everybodys(tmp_path: Path) -> None:
    memory = memory_in(tmp_path)
    await memory.store("tea", "no tea", scope=MEI, provenance=Provenance.OWNER)
    await memory.aclose()
    path = tmp_path / "MEMORY.md"
    # An editor of Windows puts it there; the person took the heading out
    items = path.read_bytes().partition(b"\n\n")[2]
    path.write_bytes(b"\xef\xbb\xbf" + items)
    again = memory_in(tmp_path)
    [kept] = await again.list(MEI)
    assert (kept.content, kept.scope, kept.provenance) == ("no tea", MEI, Provenance.OWNER)
    assert await again.list(EVERYBODY) == []
    await again.aclose()


async def test_what_is_written_by_hand_counts_at_once_and_is_trusted_least(tmp_path: Path) -> None:
    write(
        tmp_path / "MEMORY.md", "# My notes\n\nSome text.\n\n- **goat**: is called Lin\n- likes hay"
    )
    memory = memory_in(tmp_path)
    listed = await memory.list(EVERYBODY)
    assert {entry.content for entry in listed} == {"is called Lin", "likes hay"}
    assert {entry.provenance for entry in listed} == {Provenance.WEB}
    append(tmp_path / "MEMORY.md", "\n- **hen**: is called Ada\n")
    assert (await memory.recall("Ada", 1, EVERYBODY))[0].key == "hen"
    await memory.store("goat", "is called Bo now")
    await memory.aclose()
    again = memory_in(tmp_path)
    # What was said later wins, and what stood without an end of line is whole
    assert {entry.content for entry in await again.list(EVERYBODY)} == {
        "is called Bo now",
        "likes hay",
        "is called Ada",
    }
    await again.aclose()


@pytest.mark.parametrize("number", ['"x"', "null", "1.5", "[1]"])
async def test_a_number_that_a_slip_has_changed_stops_nothing(tmp_path: Path, number: str) -> None:
    memory = memory_in(tmp_path)
    for key in ("hen", "goat"):
        await memory.store(key, f"the {key} is fed", scope=MEI)
    await memory.aclose()
    file = tmp_path / "MEMORY.md"
    file.write_text(text(file).replace('"id": 1,', f'"id": {number},'))
    again = memory_in(tmp_path)
    assert {entry.key for entry in await again.list(MEI)} == {"hen", "goat"}
    await again.aclose()


@pytest.mark.parametrize("lost", [2, 3, 5, 12])
async def test_the_end_of_a_memory_that_a_power_cut_took_takes_nothing_with_it(
    lost: int, tmp_path: Path
) -> None:
    path = tmp_path / "MEMORY.md"
    memory = memory_in(tmp_path)
    await memory.store("a", "whole", scope=MEI)
    before = text(path)
    await memory.store("b", "do\nnot\nwater it", scope=MEI)
    await memory.aclose()
    write(path, text(path)[: -lost - 1])
    again = memory_in(tmp_path)
    await again.store("c", "after", scope=MEI)
    await again.aclose()
    last = memory_in(tmp_path)
    assert {entry.content for entry in await last.list(MEI)} == {"whole", "after"}
    assert text(path).startswith(before)
    await last.aclose()


async def test_a_store_that_cannot_be_written_is_not_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = memory_in(tmp_path)
    await memory.store("a", "content", scope=MEI)
    before = text(tmp_path / "MEMORY.md")

    def full(_: int) -> None:
        raise OSError(28, os.strerror(28))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(MemoryUnavailable, match="No space left"):
            await memory.store("b", "content", scope=MEI)
    assert [entry.key for entry in await memory.list(MEI)] == ["a"]
    assert text(tmp_path / "MEMORY.md") == before
    await memory.aclose()


async def test_git_takes_the_files_for_text(tmp_path: Path) -> None:
    memory = memory_in(tmp_path)
    await memory.store("odd \x00", "\x00\x01 control \u2028", scope=MEI)
    await memory.aclose()
    found = await_file(tmp_path / "MEMORY.md")
    assert b"\x00" not in found


def await_file(path: Path) -> bytes:
    return subprocess.run(["cat", path], capture_output=True, check=True).stdout
