"""The program of a first start: what it asks over its lines, and what root takes."""

import contextlib
import io
import json
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent.app.console.setup_lines import is_first
from agent.errors import ConfigRefused
from agent.provision import browser_setup
from agent.provision.credentials import Credstore
from agent.provision.settings_plan import ProvisionPaths
from tests.structure.sources import ROOT

OFFLINE = {"provider": {"kind": "offline"}}
KEY = "sk-of-somebody"
SERVICE = {"provider": {"kind": "openai", "api_key": KEY}}


class Visitor:
    """Somebody at a browser, who reads the lines of the program and answers."""

    def __init__(self, config: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "agent.provision.browser_setup", str(config)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self.say({})

    def say(self, answer: object) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(answer).encode() + b"\n")
        self.process.stdin.flush()

    def until(self, key: str) -> dict[str, Any]:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            told: dict[str, Any] = json.loads(line)
            if key in told:
                return told
        raise AssertionError(f"the program ended before it said {key}")


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "barnacle.toml"
    path.write_text("# mine\n[console]\n")
    return path


@pytest.fixture
def visitor(config: Path) -> Iterator[Visitor]:
    made = Visitor(config)
    yield made
    made.process.kill()
    made.process.wait()
    for pipe in (made.process.stdin, made.process.stdout):
        assert pipe is not None
        with contextlib.suppress(BrokenPipeError):
            pipe.close()


def test_what_is_answered_is_written_after_the_last_yes(visitor: Visitor, config: Path) -> None:
    asked = visitor.until("asked")
    assert asked["usual"] == "offline"
    visitor.say("offline")
    visitor.until("asked")
    visitor.say("none")
    last = visitor.until("asked")
    assert last == {
        "asked": "Is that all right? A yes writes it.",
        "usual": "y",
        "is_choice": True,
        "is_last": True,
        "about": ["provider"],
    }
    assert is_first(config)
    visitor.say("y")
    assert visitor.until("ended")["ended"] == "kept"
    assert tomllib.loads(config.read_text()) == {"console": {}, **OFFLINE}
    assert config.read_text().startswith("# mine\n")


def test_a_mistake_is_told_and_asked_again(visitor: Visitor) -> None:
    visitor.until("asked")
    visitor.say("nonsense")
    assert "nonsense" in visitor.until("said")["said"]
    assert visitor.until("asked")["asked"].startswith("Which model service?")


def test_who_leaves_leaves_nothing_behind(visitor: Visitor, config: Path) -> None:
    visitor.until("asked")
    assert visitor.process.stdin is not None
    visitor.process.stdin.close()
    assert visitor.process.wait() == 0
    assert config.read_text() == "# mine\n[console]\n"


@pytest.fixture
def card(tmp_path: Path) -> ProvisionPaths:
    for name in ("etc", "credstore", "connections", "device"):
        (tmp_path / name).mkdir()
    credstore = Credstore(tmp_path / "credstore")
    config = tmp_path / "etc" / "barnacle.toml"
    return ProvisionPaths(config, credstore, tmp_path / "connections", tmp_path / "device", {})


def _taken(table: object, card: ProvisionPaths) -> str:
    said = io.BytesIO()
    line = json.dumps(table).encode() + b"\n"
    is_taken = browser_setup.take_over(io.BytesIO(line), said, card)
    problem = str(json.loads(said.getvalue()))
    assert is_taken == (not problem)
    return problem


def test_root_takes_the_answers_of_a_card_once(card: ProvisionPaths) -> None:
    wifi = {"ssid": "Home", "password": "long enough"}
    table = {**SERVICE, "device": {"hostname": "greenhouse"}, "wifi": wifi}
    assert _taken(table, card) == ""
    assert KEY not in card.config.read_text()
    assert card.credstore is not None
    assert card.credstore.read("api_key") == KEY
    assert card.connections is not None
    assert "psk=long enough" in (card.connections / "barnacle-wifi.nmconnection").read_text()
    assert card.device is not None
    assert (card.device / "hostname").read_text() == "greenhouse\n"
    assert "set up already" in _taken({"provider": {"kind": "offline"}}, card)
    assert card.credstore.read("api_key") == KEY


@pytest.mark.parametrize(
    "table",
    [{"ssh": {"keys": ["ssh-ed25519 AAAA"]}}, {"sandbox": {"kind": "none"}}, ["provider"], None],
)
def test_root_takes_nothing_that_no_question_was_about(card: ProvisionPaths, table: object) -> None:
    assert _taken(table, card) != ""
    assert not card.config.exists()


def test_answers_that_would_be_gone_with_the_next_start_are_not_taken(
    card: ProvisionPaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    why = "3 starts ended early"
    assert f"not in use in this start ({why})" in _taken(SERVICE, replace(card, unused=why))
    assert not card.config.exists()
    # Before the first question
    monkeypatch.setattr(browser_setup, "why_unused", lambda: why)
    screen = browser_setup.LineScreen(io.BytesIO(), io.BytesIO())
    with pytest.raises(ConfigRefused, match="a quarter of an hour"):
        browser_setup.converse(screen, None, {})


def test_root_takes_nothing_over_a_file_with_a_mistake(card: ProvisionPaths) -> None:
    card.config.write_text("[provider\n")
    assert "set up already" in _taken(OFFLINE, card)


def test_answers_that_are_wrong_are_refused_whole(card: ProvisionPaths) -> None:
    assert "known model service" in _taken({"provider": {"kind": "nobody"}}, card)
    assert not card.config.exists()


def test_without_root_s_program_nothing_is_called_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(browser_setup, "SOCKET", tmp_path / "nobody.sock")
    with pytest.raises(ConfigRefused, match="does not answer"):
        browser_setup._hand_over(dict(OFFLINE))


def test_the_network_begins_anew_before_the_agent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reloading makes NetworkManager read its own settings, and no connection."""
    ran: list[Sequence[str]] = []
    monkeypatch.setattr(browser_setup, "run_program", lambda words, _timeout_s: ran.append(words))
    browser_setup.restart()
    assert [words[-2:] for words in ran] == [
        ["try-restart", "NetworkManager.service"],
        ["restart", "barnacle.service"],
    ]
