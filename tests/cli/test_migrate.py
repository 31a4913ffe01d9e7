"""`barnacle migrate`: folders of other agents, what is taken of them, and that none of it acts."""

import json
import sqlite3
import time
import tomllib
from contextlib import closing
from pathlib import Path

import pytest

from agent.cli.main import main
from agent.schedule.job import State
from agent.schedule.job_store import JobStore
from agent.turn.prompt_files import APPROVALS_FILE

TOKEN = "1234567890:" + "AAFnobodysTokenMadeUpForThisTest00"
KEY = "sk-" + "nobodys0key0made0up0for0this0test"

OPENCLAW = """\
// What somebody wrote by hand
{
  agents: {
    defaults: {
      workspace: "~/.openclaw/workspace", model: { primary: 'anthropic/claude-sonnet-4-5' },
    },
  },
  env: { vars: { ANTHROPIC_API_KEY: "%s" } }, /* not // a comment inside */
  channels: {
    telegram: { enabled: true, botToken: "%s", dmPolicy: "pairing", allowFrom: ["tg:123"] },
    whatsapp: { allowFrom: ["+15555550123"] },
    discord: { enabled: false, token: "x" },
  },
  tools: { web: { search: { url: "https://example.org/a,}" } } },
}
"""
JOBS = {
    "version": 1,
    "jobs": [
        {
            "id": "1",
            "name": "Morning brief",
            "enabled": True,
            "schedule": {"kind": "cron", "expr": "0 7 * * *", "tz": "America/Los_Angeles"},
            "payload": {"kind": "agentTurn", "message": "Summarize overnight updates."},
        },
        {
            "id": "2",
            "name": "Reminder",
            "schedule": {"kind": "at", "at": "2001-02-01T16:00:00Z"},
            "payload": {"kind": "systemEvent", "text": "Reminder text"},
        },
        {
            "id": "3",
            "name": "Tea",
            "schedule": {"kind": "every", "everyMs": 3_600_000},
            "payload": {"kind": "systemEvent", "text": "Tea is ready"},
        },
        {"id": "4", "name": "Odd", "schedule": {"kind": "moon"}, "payload": {"message": "x"}},
    ],
}
ZEROCLAW = """\
default_provider = "anthropic"
default_model = "claude-sonnet-4-5"
api_key = "enc2:00112233"
[channels_config]
cli = true
[channels_config.telegram]
bot_token = "%s"
allowed_users = ["123456789"]
[autonomy]
level = "full"
"""
NANOBOT = {
    "agents": {
        "defaults": {"model": "anthropic/claude-opus-4-5", "workspace": "~/.nanobot/workspace"}
    },
    "providers": {"anthropic": {"apiKey": KEY}, "openai": {"apiKey": ""}},
    "channels": {
        "sendProgress": True,
        "telegram": {"enabled": True, "token": TOKEN, "allowFrom": ["1"]},
        "whatsapp": {"enabled": False},
    },
}


