from pathlib import Path

from agent.embeddings.none import NoEmbedder
from agent.memory.base import CONVERSATION, Scope
from agent.memory.sqlite import SqliteMemory
from agent.messages import Inbound, Provenance
from agent.messaging.command_reports import NONE_TEXT, board_report, memory_report
from tests.fakes.board import FakeBoard
from tests.fakes.clock import SteppedClock
from tests.fakes.memory import LostMemory

ASKED = Inbound("1", "terminal", "owner", "local", "/memory", 0.0, Provenance.OWNER)


async def test_the_newest_are_told_with_their_source_and_everything_is_counted(
    tmp_path: Path,
) -> None:
    memory = SqliteMemory(tmp_path / "brain.db", NoEmbedder(), SteppedClock())
    mine = Scope("owner")
    await memory.store("", "Mei is\x1b[31m my\nsister", scope=mine, provenance=Provenance.OWNER)
    await memory.store("", "tea heals", scope=mine, source="https://example.org/tea")
    await memory.store("", "what time is it?", category=CONVERSATION, scope=mine)
    await memory.store("", "a guest's secret", scope=Scope("guest"))
    text = await memory_report(memory, ASKED)
    assert text.splitlines()[:3] == [
        "I remember 3 things for you. The newest:",
        "- tea heals (2027-01-15, https://example.org/tea)",
        "- Mei is[31m my sister (2027-01-15)",
    ]
    assert "1 × the owner said it" in text
    assert "2 × an outside source said it, and nobody confirmed it" in text
    assert "secret" not in text
    assert "what time" not in text
    await memory.aclose()


async def test_knowing_nothing_is_said(tmp_path: Path) -> None:
    memory = SqliteMemory(tmp_path / "brain.db", NoEmbedder(), SteppedClock())
    assert await memory_report(memory, ASKED) == "I remember nothing about you yet."
    await memory.aclose()


async def test_a_lost_store_is_a_sentence() -> None:
    assert (
        await memory_report(LostMemory(), ASKED)
        == "The memory cannot be read now: the disk is gone"
    )


def test_a_board_is_told_with_its_pins() -> None:
    text = board_report([FakeBoard()])
    assert "- led (PC13): in, out" in text
    assert "simulated" in text


def test_a_board_that_is_away_says_so_and_what_is_wired_to_it() -> None:
    board = FakeBoard()
    board.unplug()
    text = board_report([board])
    assert text.startswith(f"{board.name}: absent")
    assert "- pump" in text


def test_without_a_board_there_is_none() -> None:
    assert board_report([]) == NONE_TEXT
