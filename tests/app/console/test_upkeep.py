"""The page of updates and backups in the agent: what is recorded, and a backup now."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any, cast

import pytest
from msgspec.structs import replace

from agent.access.owner import ReachedOwner
from agent.access.people import Person
from agent.app.build import Agent, assemble
from agent.app.console.upkeep import UpkeepViews
from agent.backup.record import LastBackup, write_record
from agent.config import load
from agent.errors import BadArguments
from agent.messages import Attachment
from agent.passage import Passage
from agent.settings import Paths, Settings
from agent.update.records import Held, UpdateOutcome, UpdateRecords
from tests.fakes.lent_agent import quiet_log

OWNER = Person(role="owner", person_id="1", name="Ann")
CONFIG = """
[embeddings]
provider = "none"
[backup]
passphrase_file = "/nowhere/words"
"""


@pytest.fixture
async def agent(tmp_path: Path) -> AsyncIterator[Agent]:
    path = tmp_path / "barnacle.toml"
    path.write_text(CONFIG)
    (tmp_path / "state").mkdir(mode=0o700)
    with quiet_log() as told:
        made = assemble(load(path, Settings), Paths(path, tmp_path / "state"), {}, told)
        made.access.owner = cast("ReachedOwner", ToldOwner())
        yield made
        await made.aclose()


class ToldOwner:
    """Hears what the owner is told."""

    def __init__(self) -> None:
        self.told: list[str] = []

    async def tell(self, text: str) -> None:
        self.told.append(text)

    async def show(self, text: str, files: Sequence[Attachment], line: str) -> None:
        raise AssertionError("nothing is sent")

    async def begin(self, subject: str, words: Passage) -> None:
        raise AssertionError("no turn begins")


class PlayedProgram:
    """The program that makes a backup, as long as a test wants it to take."""

    def __init__(self, state_dir: Path) -> None:
        self._state_dir = state_dir
        self.ends = asyncio.Event()
        self.fails = ""
        self.runs = 0

    async def __call__(self, words: Sequence[str]) -> tuple[int, str]:
        self.runs += 1
        await self.ends.wait()
        if self.fails:
            return 1, f"barnacle: {self.fails}\n"
        folder = self._state_dir / "backups"
        folder.mkdir(exist_ok=True)
        path = folder / f"rosa-{self.runs}.barnacle-backup"
        path.write_bytes(b"x" * 1000)
        write_record(self._state_dir, LastBackup(made_at_s=1e9, where=str(path), size_bytes=1000))
        return 0, ""


@pytest.fixture
async def program(agent: Agent) -> PlayedProgram:
    return PlayedProgram(agent.paths.state_dir)


@pytest.fixture
async def views(agent: Agent, program: PlayedProgram, tmp_path: Path) -> UpkeepViews:
    return UpkeepViews(agent, program, tmp_path)


async def backup_of(views: UpkeepViews) -> dict[str, Any]:
    found: dict[str, Any] = (await views.read(OWNER, {}))["backup"]
    return found


async def until_made(views: UpkeepViews) -> None:
    making = views._making
    assert making is not None
    await making


async def test_a_backup_is_made_now_and_recorded(
    agent: Agent, views: UpkeepViews, program: PlayedProgram
) -> None:
    before = await backup_of(views)
    assert (before["last"], before["files"], before["is_making"]) == (None, [], False)
    await views.back_up(OWNER, {})
    # A second press begins none
    await views.back_up(OWNER, {})
    assert (await backup_of(views))["is_making"]
    program.ends.set()
    await until_made(views)
    after = await backup_of(views)
    assert (after["last"]["size_bytes"], after["last"]["trouble"]) == (1000, "")
    assert [one["name"] for one in after["files"]] == ["rosa-1.barnacle-backup"]
    assert program.runs == 1
    kinds = [(row["kind"], row.get("ok")) for row in rows_of(agent)]
    assert kinds == [("decision", None), ("effect", True)]


async def test_a_backup_that_fails_says_why(views: UpkeepViews, program: PlayedProgram) -> None:
    program.fails = "the disk is full"
    program.ends.set()
    await views.back_up(OWNER, {})
    await until_made(views)
    assert (await backup_of(views))["last"]["trouble"] == "the disk is full"


async def test_without_its_table_there_is_no_backup(agent: Agent) -> None:
    bare = replace(agent, settings=Settings())
    views = UpkeepViews(bare)
    assert not (await backup_of(views))["is_wanted"]
    with pytest.raises(BadArguments):
        await views.back_up(OWNER, {})


async def test_only_a_card_has_slots(views: UpkeepViews, tmp_path: Path) -> None:
    assert (await views.read(OWNER, {}))["update"] is None
    image: dict[str, Any] = {"version": "0.2.0", "built_s": 1, "architecture": "arm64"}
    image["slots"] = {"A": "aa-01", "B": "bb-02"}
    for name, text in (
        ("usr/share/barnacle/image.json", json.dumps(image)),
        ("proc/cmdline", "barnacle.slot=A root=PARTUUID=aa-01"),
    ):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text(text)
    records = UpdateRecords(tmp_path / "data/update")
    records.write(Held("B", "0.1.0"))
    records.write(UpdateOutcome("0.2.0", "0.1.0", is_kept=True, at_s=1e9))
    update = (await views.read(OWNER, {}))["update"]
    assert (update["version"], update["slot"], update["trial"]) == ("0.2.0", "A", None)
    assert update["held"]["version"] == "0.1.0"
    assert update["outcome"]["is_kept"]


async def test_a_program_that_cannot_be_started_is_on_record(agent: Agent, tmp_path: Path) -> None:
    async def missing(_words: Sequence[str]) -> tuple[int, str]:
        raise OSError(12, "Cannot allocate memory")

    views = UpkeepViews(agent, missing, tmp_path)
    await views.back_up(OWNER, {})
    await until_made(views)
    (last,) = (row for row in rows_of(agent) if row["kind"] == "effect")
    assert (last["ok"], last["result"]) == (
        *(False, "the program cannot be started: Cannot allocate memory"),
    )


def rows_of(agent: Agent) -> list[dict[str, Any]]:
    files = sorted(agent.paths.audit.glob("*.jsonl"))
    rows = [json.loads(line) for path in files for line in path.read_text().splitlines()]
    return [row for row in rows if row.get("tool") == "backup"]
