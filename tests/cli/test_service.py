"""Root's commands on a machine with the service: about its folder, and as its user."""

import json
import os
import subprocess
import sys
import tempfile
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.access.people import PeopleStore, PersonAccount
from agent.access.roles import PersonRole
from agent.cli import configuration, exits, service
from agent.cli.main import main
from agent.cli.service import STATE, adopt
from agent.health.status import AgentStatus, start_ticks_of, write_status
from agent.system.clock import SystemClock
from tests.fakes.kernel import write

# Nobody's, on every Debian
_NOBODY = 65534
# Each reads or writes the folder of the agent
COMMANDS = (
    ("people",),
    ("status",),
    ("pair", "--json"),
    ("approvals", "list"),
    ("jobs", "list"),
    ("phrases", "list"),
    ("prompt",),
    ("skills", "list"),
    ("mcp", "list"),
    ("audit", "tail"),
    ("audit", "verify"),
    ("memory", "list"),
    ("memory", "stats"),
    ("memory", "forget", "--yes", "the-tank"),
    ("readings", "list"),
    ("explain", "board_gpio_write"),
    ("estop",),
    ("estop", "--clear"),
    ("revoke", "somebody"),
)


NOBODY = Namespace()


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """A machine with the service; its agent does not run."""
    write(tmp_path, "usr/lib/systemd/system/barnacle.service", "[Service]\n")
    write(tmp_path, "run/credentials/barnacle.service/api_key", "sk-1\n")
    return tmp_path


def test_root_looks_at_the_service_with_its_secrets(machine: Path) -> None:
    environ: dict[str, str] = {}
    assert adopt(environ, NOBODY, machine, uid=0)
    assert environ["STATE_DIRECTORY"] == "/var/lib/barnacle"
    assert environ["CREDENTIALS_DIRECTORY"] == str(machine / "run/credentials/barnacle.service")
    assert "sk-1" in environ.values()
    assert "BARNACLE_MODEL_DIR" not in environ


def test_the_model_of_the_image_is_found(machine: Path) -> None:
    (machine / "usr/share/barnacle/model").mkdir(parents=True)
    environ: dict[str, str] = {}
    adopt(environ, NOBODY, machine, uid=0)
    assert environ["BARNACLE_MODEL_DIR"].endswith("/usr/share/barnacle/model")


@pytest.mark.parametrize(
    ("environ", "arguments", "uid"),
    [
        ({}, NOBODY, 1000),
        ({"BARNACLE_STATE_DIR": "/srv/state"}, NOBODY, 0),
        ({}, Namespace(state_dir="/tmp/state"), 0),
    ],
)
def test_who_is_not_root_or_names_another_looks_there(
    machine: Path, environ: dict[str, str], arguments: Namespace, uid: int
) -> None:
    before = dict(environ)
    assert not adopt(environ, arguments, machine, uid)
    assert environ == before


def test_without_the_service_root_is_a_person_like_others(tmp_path: Path) -> None:
    environ: dict[str, str] = {}
    assert not adopt(environ, NOBODY, tmp_path, uid=0)
    assert environ == {}


def test_the_folder_of_the_service_may_be_named(machine: Path) -> None:
    assert adopt({}, Namespace(state_dir=str(STATE)), machine, uid=0)


