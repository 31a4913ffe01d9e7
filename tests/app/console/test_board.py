"""Reflexes on the page of the boards: what they say, and what one would have done."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

import pytest
from msgspec.structs import replace

from agent.access.people import Person
from agent.app.build import Agent, assemble
from agent.app.console.board import BoardView
from agent.app.console.files import ConsoleFiles
from agent.channels.received_files import ReceivedFiles
from agent.config import load
from agent.errors import BadArguments
from agent.link import frame as wire
from agent.settings import Paths, Settings
from agent.tools.base import Forecast
from tests.fakes.board import FakeBoard
from tests.fakes.lent_agent import quiet_log
from tests.fakes.reflex_table import ReflexTable
from tests.tools.test_reflex import SENTENCE, WATERING, use

OWNER = Person(role="owner", person_id="1", name="Ann")
MINE = {"browser": "mine"}


class Foretells:
    """Says the same of every rule, with a picture."""

    def __init__(self, picture: Path) -> None:
        self.picture = picture
        self.asked: list[str] = []

    async def forecast(self, board: Any, rule: Any, others: Any) -> Forecast:
        self.asked.append(rule.name)
        return Forecast("It would have acted twice.", self.picture)


@pytest.fixture
async def agent(tmp_path: Path) -> AsyncIterator[Agent]:
    path = tmp_path / "barnacle.toml"
    path.write_text('[embeddings]\nprovider = "none"\n')
    (tmp_path / "state").mkdir(mode=0o700)
    with quiet_log() as told:
        made = assemble(load(path, Settings), Paths(path, tmp_path / "state"), {}, told)
        yield made
        await made.aclose()


@pytest.fixture
def board() -> FakeBoard:
    return FakeBoard(link_methods={wire.METHOD_REFLEX: ReflexTable()})


async def test_a_rule_is_told_in_words_and_rehearsed_with_a_picture(
    agent: Agent, board: FakeBoard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await use(board, "reflex_add", **WATERING)
    picture = tmp_path / "rehearsal.png"
    picture.write_bytes(b"drawn")
    files = ConsoleFiles(ReceivedFiles(tmp_path), agent.journal, (tmp_path,), agent.clock)
    agent = replace(agent, boards=cast("Any", (board,)))
    foretells = Foretells(picture)
    monkeypatch.setattr(type(agent.peripherals), "rehearsal", lambda _self: foretells)
    view = BoardView(agent, files)
    (told,) = await view.reflexes(OWNER, MINE)
    (rule,) = told["rules"]
    assert (rule["name"], rule["rule"], rule["slot_state"]) == ("watering", SENTENCE, "active")
    done = await view.rehearse(OWNER, {**MINE, "board": board.name, "name": "watering"})
    assert done["words"] == "It would have acted twice."
    assert foretells.asked == ["watering"]
    _, file, _ = await files.open("mine", done["pictures"][0])
    assert file.read() == b"drawn"
    file.close()
    with pytest.raises(BadArguments):
        await files.open("other", done["pictures"][0])
    with pytest.raises(BadArguments, match="no reflex"):
        await view.rehearse(OWNER, {**MINE, "board": board.name, "name": "nobody"})
    with pytest.raises(BadArguments, match="no such board"):
        await view.rehearse(OWNER, {**MINE, "board": "another", "name": "watering"})
