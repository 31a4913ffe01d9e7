import sys
from pathlib import Path

import pytest
from msgspec import structs
from msgspec.structs import replace

from agent.health.base import Finding, Level, Patient
from agent.health.checks import config
from agent.health.checks.config import check_config
from agent.schedule.job import State
from agent.schedule.job_store import JobStore
from agent.tools.mcp import server as server_module
from agent.tools.mcp.offer import ToolOffer
from agent.tools.mcp.servers import pins_in
from agent.tools.mcp.settings import McpSettings
from agent.turn.prompt_files import APPROVALS_FILE, ProjectFiles
from tests.fakes.job_run import job


async def test_no_file_is_fine(patient: Patient) -> None:
    assert (await check_config(patient)).level is Level.OK


async def test_a_refusal_is_failed_with_its_first_line(patient: Patient) -> None:
    found = await check_config(
        replace(patient, refusal="b.toml: `a`: unknown key\nb.toml: `b`: wrong")
    )
    assert found.level is Level.FAILED
    assert found.sentence == "b.toml: `a`: unknown key (and 1 more: run `barnacle check`)"


@pytest.mark.parametrize(
    ("mode", "level"),
    [(0o600, Level.OK), (0o640, Level.OK), (0o644, Level.WARNING), (0o666, Level.FAILED)],
)
async def test_a_file_with_a_key_is_kept_from_others(
    patient: Patient, tmp_path: Path, mode: int, level: Level
) -> None:
    path = tmp_path / "barnacle.toml"
    path.write_text("")
    path.chmod(mode)
    found = await check_config(replace(patient, config=path, holds_key=True))
    assert found.level is level


async def test_a_file_without_a_key_may_be_read_by_all(patient: Patient, tmp_path: Path) -> None:
    path = tmp_path / "barnacle.toml"
    path.write_text("")
    path.chmod(0o644)
    assert (await check_config(replace(patient, config=path))).level is Level.OK


async def test_files_of_the_owners_are_named_with_what_to_do(
    patient: Patient, tmp_path: Path
) -> None:
    looked_at = structs.replace(patient, workspace=tmp_path)
    assert (await config.check_prompt(looked_at)).sentence == "no files of yours in it"
    (tmp_path / "SOUL.md").write_text("Be kind.")
    finding = await config.check_prompt(looked_at)
    assert finding.level is Level.OK
    assert "SOUL.md (see `barnacle prompt show NAME`)" in finding.sentence
    files = ProjectFiles(tmp_path, patient.state_dir / APPROVALS_FILE)
    for one in files.every():
        files.approve(one.name, one.digest)
    assert (await config.check_prompt(looked_at)).sentence == "SOUL.md"


async def test_an_identity_that_does_not_count_is_said(patient: Patient, tmp_path: Path) -> None:
    nowhere = structs.replace(patient, workspace=tmp_path / "none", identity="me.json")
    assert (await config.check_prompt(nowhere)).level is Level.WARNING
    looked_at = structs.replace(patient, workspace=tmp_path, identity="me.json")
    missing = await config.check_prompt(looked_at)
    assert missing.level is Level.WARNING
    assert missing.sentence.startswith("no me.json in the workspace")
    (tmp_path / "me.json").write_text('{"identity": 7}')
    invalid = await config.check_prompt(looked_at)
    assert invalid.level is Level.WARNING
    assert "$.identity: must be an object or a text, not 7" in invalid.sentence
    (tmp_path / "me.json").write_text('{"identity": "Ada."}')
    (tmp_path / "IDENTITY.md").write_text("Otto.")
    assert "me.json" in (await config.check_prompt(looked_at)).sentence
    files = ProjectFiles(tmp_path, patient.state_dir / APPROVALS_FILE, "me.json")
    for one in files.every():
        files.approve(one.name, one.digest)
    assert (await config.check_prompt(looked_at)).sentence == "me.json"


async def test_without_a_workspace_there_is_nothing_to_say(patient: Patient) -> None:
    assert (await config.check_prompt(patient)).level is Level.OK


WATER = ToolOffer("garden", "water", "mcp_garden_water", "Water it.", {"properties": {}}, "a" * 64)


@pytest.fixture
def gardener(patient: Patient) -> Patient:
    return structs.replace(patient, mcp={"garden": McpSettings(command=(sys.executable,))})


async def test_it_says_what_the_owner_has_not_agreed_to(
    patient: Patient, gardener: Patient
) -> None:
    assert await config.check_mcp(patient) == Finding.ok("no MCP servers configured")
    finding = await config.check_mcp(gardener)
    assert finding.level is Level.WARNING
    assert "no approved tools of garden" in finding.sentence
    assert "`barnacle mcp approve garden`" in finding.sentence
    pins = pins_in(patient.state_dir / "mcp")
    pins.approve([WATER])
    assert await config.check_mcp(gardener) == Finding.ok("1 servers, 1 approved tools")
    pins.hold(pins.every())
    finding = await config.check_mcp(gardener)
    assert finding.level is Level.WARNING
    assert "garden changed water, so they are not used" in finding.sentence


async def test_it_says_what_is_missing(gardener: Patient, monkeypatch: pytest.MonkeyPatch) -> None:
    absent = structs.replace(gardener, mcp={"shed": McpSettings(command=("nosuch",))})
    finding = await config.check_mcp(absent)
    assert finding.level is Level.FAILED
    assert "shed: nosuch is not in" in finding.sentence
    monkeypatch.setattr(server_module.importlib.util, "find_spec", lambda _name: None)
    finding = await config.check_mcp(gardener)
    assert finding.level is Level.FAILED
    assert "`.venv/bin/pip install '.[mcp]'`" in finding.sentence


async def test_without_jobs_there_is_nothing_to_do_and_no_file(patient: Patient) -> None:
    found = await config.check_jobs(patient)
    assert (found.level, found.sentence) == (Level.OK, "no jobs")
    assert not patient.state_dir.exists()


async def test_those_that_wait_and_rest_are_counted(patient: Patient) -> None:
    store = JobStore(patient.state_dir / "jobs.json")
    store.add(job("a", every_s=900.0))
    store.add(job("b", every_s=900.0, state=State.PAUSED))
    found = await config.check_jobs(patient)
    assert (found.level, found.sentence) == (Level.OK, "1 waiting, 1 paused")


async def test_what_fails_is_named_with_the_remedy(patient: Patient) -> None:
    store = JobStore(patient.state_dir / "jobs.json")
    for name in "abcde":
        store.add(job(name, every_s=900.0, failures=1, result="failed: the channel is deaf"))
    found = await config.check_jobs(patient)
    assert found.level is Level.WARNING
    assert "a (waiting) failed: the channel is deaf" in found.sentence
    assert "2 more failed" in found.sentence
    assert "barnacle jobs resume" in found.sentence
