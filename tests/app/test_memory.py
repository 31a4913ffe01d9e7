import asyncio
import json
import sqlite3
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from agent.app.memory import AgentMemory, open_memory
from agent.embeddings.none import NoEmbedder
from agent.memory.base import CONVERSATION, Scope
from agent.memory.consolidation import Listen
from agent.memory.hygiene import last_report
from agent.memory.settings import MemorySettings
from agent.messages import Inbound, Provenance
from agent.messaging import inbox
from agent.messaging.journal import InboxState, open_agent_db
from agent.settings import Paths, Settings
from agent.storage.worker import DatabaseWorker
from agent.system.clock import SystemClock
from agent.tools.base import ToolContext
from agent.turn import history
from agent.turn.history import History
from tests.fakes.clock import SteppedClock
from tests.fakes.embedders import LetterEmbedder
from tests.fakes.provider import ScriptedProvider, UnreachableProvider
from tests.fakes.said import assistant_said, user_said
from tests.waits import PATIENCE_S, wait_until


def heard_in(journal: DatabaseWorker) -> Listen:
    return partial(inbox.answered_since, journal)


class GatedEmbedder(LetterEmbedder):
    """Embeds while the gate is open."""

    def __init__(self) -> None:
        super().__init__()
        self.is_open = asyncio.Event()

    async def embed(self, texts: Sequence[str], *, asked: bool = False) -> NDArray[np.float32]:
        await self.is_open.wait()
        return await super().embed(texts, asked=asked)


CONTEXT = ToolContext("terminal_owner", "owner", Provenance.OWNER)


def opened(root: Path, clock: SteppedClock | None = None, **memory: object) -> AgentMemory:
    settings = Settings(memory=MemorySettings(**memory))  # type: ignore[arg-type]  # its keys
    return open_memory(settings, Paths(None, root), NoEmbedder(), clock or SystemClock())


def names(remembering: AgentMemory) -> set[str]:
    return {tool.name for tool in remembering.tools()}


async def test_documents_are_searched_where_there_is_a_folder_of_them(tmp_path: Path) -> None:
    without = opened(tmp_path)
    assert "datasheet_search" not in names(without)
    await without.aclose()
    (tmp_path / "workspace" / "documents").mkdir(parents=True)
    (tmp_path / "workspace" / "documents" / "pump.md").write_text("# Pump\nIt hangs on PB0.")
    remembering = opened(tmp_path)
    assert remembering.documents is not None
    await remembering.documents.refresh()
    [tool] = [one for one in remembering.tools() if one.name == "datasheet_search"]
    result = await tool.execute(tool.parse('{"query": "pump"}'), CONTEXT)
    assert json.loads(result.text)["found"][0]["source"] == "pump.md"
    assert result.provenance is Provenance.TOOL
    await remembering.aclose()


async def test_what_the_owner_wrote_is_trusted_when_the_owner_says_so(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "pump.md").write_text("It hangs on PB0.")
    settings = Settings(memory=MemorySettings(documents_trust="owner"))
    paths = Paths(None, tmp_path, chosen_documents=tmp_path / "notes")
    remembering = open_memory(settings, paths, NoEmbedder(), SystemClock())
    assert remembering.documents is not None
    await remembering.documents.refresh()
    [found] = await remembering.documents.search("PB0", 3)
    assert found.provenance is Provenance.OWNER
    await remembering.aclose()


async def test_what_a_person_should_know_is_said(tmp_path: Path) -> None:
    (tmp_path / "workspace" / "documents").mkdir(parents=True)
    remembering = opened(tmp_path)
    assert remembering.sentence() == ""
    (tmp_path / "workspace" / "documents" / "broken.pdf").write_bytes(b"no PDF")
    assert remembering.documents is not None
    await remembering.documents.refresh()
    assert remembering.sentence().startswith("1 documents cannot be read, such as broken.pdf: it")
    await remembering.aclose()


