"""`barnacle migrate`: a model service and a platform that this agent has already."""

import tomllib
from pathlib import Path

import pytest

from agent.cli.migrate import _settings
from agent.provision import settings_plan
from agent.provision.credentials import Credstore
from agent.provision.foreign_agent import ForeignAgent
from agent.provision.foreign_jobs import Left
from agent.provision.settings_plan import ProvisionPaths

THEIRS = ForeignAgent(
    "OpenClaw",
    Path("workspace"),
    {"kind": "anthropic", "model": "claude-sonnet-4-5", "api_key": "theirs"},
    {"telegram": {"token": "1234567890:theirs"}},
)
NO_MODEL = Left("model", "this agent has [provider] already, and it stays")
NO_CHANNEL = Left("channel telegram", "this agent has [channels.telegram] already, and it stays")


@pytest.fixture
def places(tmp_path: Path) -> ProvisionPaths:
    return ProvisionPaths(tmp_path / "barnacle.toml", Credstore(tmp_path / "credstore"))


def taken(places: ProvisionPaths) -> list[Left]:
    left: list[Left] = []
    plan, _ = _settings(THEIRS, places, left)
    if plan is not None:
        settings_plan.take(plan, places)
    return left


def test_they_are_taken_where_there_is_none(places: ProvisionPaths) -> None:
    assert taken(places) == []
    assert places.credstore is not None
    assert places.credstore.read("api_key") == "theirs"


def test_limits_on_spending_stay(tmp_path: Path) -> None:
    places = ProvisionPaths(tmp_path / "barnacle.toml")
    own = """[provider]
kind = "openai"
api_key = "mine"
daily_limit_usd = 2.0
[channels.telegram]
token = "999:mine"
"""
    places.config.write_text(own)
    assert taken(places) == [NO_MODEL, NO_CHANNEL]
    assert places.config.read_text() == own


def test_secrets_that_are_kept_nowhere_else_stay(places: ProvisionPaths) -> None:
    """A key alone chooses its service, without any table."""
    assert places.credstore is not None
    places.credstore.put("api_key", "mine")
    assert taken(places) == [NO_MODEL]
    assert places.credstore.read("api_key") == "mine"
    assert "telegram" in tomllib.loads(places.config.read_text())["channels"]
