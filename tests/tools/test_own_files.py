"""Files of whoever asks, by the name that stands for their folder."""

import json
from pathlib import Path

import pytest

from agent.messages import Provenance, ToolResult
from agent.security.access import Audience, AudienceRole
from agent.security.received import MINE, folder_of_group, folder_of_person
from agent.security.shares import NOTHING_SHARED
from agent.tools.base import ToolContext
from agent.tools.files import FileListArguments, FileListTool, FileReadTool, ReadArguments
from agent.tools.own_files import own_folder

BOB = Audience(AudienceRole.GUEST, "p1", "Bob")
ANNA = Audience(AudienceRole.OWNER)
IN_GROUP = Audience(AudienceRole.OWNER, "owner", "Anna", "irc_#home")


def context(audience: Audience) -> ToolContext:
    return ToolContext("c", audience.person, Provenance.OWNER, audience=audience)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    for audience in (BOB, ANNA, IN_GROUP):
        folder = tmp_path / own_folder(audience)
        folder.mkdir(parents=True)
        (folder / "Plan.txt").write_text(f"for {folder.name}")
    return tmp_path


async def listed(workspace: Path, audience: Audience) -> ToolResult:
    return await FileListTool(workspace).execute(FileListArguments(MINE), context(audience))


async def read(workspace: Path, path: str, audience: Audience) -> ToolResult:
    return await FileReadTool(workspace).execute(ReadArguments(path), context(audience))


@pytest.mark.parametrize("audience", [BOB, ANNA, IN_GROUP])
@pytest.mark.parametrize("path", [f"{MINE}/Plan.txt", f"{MINE}/plan.TXT", "Plan.txt", "plan.txt"])
async def test_everybody_finds_what_they_sent(
    workspace: Path, audience: Audience, path: str
) -> None:
    told = await listed(workspace, audience)
    assert json.loads(told.text)["entries"][0]["name"] == "Plan.txt"
    found = await read(workspace, path, audience)
    place = own_folder(audience)
    assert json.loads(found.text)["text"] == f"for {place.rpartition('/')[2]}"
    assert json.loads(found.text)["path"] == f"{place}/Plan.txt"
    # Trusted like a page, whatever it was called
    assert found.words.provenance is told.words.provenance is Provenance.WEB


async def test_a_file_of_the_workspace_comes_first(workspace: Path) -> None:
    (workspace / "Plan.txt").write_text("the agent's")
    found = await read(workspace, "Plan.txt", ANNA)
    assert json.loads(found.text)["text"] == "the agent's"


async def test_who_has_sent_nothing_has_nothing(workspace: Path) -> None:
    eve = Audience(AudienceRole.GUEST, "p2", "Eve")
    assert json.loads((await listed(workspace, eve)).text)["entries"] == []
    assert not (await read(workspace, "plan.txt", eve)).success


@pytest.mark.parametrize("path", [f"{MINE}/../p1/Plan.txt", f"{MINE}/..", f"{MINE}/a/b", "mine"])
async def test_it_leads_nowhere_else(workspace: Path, path: str) -> None:
    assert not (await read(workspace, path, ANNA)).success
    shown = FileReadTool(workspace).shows(ReadArguments(path))
    assert shown.files == (path,)


@pytest.mark.parametrize("audience", [BOB, ANNA, IN_GROUP])
def test_nobody_is_asked_for_what_one_sent_oneself(workspace: Path, audience: Audience) -> None:
    for shown in (
        FileReadTool(workspace).shows(ReadArguments(f"{MINE}/Plan.txt")),
        FileListTool(workspace).shows(FileListArguments(MINE)),
    ):
        assert not NOTHING_SHARED.holdings(shown, audience.person)
        # The conversation holds something private from then on
        assert shown.taints


def test_nobodys_folder_is_called_so() -> None:
    assert folder_of_person("mine") != "mine"
    assert folder_of_group("mine") != "mine"
