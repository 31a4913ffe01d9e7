"""Folders of other agents as their own documents and programs write them."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from agent.provision.foreign_agent import read_agent
from agent.provision.foreign_jobs import ForeignJob, Left

# What nanobot writes of itself into each file
_USUAL = {"model": "anthropic/claude-opus-4-5", "provider": "auto"}


@pytest.mark.parametrize(
    ("config", "provider"),
    [
        # Its docs/provider-cookbook.md: a preset goes before the usual model, which stays there
        (
            {
                "providers": {"anthropic": {"apiKey": None}, "openrouter": {"apiKey": "sk-or"}},
                "modelPresets": {
                    "primary": {"provider": "openrouter", "model": "anthropic/claude-sonnet-4.5"}
                },
                "agents": {"defaults": {**_USUAL, "modelPreset": "primary"}},
            },
            {"kind": "openrouter", "model": "anthropic/claude-sonnet-4.5", "api_key": "sk-or"},
        ),
        # The maker has no key: its `_match_provider` takes the gateway that has one
        (
            {
                "providers": {"anthropic": {"apiKey": ""}, "openrouter": {"apiKey": "sk-or"}},
                "agents": {"defaults": _USUAL},
            },
            {"kind": "openrouter", "model": "anthropic/claude-opus-4-5", "api_key": "sk-or"},
        ),
        # No maker in front of the model
        (
            {
                "providers": {"openai": {"apiKey": "sk-o"}},
                "agents": {"defaults": {"model": "gpt-5", "provider": "auto"}},
            },
            {"kind": "openai", "model": "gpt-5", "api_key": "sk-o"},
        ),
        # Services are named in one way, their tables are written in another
        (
            {
                "providers": {"lmStudio": {"apiBase": "http://pc:1234/v1", "apiKey": "x"}},
                "agents": {"defaults": {"model": "qwen3", "provider": "lm_studio"}},
            },
            {
                "kind": "lm-studio",
                "model": "qwen3",
                "base_url": "http://pc:1234/v1",
                "api_key": "x",
            },
        ),
        (
            {
                "providers": {"anthropic": {"apiKey": "sk-a"}, "openrouter": {"apiKey": "sk-or"}},
                "agents": {"defaults": _USUAL},
            },
            {"kind": "anthropic", "model": "claude-opus-4-5", "api_key": "sk-a"},
        ),
    ],
)
def test_nanobots_model_is_the_one_that_it_would_ask(
    tmp_path: Path, config: dict[str, Any], provider: dict[str, str]
) -> None:
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert read_agent(tmp_path).provider == provider


# Of its src/state/openclaw-state-schema.sql, as far as a job is told there
_OPENCLAW_JOBS = """
CREATE TABLE cron_jobs (store_key TEXT NOT NULL, job_id TEXT NOT NULL, name TEXT NOT NULL,
    enabled INTEGER NOT NULL, schedule_kind TEXT NOT NULL, schedule_expr TEXT, schedule_tz TEXT,
    every_ms INTEGER, at TEXT, payload_kind TEXT NOT NULL, payload_message TEXT,
    sort_order INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (store_key, job_id))
"""


def test_openclaws_jobs_of_today_are_in_its_database(tmp_path: Path) -> None:
    """Since its version 2026.6.1; the list that it had before may still lie there."""
    (tmp_path / "openclaw.json").write_text("{}")
    (tmp_path / "cron").mkdir()
    old = {"name": "old", "schedule": {"kind": "every", "everyMs": 60_000}, "payload": {}}
    (tmp_path / "cron/jobs.json").write_text(json.dumps({"version": 1, "jobs": [old]}))
    (tmp_path / "state").mkdir()
    rows = [
        ("a", "Brief", "cron", "0 7 * * *", "Europe/Berlin", None, None, "agentTurn", "Sum up."),
        ("b", "Tea", "every", None, None, 3_600_000, None, "systemEvent", "Tea is ready"),
        ("c", "Once", "at", None, None, None, "2030-02-01T16:00:00.000Z", "agentTurn", "Look."),
        ("d", "Tidy", "cron", "0 3 * * *", None, None, None, "command", '["rm", "-rf", "/tmp/x"]'),
    ]
    with closing(sqlite3.connect(tmp_path / "state/openclaw.sqlite")) as db:
        db.execute("PRAGMA journal_mode=WAL")
        db.execute(_OPENCLAW_JOBS)
        db.executemany(
            "INSERT INTO cron_jobs (store_key, job_id, name, enabled, schedule_kind, schedule_expr,"
            " schedule_tz, every_ms, at, payload_kind, payload_message)"
            " VALUES ('/cron/jobs.json', ?, ?, 1, ?, ?, ?, ?, ?, ?, ?)",
            rows,
        )
        db.commit()
        read = read_agent(tmp_path)
    assert read.jobs == (
        ForeignJob("Brief", prompt="Sum up.", cron="0 7 * * *", zone="Europe/Berlin"),
        ForeignJob("Tea", message="Tea is ready", every_s=3600.0),
        ForeignJob("Once", prompt="Look.", at_s=1896192000.0),
    )
    assert read.left == (Left("job Tidy", "it is not for the model: command"),)


@pytest.mark.parametrize("file", ["openclaw.json", "config.json"])
@pytest.mark.parametrize("has_usual", [True, False])
def test_a_workspace_elsewhere_is_named(tmp_path: Path, file: str, *, has_usual: bool) -> None:
    if has_usual:
        (tmp_path / "workspace").mkdir()
    config = {"agents": {"defaults": {"workspace": "~/clawd"}}}
    (tmp_path / file).write_text(json.dumps(config))
    why = f"it is not in this folder: copy it to {tmp_path / 'clawd'}"
    assert read_agent(tmp_path).left == (Left("workspace ~/clawd", why),)
    (tmp_path / "clawd").mkdir()
    assert read_agent(tmp_path).left == ()


def test_a_zeroclaw_of_today_has_its_memory_and_jobs_elsewhere(tmp_path: Path) -> None:
    """As its `schema_version = 3` lays them out."""
    (tmp_path / "config.toml").write_text(
        """schema_version = 3
