"""The owner's settings in the agent: what a browser is shown, and what its forms do."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from agent.access.people import Person
from agent.app.build import Agent, assemble
from agent.app.console import settings_program
from agent.app.console.settings import PLANNED_S, SettingsViews
from agent.app.console.settings_program import ask_program
from agent.app.console.settings_request import SettingsAnswer, SettingsRequest, hash_of
from agent.config import load
from agent.errors import ConfigRefused
from agent.provision.settings_change import SettingsChange
from agent.provision.settings_plan import ProvisionPaths
from agent.settings import Paths, Settings
from tests.fakes.clock import SteppedClock
from tests.fakes.lent_agent import quiet_log

OWNER = Person(role="owner", person_id="1", name="Ann")
BROWSER = {"browser": "one"}
CONFIG = """\
# By hand
[agent]
name = "Rosa"
[embeddings]
provider = "none"
[channels.telegram]
token = "123456:of-telegram-with-many-letters"
"""


@pytest.fixture
async def agent(tmp_path: Path) -> AsyncIterator[Agent]:
    path = tmp_path / "barnacle.toml"
    path.write_text(CONFIG)
    (tmp_path / "state").mkdir(mode=0o700)
    paths = Paths(path, tmp_path / "state")
    with quiet_log() as told:
        made = assemble(load(path, Settings), paths, {}, told)
        yield made
        await made.aclose()


async def here(config: Path, request: SettingsRequest) -> SettingsAnswer:
    """The program's work, without a process of its own."""
    return await asyncio.to_thread(SettingsChange(ProvisionPaths(config)).answer, request)


async def failing(_config: Path, _request: SettingsRequest) -> SettingsAnswer:
    raise ConfigRefused("the program failed")


@pytest.fixture
def views(agent: Agent) -> SettingsViews:
    return SettingsViews(agent, here)


async def planned(views: SettingsViews, section: str, **typed: str) -> dict[str, Any]:
    seen = (await views.read(OWNER, BROWSER))["seen"]
    values = {f"v.{name}": value for name, value in typed.items()}
    return await views.check(OWNER, {**BROWSER, "section": section, "seen": seen, **values})


def audited(agent: Agent) -> list[dict[str, Any]]:
    files = sorted(agent.paths.audit.glob("*.jsonl"))
    rows = [json.loads(line) for path in files for line in path.read_text().splitlines()]
    return [row for row in rows if "settings" in str(row)]


async def test_a_section_is_shown_without_its_secrets(views: SettingsViews) -> None:
    told = await views.read(OWNER, {**BROWSER, "section": "channels.telegram"})
    assert (told["state"], told["name"]) == ("ready", "Rosa")
    fields = {one["name"]: one for one in told["section"]["fields"]}
    assert (fields["token"]["is_set"], fields["token"]["value"]) == (True, "")
    assert "123456" not in str(told)
    assert "section" not in await views.read(OWNER, BROWSER)
    assert "section" not in await views.read(OWNER, {**BROWSER, "section": "nothing"})


async def test_a_change_is_taken_once_and_recorded(agent: Agent, views: SettingsViews) -> None:
    config = agent.paths.config
    assert config is not None
    answer = await planned(views, "agent", name="Iris")
    assert answer["verdict"] == "planned"
    assert config.read_text() == CONFIG
    taken = await views.take(OWNER, {**BROWSER, "change": answer["change"]})
    assert taken["verdict"] == "taken"
    assert config.read_text() == CONFIG.replace("Rosa", "Iris")
    again = await views.take(OWNER, {**BROWSER, "change": answer["change"]})
    assert again["verdict"] == "changed_meanwhile"
    decision, effect = audited(agent)
    assert (decision["kind"], decision["person"], decision["arguments"]) == (
        *("decision", "Ann", "agent.name"),
    )
    assert (effect["kind"], effect["ok"], effect["result"]) == ("effect", True, "agent.name")


async def test_another_browser_cannot_take_a_change(agent: Agent, views: SettingsViews) -> None:
    answer = await planned(views, "agent", name="Iris")
    other = {"browser": "two", "change": answer["change"]}
    assert (await views.take(OWNER, other))["verdict"] == "changed_meanwhile"
    assert audited(agent) == []


async def test_a_change_does_not_wait_for_ever(agent: Agent, tmp_path: Path) -> None:
    clock = SteppedClock()
    views = SettingsViews(replace(agent, clock=clock), here)
    first = await planned(views, "agent", name="Iris")
    for number in range(4):
        last = await planned(views, "agent", name=f"Iris {number}")
    taken = await views.take(OWNER, {**BROWSER, "change": first["change"]})
    assert taken["verdict"] == "changed_meanwhile"
    clock.advance(PLANNED_S + 1)
    taken = await views.take(OWNER, {**BROWSER, "change": last["change"]})
    assert taken["verdict"] == "changed_meanwhile"
    assert (tmp_path / "barnacle.toml").read_text() == CONFIG


async def test_the_missing_word_keeps_the_change_at_hand(views: SettingsViews) -> None:
    answer = await planned(views, "agent", autonomy="full")
    assert answer["openings"] == ("limits",)
    wanted = {**BROWSER, "change": answer["change"]}
    assert (await views.take(OWNER, {**wanted, "confirmed": "x"}))["verdict"] == "confirm"
    assert (await views.take(OWNER, {**wanted, "confirmed": "Rosa"}))["verdict"] == "taken"


async def test_what_is_typed_as_a_secret_is_kept_out_of_the_log(
    agent: Agent, views: SettingsViews
) -> None:
    secret = "999999:another-token-of-telegram"
    answer = await planned(views, "channels.telegram", token=secret)
    assert secret not in str(answer)
    assert secret not in agent.redactor.redact(f"token {secret}")
    # Nor shown where it was pasted by mistake
    assert secret not in str((await planned(views, "agent", name=secret))["diff"])
    await views.take(OWNER, {**BROWSER, "change": answer["change"], "confirmed": "Rosa"})
    assert secret not in str(audited(agent))


async def test_a_program_that_fails_changes_nothing(agent: Agent) -> None:
    views = SettingsViews(agent, failing)
    answer = await planned(views, "agent", name="Iris")
    assert answer["verdict"] == "refused"
    assert answer["problems"] == ({"key": "", "text": "the program failed"},)


async def test_a_broken_file_is_said_to_be(agent: Agent, views: SettingsViews) -> None:
    config = agent.paths.config
    assert config is not None
    config.write_text("[agent]\nnme = 1\n")
    told = await views.read(OWNER, BROWSER)
    assert told["state"] == "broken"
    assert "unknown key" in told["why"]


async def test_the_program_answers_as_a_process(tmp_path: Path) -> None:
    config = tmp_path / "barnacle.toml"
    config.write_text("[agent]\nname = 'Rosa'\n")
    request = SettingsRequest(("agent",), hash_of(config.read_bytes()), {"name": "Iris"})
    answer = await ask_program(config, request)
    assert '+name = "Iris"' in answer.diff


async def test_a_program_that_gives_no_answer_is_said_to_have_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A module of Python's own that prints something else
    monkeypatch.setattr(settings_program, "_PROGRAM", "this")
    with pytest.raises(ConfigRefused, match="barnacle check"):
        await ask_program(tmp_path / "barnacle.toml", SettingsRequest(("agent",), "", {}))
