"""`barnacle setup` on a machine where the service is not installed: a person's own agent."""

import tomllib
from pathlib import Path

import pytest

from agent.cli import exits, setup
from agent.cli.main import main
from agent.provision import device
from agent.provision.credentials import Credstore
from agent.provision.key_proof import Proof, ProofVerdict
from agent.provision.settings_plan import ProvisionPaths
from tests.fakes.typist import typing

GOOD = Proof(ProofVerdict.GOOD, "it is there", ("small",))


def _type(monkeypatch: pytest.MonkeyPatch, *answers: str) -> None:
    typing(monkeypatch, *answers)

    async def good(*_given: object) -> Proof:
        return GOOD

    monkeypatch.setattr(setup, "prove_provider", good)
    monkeypatch.setattr(setup, "prove_platform", good)


def _config(home: Path) -> Path:
    return home / ".config/barnacle/barnacle.toml"


def test_the_answers_are_written_and_the_first_code_is_shown(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _type(monkeypatch, "mistral", "my-key", "", "", "123456:token-of-the-bot", "y")
    assert main(["setup"]) == exits.OK
    assert tomllib.loads(_config(home).read_text()) == {
        "provider": {"kind": "mistral", "api_key": "my-key", "model": "small"},
        "channels": {"telegram": {"token": "123456:token-of-the-bot"}},
    }
    assert _config(home).stat().st_mode & 0o077 == 0
    said = capsys.readouterr().out
    assert "/pair " in said
    assert "my-key" not in said
    assert "token-of-the-bot" not in said
    assert main(["check", str(_config(home))]) == exits.OK


@pytest.mark.parametrize("answers", [(), ("mistral", "my-key"), ("offline", "none", "n")])
def test_who_leaves_or_says_no_changes_nothing(
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    answers: tuple[str, ...],
) -> None:
    _type(monkeypatch, *answers)
    assert main(["setup"]) in {exits.OK, exits.INTERRUPTED}
    assert "Nothing was changed." in capsys.readouterr().out
    assert list(home.iterdir()) == []


def test_without_a_terminal_the_file_is_named(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: False)
    assert main(["setup"]) == exits.USAGE
    assert "write barnacle.toml instead" in capsys.readouterr().err
    assert list(home.iterdir()) == []


def test_a_second_time_keeps_what_is_not_typed_again(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _type(monkeypatch, "mistral", "my-key", "", "none", "y")
    main(["setup"])
    _type(monkeypatch, "", "", "", "none", "y")
    assert main(["setup"]) == exits.OK
    assert tomllib.loads(_config(home).read_text()) == {
        "provider": {"kind": "mistral", "api_key": "my-key", "model": "small"}
    }


@pytest.mark.parametrize(
    ("pins", "mistake"),
    [
        (
            '[board.pins.pump]\npin = "PB0"\nkind = "output"\nmax_on = 30\n',
            "did you mean `max_on_s`",
        ),
        ('[board.pins.pump]\npin = "PB0\n', "line 2"),
    ],
)
def test_a_configuration_with_a_mistake_is_named_and_loses_nothing(
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    pins: str,
    mistake: str,
) -> None:
    _config(home).parent.mkdir(parents=True)
    _config(home).write_text(pins)
    _type(monkeypatch, "", "none", "y")
    assert main(["setup"]) == exits.USAGE
    said = capsys.readouterr().err
    assert mistake in said
    assert "move the file away to begin anew" in said
    assert _config(home).read_text() == pins
    assert [path.name for path in _config(home).parent.iterdir()] == ["barnacle.toml"]


def test_another_file_may_be_named(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _type(monkeypatch, "", "none", "y")
    assert main(["setup", "--config", str(home / "other.toml")]) == exits.OK
    assert tomllib.loads((home / "other.toml").read_text()) == {"provider": {"kind": "offline"}}


def test_on_a_card_the_network_begins_anew(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reloading makes NetworkManager read its own settings, and no connection."""
    ran: list[tuple[str, ...]] = []
    connections = home / "connections"
    card = ProvisionPaths(
        home / "etc/barnacle.toml", Credstore(home / "credstore"), connections, home / "device"
    )

    def systemctl(*words: str) -> bool:
        ran.append(words)
        return True

    monkeypatch.setattr(setup, "places_of", lambda _arguments: card)
    monkeypatch.setattr(device, "name_machine", lambda _folder: "greenhouse")
    monkeypatch.setattr(setup, "_systemctl", systemctl)
    wifi = ("y", "Tomatoes", "correct horse", "DE")
    _type(monkeypatch, "", "none", "", "", *wifi, "y")
    assert main(["setup", "--state-dir", str(home / "state")]) == exits.OK
    assert [path.name for path in connections.iterdir()] == ["barnacle-wifi.nmconnection"]
    assert ran == [("try-restart", "NetworkManager.service"), ("restart", "barnacle.service")]
