import asyncio
import os
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.memory import lucid_tool
from agent.memory.base import CONVERSATION, CORE, DAILY
from agent.memory.lucid_tool import COOL_DOWN_S, MAX_FOUND, LucidMatch, LucidTool, parse
from agent.text.printable import printable_line
from tests.canaries import secret
from tests.fakes.clock import SteppedClock
from tests.fakes.lucid import FAULTS, misbehaving_program, starts, told, working_program


def test_an_answer_is_items_with_kinds() -> None:
    answer = (
        "a warning\n<lucid-context>\nYou worked on auth.\n"
        "- [decision] Use token refresh middleware\n"
        "- [context] Working in src/auth.rs\n- [bug] It fails\n  on mondays\n"
        "- [visual] a picture \x1b[2J\n- [no\n</lucid-context>\n- [decision] outside"
    )
    assert parse(answer) == [
        LucidMatch("Use token refresh middleware", CORE),
        LucidMatch("Working in src/auth.rs", CONVERSATION),
        LucidMatch("It fails   on mondays", DAILY),
        LucidMatch("a picture [2J - [no", "visual"),
    ]


def test_no_more_is_taken_than_a_prompt_can_use() -> None:
    items = "- [bug] x\n" * 1000
    assert len(parse(f"<lucid-context>\n{items}</lucid-context>") or []) == MAX_FOUND


@pytest.mark.parametrize("answer", ["", " \n"])
def test_nothing_said_is_nothing_found(answer: str) -> None:
    assert parse(answer) == []


@pytest.mark.parametrize("answer", ["hello", "<lucid-context>\n- [bug] x", "</lucid-context>"])
def test_something_else_is_not_an_answer(answer: str) -> None:
    assert parse(answer) is None


@given(st.text() | st.text().map(lambda text: f"<lucid-context>\n- [bug] {text}\n</lucid-context>"))
def test_any_answer_is_read_as_printable_lines(answer: str) -> None:
    for found in parse(answer) or []:
        assert printable_line(found.content, 10_000) == found.content != ""


async def test_what_it_was_told_it_finds(tmp_path: Path) -> None:
    tool = LucidTool(str(working_program(tmp_path)), SteppedClock())
    lucid_is_slow_to_start(tool)
    assert await tool.store("the boiler is old", CORE)
    assert await tool.store("--type=bug; $(touch x)\x00", "place")
    assert told(tmp_path / "lucid") == [
        ("decision", "the boiler is old"),
        ("learning", "--type=bug; $(touch x)"),
    ]
    assert await tool.context("boiler") == [LucidMatch("the boiler is old", CORE)]
    assert await tool.context("nothing of that") == []
    assert not tool.is_resting


def lucid_is_slow_to_start(tool: LucidTool) -> None:
    """On a busy machine a script takes longer than the program itself."""
    assert tool.failure == ""


@pytest.fixture(autouse=True)
def _patience(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if "fault" not in request.fixturenames:
        monkeypatch.setattr(lucid_tool, "RECALL_TIMEOUT_S", 10.0)
        monkeypatch.setattr(lucid_tool, "STORE_TIMEOUT_S", 10.0)


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_program_that_misbehaves_is_left_alone_for_a_while(
    fault: str, tmp_path: Path
) -> None:
    clock = SteppedClock()
    program = misbehaving_program(tmp_path, fault)
    tool = LucidTool(str(program), clock)
    begun_s = time.monotonic()
    assert await tool.context("boiler") == []
    assert time.monotonic() - begun_s < 3
    assert tool.is_resting
    assert tool.failure
    assert not await tool.store("content", CORE)
    assert (await asyncio.to_thread(starts, program)) <= 1
    clock.advance(COOL_DOWN_S)
    assert not tool.is_resting


async def test_a_program_that_is_not_there_is_a_failure(tmp_path: Path) -> None:
    tool = LucidTool(str(tmp_path / "none"), SteppedClock())
    assert await tool.context("boiler") == []
    assert "cannot be started" in tool.failure


async def test_it_gets_none_of_our_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", secret("provider"))
    program = tmp_path / "lucid"
    program.write_text("#!/bin/sh\nenv > $0.env\n")
    program.chmod(0o755)
    await LucidTool(str(program), SteppedClock()).store("content", CORE)
    said = await asyncio.to_thread(Path(f"{program}.env").read_text)
    assert secret("provider") not in said
    assert f"HOME={os.environ['HOME']}" in said
