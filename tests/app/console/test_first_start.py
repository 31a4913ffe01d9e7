"""The first start in the agent: who is asked, what is shown, and what is recorded."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from agent.access.people import Person
from agent.app.build import Agent, assemble
from agent.app.console.first_start import FirstStart
from agent.config import load
from agent.errors import BadArguments
from agent.security.audit import files_of
from agent.settings import Paths, Settings
from tests.fakes.lent_agent import quiet_log

OWNER = Person(role="owner", person_id="1", name="Ann")
MINE, OTHER = {"browser": "mine"}, {"browser": "other"}
KEY = "sk-typed-by-somebody"
CONFIG = """
[embeddings]
provider = "none"
"""


@pytest.fixture
async def agent(tmp_path: Path) -> AsyncIterator[Agent]:
    path = tmp_path / "barnacle.toml"
    path.write_text(CONFIG)
    (tmp_path / "state").mkdir(mode=0o700)
    with quiet_log() as told:
        made = assemble(load(path, Settings), Paths(path, tmp_path / "state"), {}, told)
        yield made
        await made.aclose()


@pytest.fixture
async def first(agent: Agent) -> AsyncIterator[FirstStart]:
    made = FirstStart(agent)
    yield made
    await made._leave()


async def answered(first: FirstStart, told: dict[str, Any], text: str) -> dict[str, Any]:
    return await first.answer(OWNER, {**MINE, "number": str(told["number"]), "answer": text})


async def test_the_questions_come_one_by_one_and_end_in_the_file(
    agent: Agent, first: FirstStart
) -> None:
    told = await first.read(OWNER, MINE)
    assert told["is_open"]
    assert told["asked"] is None
    told = await first.begin(OWNER, MINE)
    assert told["asked"]["asked"].startswith("Which model service?")
    told = await answered(first, told, "offline")
    told = await answered(first, told, "none")
    assert told["asked"]["is_last"]
    told = await answered(first, told, "y")
    assert not told["is_open"]
    assert agent.paths.config is not None
    assert 'kind = "offline"' in agent.paths.config.read_text()
    rows = "".join(path.read_text() for path in files_of(agent.paths.audit))
    assert rows.count('"tool":"setup"') == 2
    with pytest.raises(BadArguments, match="already"):
        await first.begin(OWNER, MINE)


async def test_no_page_shows_a_typed_key(agent: Agent, first: FirstStart) -> None:
    told = await first.begin(OWNER, MINE)
    told = await answered(first, told, "ollama")
    assert told["asked"]["is_secret"]
    told = await answered(first, told, KEY)
    assert KEY not in str(told)
    assert KEY not in agent.redactor.redact(f"a line with {KEY}")


async def test_an_answer_counts_once_and_from_its_browser_alone(first: FirstStart) -> None:
    told = await first.begin(OWNER, MINE)
    again = await answered(first, told, "nonsense")
    assert again["number"] == told["number"] + 1
    same = await answered(first, told, "offline")
    assert same["number"] == again["number"]
    other = await first.read(OWNER, OTHER)
    assert other["is_elsewhere"]
    assert other["steps"] == []
    await first.answer(OWNER, {**OTHER, "number": str(again["number"]), "answer": "offline"})
    assert (await first.read(OWNER, MINE))["number"] == again["number"]


async def test_begun_anew_the_program_before_is_gone(first: FirstStart) -> None:
    await first.begin(OWNER, MINE)
    before = first._asking
    assert before is not None
    told = await first.begin(OWNER, OTHER)
    assert told["asked"] is not None
    assert before.process.returncode is not None
    assert (await first.read(OWNER, MINE))["is_elsewhere"]


async def test_a_program_that_dies_ends_the_questions(first: FirstStart) -> None:
    await first.begin(OWNER, MINE)
    assert first._asking is not None
    first._asking.process.kill()
    await asyncio.gather(*first._hearing)
    assert (await first.read(OWNER, MINE))["end"] == "left"