def test_what_the_running_one_was_told_counts(machine: Path) -> None:
    told = {"BARNACLE_MODEL_DIR": "/srv/model", "OTHER": "x", "PATH": os.environ["PATH"]}
    command = [sys.executable, "-c", "import sys; print(flush=True); sys.stdin.read()"]
    with subprocess.Popen(
        command, env=told, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as agent:
        assert agent.stdout is not None
        # It has begun, so that what it was told is its own
        agent.stdout.readline()
        folder = machine / "var/lib/barnacle"
        folder.mkdir(parents=True)
        ticks = start_ticks_of(agent.pid)
        assert ticks is not None
        write_status(folder / "status.json", AgentStatus(agent.pid, ticks, 0.0))
        environ = {"BARNACLE_LOG": "mine"}
        adopt(environ, NOBODY, machine, uid=0)
        agent.kill()
    assert environ["BARNACLE_MODEL_DIR"] == "/srv/model"
    assert environ["BARNACLE_LOG"] == "mine"
    assert "OTHER" not in environ


def test_another_configuration_is_another_agent(machine: Path) -> None:
    assert not adopt({}, Namespace(config="/srv/other.toml"), machine, uid=0)
    assert not adopt({"BARNACLE_CONFIG": "/srv/other.toml"}, NOBODY, machine, uid=0)
    assert adopt({}, Namespace(config="/etc/barnacle/barnacle.toml"), machine, uid=0)


@pytest.fixture
def installed(machine: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Root's shell on that machine; returns the folders whose owner the commands became."""
    assert home
    state = machine / "var/lib/barnacle"
    state.mkdir(parents=True, mode=0o700)
    became: list[Path] = []
    monkeypatch.setattr(service, "ROOT", machine)
    monkeypatch.setattr(service, "STATE", state)
    monkeypatch.setattr(service, "SYSTEM_CONFIG", machine / "etc/barnacle/barnacle.toml")
    monkeypatch.setattr(service, "become_owner", became.append)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    for name in ("STATE_DIRECTORY", "CREDENTIALS_DIRECTORY", "BARNACLE_STATE_DIR"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    monkeypatch.setenv("BARNACLE_API_KEY", "none")
    return became


def test_root_sees_the_people_of_the_service(
    installed: list[Path], machine: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = machine / "var/lib/barnacle"
    people = PeopleStore(folder / "people.json", SystemClock())
    people.let_in(PersonRole.OWNER, PersonAccount(channel="telegram", sender="7", target="7"))
    assert main(["people"]) == 0
    assert "telegram:7" in capsys.readouterr().out
    assert installed == [folder]


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_command_of_root_is_about_the_service(
    installed: list[Path],
    machine: Path,
    home: Path,
    words: tuple[str, ...],
    capsys: pytest.CaptureFixture[str],
) -> None:
    main([*words])
    capsys.readouterr()
    assert installed == [machine / "var/lib/barnacle"]
    # Nothing of root's own has come into being
    assert not (home / ".local").exists()


def test_who_is_not_root_is_told_where_the_service_is(
    installed: list[Path],
    monkeypatch: pytest.MonkeyPatch,
    home: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    main(["people"])
    told = capsys.readouterr()
    own = home / ".local/state/barnacle"
    assert f"no people paired in {own}" in told.out
    assert f"no agent of yours in {own}; for the machine's service: `sudo barnacle" in told.err
    own.mkdir(parents=True)
    main(["people"])
    assert capsys.readouterr().err == ""
    assert installed == []


@pytest.mark.parametrize("command", ["people", "chat"])
def test_whom_the_configuration_of_the_service_is_closed_to_learns_both_ways(
    installed: list[Path],
    monkeypatch: pytest.MonkeyPatch,
    home: Path,
    capsys: pytest.CaptureFixture[str],
    command: str,
) -> None:
    # As closed as /etc/barnacle is to everybody but root and the group, root's tests included
    closed = home / "closed.toml"
    closed.symlink_to(closed)
    monkeypatch.setattr("agent.settings.SYSTEM_CONFIG", closed)
    monkeypatch.setattr(service, "SYSTEM_CONFIG", closed)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert main([command]) == exits.USAGE
    told = capsys.readouterr().err
    assert (
        f"{closed} is the machine's service's and closed to you: `sudo barnacle {command}" in told
    )
    assert "for an agent of your own, write ~/.config/barnacle/barnacle.toml" in told
    assert installed == []


@pytest.fixture
def folder_of_nobody() -> Iterator[Path]:
    """A service's folder that another user has, where that user can come to."""
    if os.geteuid() != 0:
        pytest.skip("only root may become another user")
    with tempfile.TemporaryDirectory() as made:
        top = Path(made)
        top.chmod(0o755)
        write(top, "usr/lib/systemd/system/barnacle.service", "[Service]\n")
        state = top / "state"
        state.mkdir(mode=0o700)
        os.chown(state, _NOBODY, _NOBODY)
        yield state


def test_what_root_makes_is_the_services(folder_of_nobody: Path) -> None:
    told = _as_root(folder_of_nobody, "print(main(['pair', '--json']), os.geteuid(), os.getegid())")
    assert told.splitlines()[-1] == f"0 {_NOBODY} {_NOBODY}"
    assert _owners(folder_of_nobody) == {_NOBODY}
    assert json.loads((folder_of_nobody / "codes.json").read_text())


def test_what_needs_root_gives_the_files_back(folder_of_nobody: Path) -> None:
    told = _as_root(
        folder_of_nobody,
        "from agent.cli import configuration\n"
        "from argparse import Namespace\n"
        "_, paths = configuration.load(Namespace(command='memory', file='/root/memories.json'))\n"
        "(paths.state_dir / 'memory').mkdir()\n"
        "(paths.state_dir / 'memory' / 'brain.db').write_text('x')\n"
        "print(os.geteuid(), (paths.state_dir / 'memory').stat().st_uid)",
    )
    assert told.split() == ["0", "0"]
    assert _owners(folder_of_nobody) == {_NOBODY}


def test_what_root_has_left_in_the_folder_is_the_services_again(folder_of_nobody: Path) -> None:
    left = folder_of_nobody / "memory"
    left.mkdir()
    (left / "brain.db").write_bytes(b"")
    _as_root(folder_of_nobody, "print(main(['pair', '--json']))")
    assert _owners(folder_of_nobody) == {_NOBODY}


def test_a_link_of_the_service_leads_root_nowhere(folder_of_nobody: Path) -> None:
    """Whoever has the folder must not have root write elsewhere."""
    victim = folder_of_nobody.parent / "victim"
    victim.write_text("mine")
    for name in ("codes.json.part", "codes.json.lock"):
        (folder_of_nobody / name).symlink_to(victim)
        os.chown(folder_of_nobody / name, _NOBODY, _NOBODY, follow_symlinks=False)
    _as_root(folder_of_nobody, "print(main(['pair', '--json']))")
    assert victim.read_text() == "mine"
    assert victim.stat().st_uid == 0


def test_an_own_folder_of_root_is_left_to_root(tmp_path: Path) -> None:
    service.become_owner(tmp_path / "missing")
    before = os.geteuid(), os.environ.get("HOME")
    if os.geteuid() == 0:
        service.become_owner(tmp_path)
    assert (os.geteuid(), os.environ.get("HOME")) == before


def test_the_agent_itself_and_its_doctor_stay_who_they_are(
    installed: list[Path], machine: Path
) -> None:
    settings, paths = configuration.load_own(Namespace())
    assert settings == type(settings)()
    assert paths.state_dir != machine / "var/lib/barnacle"
    assert installed == []


def _as_root(state: Path, program: str) -> str:
    """Run a program on a machine whose service has that folder; return what it printed."""
    head = (
        "import os\nfrom pathlib import Path\nfrom agent.cli import service\n"
        "from agent.cli.main import main\n"
        f"service.ROOT, service.STATE = Path({str(state.parent)!r}), Path({str(state)!r})\n"
    )
    plain = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    done = subprocess.run(
        [sys.executable, "-c", head + program],
        env={**plain, "PYTHONDONTWRITEBYTECODE": "1"},
        cwd=Path(__file__).parents[2],
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout


def _owners(folder: Path) -> set[int]:
    return {path.lstat().st_uid for path in (folder, *folder.rglob("*"))}