async def test_a_new_model_embeds_everything_again_and_says_how_far_it_is(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    words = opened(tmp_path)
    for number in range(20):
        await words.memory.store("", f"the cat has {number} kittens", scope=Scope("owner"))
    await words.aclose()
    gate = GatedEmbedder()
    remembering = open_memory(Settings(), Paths(None, tmp_path), gate, SystemClock())
    gate.is_open.set()
    # The first question finds by words, and begins the work
    assert await remembering.memory.recall("kittens", 3, Scope("owner"))
    gate.is_open.clear()
    async with asyncio.timeout(PATIENCE_S):
        await wait_until(remembering.sentence)
        assert remembering.sentence() == (
            "20 memories are found by words only, until their vectors are computed"
        )
        gate.is_open.set()
        await remembering.memory._meanings.filling  # type: ignore[attr-defined]  # of this backend
    assert remembering.sentence() == ""
    assert "embedding (memories=20, model=letters-256)" in caplog.text
    assert "embedding done (memories=20, model=letters-256)" in caplog.text
    await remembering.aclose()


async def test_the_end_of_an_agent_that_kept_nothing_makes_no_files(tmp_path: Path) -> None:
    await opened(tmp_path).aclose()
    assert not (tmp_path / "memory" / "hygiene.json").exists()


async def test_the_end_tidies_up_and_takes_a_snapshot(tmp_path: Path) -> None:
    remembering = opened(tmp_path)
    await remembering.memory.store("sister", "Mei is my sister", scope=Scope("owner"))
    await remembering.aclose()
    assert last_report(tmp_path / "memory" / "hygiene.json").memories == 1
    assert "Mei is my sister" in (tmp_path / "memory" / "MEMORY_SNAPSHOT.md").read_text()


async def test_without_a_memory_and_a_model_there_is_nothing_to_do(tmp_path: Path) -> None:
    remembering = opened(tmp_path, backend="none")
    journal = open_agent_db(tmp_path / "agent.db")
    provider = UnreachableProvider()
    provider.name = "offline"
    async with asyncio.timeout(PATIENCE_S):
        await remembering.run(journal, provider, heard_in(journal))
    await remembering.aclose()
    await journal.aclose()


async def test_older_turns_are_summed_up_in_the_background(tmp_path: Path) -> None:
    journal = open_agent_db(tmp_path / "agent.db")
    said = History((user_said("hi " * 400), assistant_said("yes " * 400)), Provenance.OWNER)

    def talk(db: sqlite3.Connection) -> None:
        for _ in range(4):
            history.append(db, "chat", said)
        history.bound(db, "chat", 500, is_summarised=True)

    await journal.transact(talk)
    remembering = opened(tmp_path, SteppedClock(), backend="none")
    provider = ScriptedProvider("about: greetings")
    working = asyncio.create_task(remembering.run(journal, provider, heard_in(journal)))

    async def is_summed_up() -> bool:
        text, _ = await journal.look(lambda db: history.digest_of(db, "chat"))
        return text == "about: greetings"

    await wait_until(is_summed_up)
    working.cancel()
    await asyncio.wait([working])
    await remembering.aclose()
    await journal.aclose()


async def test_what_was_said_becomes_memories_and_facts_in_the_background(tmp_path: Path) -> None:
    text = "My sister is called Mei, by the way"
    inbound = Inbound("1", "terminal", "owner", "local", text, 1.0, Provenance.OWNER)
    journal = open_agent_db(tmp_path / "agent.db")
    accepted = await journal.transact(lambda db: inbox.accept(db, inbound))
    assert accepted is not None
    await journal.transact(lambda db: inbox.close(db, accepted.inbox_id, InboxState.ANSWERED))
    remembering = opened(tmp_path)
    provider = ScriptedProvider('{"facts": [{"fact": "The sister is called Mei"}]}')
    await remembering._consolidation(provider, heard_in(journal)).catch_up()
    kept = await remembering.memory.list(Scope("owner"))
    assert {entry.category for entry in kept} == {"core", CONVERSATION}
    assert all(entry.provenance is Provenance.OWNER for entry in kept)
    await remembering.aclose()
    await journal.aclose()