[providers.models.openrouter.main]
api_key = "sk-or"
model = "anthropic/claude-sonnet-4.6"
[agents.default]
model_provider = "openrouter.main"
channels = ["telegram.default"]
[channels.telegram.default]
enabled = true
bot_token = "1:a"
[channels.discord.home]
enabled = false
bot_token = "x"
"""
    )
    for agent in ("default", "researcher"):
        (tmp_path / f"agents/{agent}/workspace").mkdir(parents=True)
        (tmp_path / f"agents/{agent}/workspace" / "SOUL.md").write_text(agent)
    for folder in ("memory", "cron"):
        (tmp_path / "data" / folder).mkdir(parents=True)
    (tmp_path / "data/memory/brain.db").write_bytes(b"")
    with closing(sqlite3.connect(tmp_path / "data/cron/jobs.db")) as db, db:
        db.execute("CREATE TABLE cron_jobs (name TEXT, prompt TEXT, expression TEXT)")
        db.execute("INSERT INTO cron_jobs VALUES ('soil', 'Look at the soil.', '0 9 * * *')")
    read = read_agent(tmp_path)
    assert read.provider == {
        "kind": "openrouter",
        "model": "anthropic/claude-sonnet-4.6",
        "api_key": "sk-or",
    }
    assert read.channels == {"telegram": {"token": "1:a"}}
    assert read.memories == tmp_path / "data/memory/brain.db"
    assert [job.name for job in read.jobs] == ["soil"]
    assert read.prompt_files == (tmp_path / "agents/default/workspace" / "SOUL.md",)
    assert [one.what for one in read.left] == [
        "agent researcher",
        "settings agents, providers, schema_version",
    ]


def test_a_zeroclaw_without_a_workspace_has_a_model(tmp_path: Path) -> None:
    """By its docs on local models."""
    (tmp_path / "config.toml").write_text(
        """[providers.models.ollama.local]
uri = "http://localhost:11434"
model = "qwen3.6:35b-a3b"
[agents.local]
model_provider = "ollama.local"
"""
    )
    assert read_agent(tmp_path).provider == {
        "kind": "ollama",
        "model": "qwen3.6:35b-a3b",
        "base_url": "http://localhost:11434",
    }


@pytest.mark.parametrize("file", ["openclaw.json", "config.toml"])
def test_days_without_lasting_memories_are_memories(tmp_path: Path, file: str) -> None:
    """OpenClaw's docs/concepts/memory.md, and ZeroClaw's store `markdown`."""
    (tmp_path / file).write_text("{}" if file.endswith("json") else "")
    (tmp_path / "workspace/memory/important").mkdir(parents=True)
    assert read_agent(tmp_path).memories is None
    (tmp_path / "workspace/memory/2026-01-02.md").write_text("- Anna likes tulips.\n")
    (tmp_path / "workspace/memory/important/house.md").write_text("The key is under the mat.")
    read = read_agent(tmp_path)
    assert read.memories == tmp_path / "workspace"
    why = "`barnacle memory import FILE` takes one"
    assert read.left == (Left("notes memory/important/house.md", why),)


@pytest.mark.parametrize("file", ["MEMORY.md", "memory/2026-01-02.md", "memory/brain.db"])
def test_memories_that_are_links_are_left(tmp_path: Path, file: str) -> None:
    """Root reads a person's folder, and gives what it reads to the agent."""
    (tmp_path / "secret").write_text("of root alone")
    folder = tmp_path / "other"
    link = folder / "workspace" / file
    link.parent.mkdir(parents=True)
    link.symlink_to(tmp_path / "secret")
    (folder / "config.toml").write_text("")
    read = read_agent(folder)
    assert read.memories is None
    assert Left("memories", f"{link.name} is a link to another place") in read.left
