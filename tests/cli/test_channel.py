import json
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.channels.catalog import NAMES, platform
from agent.cli import exits
from agent.cli.main import main
from tests.fakes import telegram_server
from tests.fakes.serving_thread import ServingThread
from tests.fakes.telegram_server import TelegramServer
from tests.fakes.typist import typing

pytestmark = pytest.mark.usefixtures("home")


@pytest.fixture
def server() -> Iterator[TelegramServer]:
    with ServingThread(telegram_server.running()) as thread:
        yield thread.served


def config(home: Path) -> Path:
    return home / ".config/barnacle/barnacle.toml"


def configured(home: Path, server: TelegramServer, token: str) -> None:
    config(home).parent.mkdir(parents=True)
    config(home).write_text(
        f'[channels.telegram]\nbase_url = "{server.base_url}"\ntoken = "{token}"\n'
    )
    config(home).chmod(0o600)


def test_every_platform_is_listed_with_what_it_is(
    home: Path, server: TelegramServer, capsys: pytest.CaptureFixture[str]
) -> None:
    configured(home, server, server.token)
    assert main(["channel", "list", "--json"]) == exits.OK
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert set(rows) == set(NAMES)
    assert all(row["about"] for row in rows.values())
    assert rows["telegram"]["state"] == "configured"
    assert rows["irc"]["state"] == "-"


def test_a_platform_is_asked_whom_it_takes_the_agent_for(
    home: Path, server: TelegramServer, capsys: pytest.CaptureFixture[str]
) -> None:
    configured(home, server, server.token)
    assert main(["channel", "test"]) == exits.OK
    assert "ok       telegram    @barnacle_bot is there" in capsys.readouterr().out


def test_a_token_that_nobody_knows_has_failed(
    home: Path, server: TelegramServer, capsys: pytest.CaptureFixture[str]
) -> None:
    configured(home, server, "1:of-nobody")
    assert main(["channel", "doctor", "telegram"]) == exits.FAILED
    said = capsys.readouterr().out
    assert said.startswith("FAILED   telegram")
    assert "1:of-nobody" not in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["test"], "no platform configured"),
        (["test", "irc"], "`barnacle channel add irc`"),
        (["test", "fax"], "unknown platform fax: choose from telegram"),
        (["add", "fax"], "unknown platform fax"),
        (["add", "irc"], "needs a terminal"),
    ],
)
def test_what_cannot_be_done_is_said(
    words: list[str],
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: False)
    assert main(["channel", *words]) == exits.USAGE
    assert said in capsys.readouterr().err


def test_a_platform_is_added_when_it_takes_what_was_typed(
    home: Path,
    server: TelegramServer,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    # Where the bot is asked is no question to a person
    configured(home, server, "1:of-nobody")
    typing(monkeypatch, "2:wrong", server.token, "y")
    assert main(["channel", "add", "telegram"]) == exits.OK
    table = tomllib.loads(config(home).read_text())["channels"]["telegram"]
    assert table == {"base_url": server.base_url, "token": server.token}
    said = capsys.readouterr().out
    assert "@BotFather" in said
    assert "! " in said
    assert server.token not in said


def test_who_says_no_is_shown_what_would_stand_there_without_the_secret(
    home: Path,
    server: TelegramServer,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    configured(home, server, "1:of-nobody")
    before = config(home).read_text()
    typing(monkeypatch, server.token, "n")
    assert main(["channel", "add", "telegram"]) == exits.OK
    assert config(home).read_text() == before
    said = capsys.readouterr().out
    assert 'token = "..."' in said
    assert server.token not in said


def test_who_leaves_changes_nothing(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    typing(monkeypatch, "ircs://irc.example.org")
    assert main(["channel", "add", "irc"]) == exits.INTERRUPTED
    assert "Nothing was changed." in capsys.readouterr().out
    assert not config(home).exists()


def test_what_comes_in_by_a_gateway_that_is_not_there_has_failed(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config(home).parent.mkdir(parents=True)
    secret = "whsec_aGlkZGVuSGlkZGVuSGlkZGVuSGlkZGVuSGlkZGVu"
    table = f'[channels.webhook]\nreply_url = "http://127.0.0.1:1"\nsecret = "{secret}"\n'
    config(home).write_text(table)
    assert main(["channel", "test"]) == exits.FAILED
    assert "add a [gateway] table" in capsys.readouterr().out
    main(["doctor", "--json"])
    assert "add a [gateway] table" in json.loads(capsys.readouterr().out)["webhook"]["sentence"]
    config(home).write_text(f"{table}[gateway]\n")
    assert main(["channel", "test"]) == exits.OK


@pytest.mark.parametrize("name", NAMES)
def test_every_platform_says_what_it_wants(name: str) -> None:
    there = platform(name)
    assert there.about
    assert there.wanted
    assert all(one.question and one.key for one in there.wanted)
