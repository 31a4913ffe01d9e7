"""OpenClaw with several agents and accounts, by its docs/concepts/multi-agent.md."""

import json
from pathlib import Path
from typing import Any

import pytest

from agent.provision.foreign_agent import read_agent
from agent.provision.foreign_jobs import Left

_USUAL = {"model": {"primary": "ollama/qwen3"}}
_WORK = {"id": "work", "workspace": "~/.openclaw/workspace-work", "model": "openai/gpt-5"}


@pytest.mark.parametrize(
    ("agents", "chosen"),
    [
        ([{"id": "home", "workspace": "~/.openclaw/workspace-home"}, _WORK], "home"),
        ([{"id": "home"}, {**_WORK, "default": True}], "work"),
        ([_WORK, {"id": "main"}], "main"),
    ],
)
def test_the_one_that_answers_where_nothing_is_bound_moves(
    tmp_path: Path, agents: list[dict[str, Any]], chosen: str
) -> None:
    """As its `resolveDefaultAgentId` chooses."""
    for folder, who in (
        ("workspace", "main"),
        ("workspace-home", "home"),
        ("workspace-work", "work"),
    ):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "SOUL.md").write_text(who)
    config = {"agents": {"defaults": _USUAL, "list": agents}}
    (tmp_path / "openclaw.json").write_text(json.dumps(config))
    read = read_agent(tmp_path)
    assert [path.read_text() for path in read.prompt_files] == [chosen]
    assert read.provider["model"] == ("gpt-5" if chosen == "work" else "qwen3")
    (other,) = {str(one["id"]) for one in agents} - {chosen}
    assert Left(f"agent {other}", "there is one agent here") in read.left


def test_a_token_of_an_account_is_taken(tmp_path: Path) -> None:
    accounts = {"alerts": {"botToken": "2:b"}, "default": {"botToken": "1:a"}}
    channels = {"telegram": {"dmPolicy": "pairing", "accounts": accounts}, "slack": "odd"}
    (tmp_path / "openclaw.json").write_text(json.dumps({"channels": channels}))
    read = read_agent(tmp_path)
    assert read.channels == {"telegram": {"token": "1:a"}}
    why = "there is one account of a platform here"
    assert Left("account alerts of telegram", why) in read.left


def test_skills_for_all_of_its_agents_are_taken(tmp_path: Path) -> None:
    """Its docs/tools/skills.md: those of a workspace go before."""
    (tmp_path / "openclaw.json").write_text("{}")
    for folder in ("skills/weather", "skills/news", "workspace/skills/weather"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "SKILL.md").write_text("---\nname: it\n---\n")
    places = ("workspace/skills/weather", "skills/news")
    assert read_agent(tmp_path).skills == tuple(tmp_path / place for place in places)
