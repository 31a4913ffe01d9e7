import io
import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest

from agent.access.people import PersonAccount
from agent.access.roles import PersonRole
from agent.app.access import AccessControl
from agent.health import data_partition
from agent.provision import __main__ as program
from agent.provision.__main__ import main
from agent.settings import Paths
from agent.system.clock import SystemClock
from tests.structure.sources import ROOT

TELEGRAM = '[channels.telegram]\ntoken_file = "/nowhere"\n'
# Of the agent, packages included; each takes part of a second on a Pi
MOST_MODULES = 5


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "barnacle.toml").write_text(TELEGRAM)
    monkeypatch.setenv("BARNACLE_CONFIG", str(tmp_path / "barnacle.toml"))
    monkeypatch.setenv("BARNACLE_STATE_DIR", str(tmp_path))
    return tmp_path


def _asked(known: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{known}\n"))
    assert main(["code"]) == 0


def test_the_same_code_counts_again(
    state: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _asked("", monkeypatch)
    code = capsys.readouterr().out.strip()
    _asked(code, monkeypatch)
    assert capsys.readouterr().out.strip() == code
    codes = AccessControl(Paths(None, state), SystemClock()).codes
    invitation = codes.spend(code)
    assert invitation is not None
    assert invitation.rank is PersonRole.OWNER
    assert codes.spend(code) is None


@pytest.mark.parametrize("known", ["ABC", "ABCDE-FGHI!", "../../etc"])
@pytest.mark.usefixtures("state")
def test_what_is_no_code_of_ours_is_not_made_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], known: str
) -> None:
    _asked(known, monkeypatch)
    assert known not in capsys.readouterr().out


def test_nobody_is_invited_where_somebody_is_the_owner_or_nothing_can_be_written_to(
    state: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    doorway = AccessControl(Paths(None, state), SystemClock())
    doorway.people.let_in(
        PersonRole.OWNER, PersonAccount(channel="telegram", sender="1", target="1")
    )
    _asked("", monkeypatch)
    doorway.people.revoke(doorway.people.everyone()[0])
    (state / "barnacle.toml").write_text("[console]\nenabled = false\n")
    _asked("", monkeypatch)
    assert capsys.readouterr().out == ""


def test_on_a_card_without_settings_the_code_is_for_a_browser(
    state: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (state / "barnacle.toml").write_text("")
    _asked("", monkeypatch)
    assert capsys.readouterr().out.strip()


@pytest.mark.parametrize("words", [[], ["reboot"], ["boot", "now"]])
def test_other_words_are_explained(words: list[str], caplog: pytest.LogCaptureFixture) -> None:
    assert main(words) == 2
    assert "usage" in caplog.text


def test_a_password_that_is_a_word_of_the_system_does_not_spoil_the_card(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = b"raspberrypi,4-model-b"
    (tmp_path / "A").mkdir()
    (tmp_path / "A/bcm2711-rpi-4-b.dtb").write_bytes(tree)
    (tmp_path / "mounts").write_text(f"/dev/the-card {tmp_path} vfat ro 0 0\n")
    card = tmp_path / "card"
    card.write_bytes(tree + b" and a draft with my real secret")
    monkeypatch.setattr(program, "FOLDER", tmp_path)
    monkeypatch.setattr(program, "_MOUNTS", tmp_path / "mounts")
    opened = os.open
    monkeypatch.setattr(
        os, "open", lambda path, *more: opened(card if "the-card" in str(path) else path, *more)
    )
    program._sweep(("raspberry", "my real secret"))
    assert card.read_bytes() == tree + b" and a draft with **************"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to somebody")
def test_a_start_gives_the_agent_what_root_has_left_there(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    (tmp_path / "memory").mkdir()
    brain = tmp_path / "memory/brain.db"
    brain.write_bytes(b"")
    os.chown(tmp_path, 900, 900)
    program._give_back(tmp_path)
    assert (brain.stat().st_uid, brain.stat().st_gid) == (900, 900)
    assert "given back to the agent (count=2)" in caplog.text
    program._give_back(tmp_path)
    program._give_back(tmp_path / "missing")
    assert caplog.text.count("given back") == 1


def test_a_start_knows_that_the_data_partition_is_not_in_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert program._ASIDE == data_partition.ASIDE
    monkeypatch.setattr(program, "_ASIDE", tmp_path / "aside")
    assert program._why_unused() == ""
    (tmp_path / "aside").write_text("3 starts ended early\n")
    assert program._why_unused() == "3 starts ended early"


def test_a_start_with_nothing_new_loads_little(tmp_path: Path) -> None:
    script = (
        "import sys, pathlib\n"
        "from agent.provision import __main__\n"
        "from agent.provision.boot import Provisioning\n"
        "from agent.provision.firmware import Firmware\n"
        "empty = pathlib.Path(sys.argv[1])\n"
        "assert Provisioning(Firmware(empty, is_mounted=False), empty, __main__.places).run()\n"
        "ours = ('agent.', 'msgspec')\n"
        "print(*(name for name in sys.modules if name.startswith(ours)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)], cwd=ROOT, env=os.environ,
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "msgspec" not in done.stdout.split()
    loaded = {name for name in done.stdout.split() if not name.startswith("agent.provision")}
    assert len(loaded) <= MOST_MODULES, sorted(loaded)