class Device:
    """The agent that takes over."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.config = folder / "barnacle.toml"
        self.config.write_text('[embeddings]\nprovider = "none"\n')
        self.state = folder / "state"
        self.workspace = self.state / "workspace"
        self._capsys = capsys

    def migrate(self, other: Path, *more: str) -> str:
        command = ["migrate", str(other), "--config", str(self.config)]
        assert main([*command, "--state-dir", str(self.state), *more]) == 0
        return self._capsys.readouterr().out

    def files(self) -> dict[str, bytes]:
        found = [self.config, *self.state.rglob("*")]
        return {str(path): path.read_bytes() for path in found if path.is_file()}


@pytest.fixture
def device(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Device:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    return Device(tmp_path, capsys)


def workspace_of(folder: Path) -> Path:
    workspace = folder / "workspace"
    (workspace / "memory").mkdir(parents=True)
    (workspace / "skills/weather").mkdir(parents=True)
    (workspace / "skills/weather/SKILL.md").write_text("---\nname: weather\n---\nLook outside.")
    (workspace / "SOUL.md").write_text("I am kind.")
    (workspace / "IDENTITY.md").write_text("My name is Ada.")
    (workspace / "HEARTBEAT.md").write_text("Water the plants.")
    return workspace


@pytest.fixture
def openclaw(tmp_path: Path) -> Path:
    folder = tmp_path / "openclaw"
    workspace = workspace_of(folder)
    (folder / "openclaw.json").write_text(OPENCLAW % (KEY, TOKEN))
    (workspace / "MEMORY.md").write_text("# Memory\n\n- Anna likes tulips.\n- The cat is Mia.\n")
    (folder / "cron").mkdir()
    (folder / "cron/jobs.json").write_text(json.dumps(JOBS))
    return folder


@pytest.fixture
def zeroclaw(tmp_path: Path) -> Path:
    folder = tmp_path / "zeroclaw"
    workspace = workspace_of(folder)
    (folder / "config.toml").write_text(ZEROCLAW % TOKEN)
    (workspace / "cron").mkdir()
    with closing(sqlite3.connect(workspace / "cron/jobs.db")) as db, db:
        db.execute(
            "CREATE TABLE cron_jobs (id TEXT PRIMARY KEY, expression TEXT NOT NULL,"
            " command TEXT NOT NULL, schedule TEXT, job_type TEXT NOT NULL DEFAULT 'shell',"
            " prompt TEXT, name TEXT, enabled INTEGER NOT NULL DEFAULT 1)"
        )
        every = json.dumps({"kind": "every", "every_ms": 1_800_000})
        rows = [
            ("a", "0 9 * * 1-5", "", None, "agent", "Say good morning.", "Guten Morgen!", 1),
            ("b", "*/5 * * * *", "rm -rf /tmp/x", None, "shell", None, "clean", 1),
            ("c", "", "", every, "agent", "Look at the soil.", None, 0),
        ]
        db.executemany("INSERT INTO cron_jobs VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)
    return folder


@pytest.fixture
def nanobot(tmp_path: Path) -> Path:
    folder = tmp_path / "nanobot"
    workspace = workspace_of(folder)
    (folder / "config.json").write_text(json.dumps(NANOBOT))
    (workspace / "memory/MEMORY.md").write_text("- Anna likes tulips.\n")
    (workspace / "cron").mkdir()
    (workspace / "cron/jobs.json").write_text(json.dumps(JOBS))
    return folder


def test_without_a_yes_it_only_says_what_would_be_taken(device: Device, openclaw: Path) -> None:
    before = device.files()
    said = device.migrate(openclaw)
    assert device.files() == before
    assert "OpenClaw in " in said
    assert "  model: anthropic claude-sonnet-4-5 with its key" in said
    assert "  channel telegram: its token" in said
    assert "  file SOUL.md" in said
    assert "  file skills/weather/SKILL.md" in said
    assert "  job morning-brief, paused: at 0 7 * * *" in said
    assert "  job tea, paused: every 60 min" in said
    assert "  2 memories, trusted like a page" in said
    assert f"To take it: barnacle migrate {openclaw} --yes" in said
    assert KEY not in said
    assert TOKEN not in said


def test_what_has_no_counterpart_is_named_with_a_reason(device: Device, openclaw: Path) -> None:
    _, _, left = device.migrate(openclaw).partition("Not taken:")
    for line in (
        "channel whatsapp: set it up by `barnacle setup`",
        "people of telegram: each is let in by a code",
        "HEARTBEAT.md: it is done by itself at times",
        "job Reminder: its time is over",
        "job Odd: its time is not understood",
        "time zone America/Los_Angeles of morning-brief",
        "settings tools:",
    ):
        assert line in left
    # What was switched off is nothing that is missing
    assert "discord" not in left


def test_what_is_taken_does_nothing_by_itself(device: Device, openclaw: Path) -> None:
    device.migrate(openclaw, "--yes")
    config = tomllib.loads(device.config.read_text())
    assert config["provider"] == {
        "kind": "anthropic",
        "model": "claude-sonnet-4-5",
        "api_key": KEY,
    }
    assert config["channels"] == {"telegram": {"token": TOKEN}}
    assert config["embeddings"] == {"provider": "none"}
    jobs = {job.name: job for job in JobStore(device.state / "jobs.json").every()}
    assert set(jobs) == {"morning-brief", "tea"}
    assert {job.state for job in jobs.values()} == {State.PAUSED}
    assert jobs["tea"].message == "Tea is ready"
    assert jobs["morning-brief"].prompt == "Summarize overnight updates."
    # No file counts in a prompt, no skill is approved, nobody is let in
    assert (device.workspace / "SOUL.md").read_text() == "I am kind."
    assert not (device.state / APPROVALS_FILE).exists()
    assert not (device.state / "skills.json").exists()
    assert not (device.state / "people.json").exists()
    assert not (device.workspace / "HEARTBEAT.md").exists()


def test_memories_are_trusted_like_a_page(
    device: Device, openclaw: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    device.migrate(openclaw, "--yes")
    places = ["--config", str(device.config), "--state-dir", str(device.state)]
    assert main(["memory", "list", "--json", *places]) == 0
    told = capsys.readouterr().out
    assert "tulips" in told
    assert "owner" not in told.lower()


def test_a_damaged_store_of_memories_holds_up_nothing_else(device: Device, zeroclaw: Path) -> None:
    (zeroclaw / "workspace/memory/brain.db").write_bytes(b"SQLite format 3\0 and no more")
    (zeroclaw / "workspace/MEMORY.md").write_text("- Anna likes tulips.\n")
    taken, _, left = device.migrate(zeroclaw, "--yes").partition("Not taken:")
    assert "  file SOUL.md" in taken
    assert "  memories: " in left
    assert "brain.db cannot be read as a database" in left
    assert "  notes MEMORY.md: " in left
    assert (device.workspace / "SOUL.md").is_file()


@pytest.mark.parametrize(
    "key", ['"${ANTHROPIC_KEY}"', '{ source: "env", provider: "default", id: "ANTHROPIC_KEY" }']
)
def test_the_name_of_a_secret_is_not_taken_for_it(device: Device, openclaw: Path, key: str) -> None:
    (openclaw / "openclaw.json").write_text(
        '{ agents: { defaults: { model: "anthropic/claude-sonnet-4-5" } },'
        f" models: {{ providers: {{ anthropic: {{ apiKey: {key} }} }} }},"
        ' channels: { telegram: { botToken: "1234567890:${BOT_TOKEN}" } } }'
    )
    said = device.migrate(openclaw, "--yes")
    assert "with its key" not in said
    assert "  key of the model service: it is kept elsewhere" in said
    assert "  channel telegram: token: it is kept elsewhere" in said
    assert "_KEY" not in device.config.read_text()
    assert "_TOKEN" not in device.config.read_text()


def test_a_variable_of_the_same_file_is_looked_up(device: Device, openclaw: Path) -> None:
    (openclaw / "openclaw.json").write_text(
        '{ agents: { defaults: { model: "anthropic/claude-sonnet-4-5" } },'
        f' env: {{ vars: {{ MINE: "{KEY}" }} }},'
        ' models: { providers: { anthropic: { apiKey: "${MINE}" } } } }'
    )
    device.migrate(openclaw, "--yes")
    assert tomllib.loads(device.config.read_text())["provider"]["api_key"] == KEY


def test_a_model_at_an_address_that_is_elsewhere_is_left(device: Device, openclaw: Path) -> None:
    (openclaw / "openclaw.json").write_text(
        '{ agents: { defaults: { model: "openai/gpt-5" } }, models: { providers: { openai:'
        f' {{ apiKey: "{KEY}", baseUrl: "${{BASE}}/v1" }} }} }} }}'
    )
    said = device.migrate(openclaw, "--yes")
    assert "  model: its address is kept elsewhere" in said
    assert KEY not in device.config.read_text()


def test_a_prompt_file_that_is_a_link_is_left(
    device: Device, openclaw: Path, tmp_path: Path
) -> None:
    (tmp_path / "secret").write_text("of root alone")
    (openclaw / "workspace/SOUL.md").unlink()
    (openclaw / "workspace/SOUL.md").symlink_to(tmp_path / "secret")
    said = device.migrate(openclaw, "--yes")
    assert "  SOUL.md: it is a link to another place" in said
    assert not (device.workspace / "SOUL.md").exists()


def test_twice_is_once(device: Device, openclaw: Path) -> None:
    device.migrate(openclaw, "--yes")
    said = device.migrate(openclaw, "--yes")
    jobs = JobStore(device.state / "jobs.json").every()
    assert "skill weather: there is one of that name" in said
    assert len(jobs) == len({job.name for job in jobs})
    assert len(jobs) == 2


def test_files_of_one_s_own_are_kept(device: Device, openclaw: Path) -> None:
    device.workspace.mkdir(parents=True)
    (device.workspace / "SOUL.md").write_text("Mine.")
    said = device.migrate(openclaw, "--yes")
    assert "SOUL.md: there is another one in the workspace" in said
    assert (device.workspace / "SOUL.md").read_text() == "Mine."


def test_zeroclaw_s_commands_and_encrypted_keys_stay(device: Device, zeroclaw: Path) -> None:
    said = device.migrate(zeroclaw)
    taken, _, left = said.partition("Not taken:")
    assert "job guten-morgen, paused: at 0 9 * * 1-5" in taken
    assert "job c, paused: every 30 min" in taken
    assert "channel telegram: its token" in taken
    assert "key of the model service: it is encrypted" in left
    assert "job clean: it runs a command: rm -rf /tmp/x" in left
    assert "settings autonomy" in left


def test_nanobot_keeps_its_memory_in_another_place(device: Device, nanobot: Path) -> None:
    said = device.migrate(nanobot, "--yes")
    assert "nanobot in " in said
    assert "  model: anthropic claude-opus-4-5 with its key" in said
    assert "  1 memories" in said
    assert "whatsapp" not in said
    assert {job.name for job in JobStore(device.state / "jobs.json").every()} == {
        "morning-brief",
        "tea",
    }


def test_nanobot_s_other_way_of_writing_a_key_is_read(device: Device, nanobot: Path) -> None:
    text = (nanobot / "config.json").read_text()
    (nanobot / "config.json").write_text(text.replace("apiKey", "api_key"))
    assert "  model: anthropic claude-opus-4-5 with its key" in device.migrate(nanobot)


def test_a_job_to_come_keeps_its_time(device: Device, nanobot: Path) -> None:
    at_s = int(time.time()) + 86_400
    job = {
        "id": "9",
        "name": "later",
        "schedule": {"kind": "at", "atMs": at_s * 1000},
        "payload": {"kind": "agent_turn", "message": "Look."},
    }
    (nanobot / "workspace/cron/jobs.json").write_text(json.dumps({"jobs": [job]}))
    device.migrate(nanobot, "--yes")
    (kept,) = JobStore(device.state / "jobs.json").every()
    assert kept.at_s == at_s


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("nothing", "", "has no config.toml"),
        ("config.toml", "= nonsense", "config.toml"),
        ("openclaw.json", "{ agents: ", "openclaw.json"),
        ("config.json", "[1]", "holds no settings"),
    ],
)
def test_a_folder_that_is_none_is_refused(
    device: Device,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    name: str,
    content: str,
    why: str,
) -> None:
    folder = tmp_path / "other"
    folder.mkdir()
    (folder / name).write_text(content)
    assert main(["migrate", str(folder), "--config", str(device.config)]) != 0
    assert why in capsys.readouterr().err


def test_a_workspace_elsewhere_is_not_followed(device: Device, openclaw: Path) -> None:
    text = (openclaw / "openclaw.json").read_text()
    (openclaw / "openclaw.json").write_text(text.replace("~/.openclaw/workspace", "/etc"))
    assert "file SOUL.md" in device.migrate(openclaw)


def test_a_skill_with_a_link_is_left(device: Device, openclaw: Path) -> None:
    (openclaw / "workspace/skills/weather/secret").symlink_to("/etc/shadow")
    said = device.migrate(openclaw)
    assert "skill weather: it has links to other places" in said
