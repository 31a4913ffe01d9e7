"""What `scripts/install` makes of a system, in a folder: made, upgraded, given back."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from scripts.lib import changes, places, service_manager, stamps, version
from scripts.lib.installation import Installation
from scripts.lib.progress import Progress, StepFailed
from scripts.lib.removal import Removal
from scripts.lib.service_manager import ServiceManager
from tests.fakes.installed_service import (
    InterruptedManager,
    ObedientManager,
    RefusesToStartManager,
)

UNIT = Path("etc/systemd/system/barnacle.service")
_ROOT = "root:x:0:0::/root:/bin/sh\n"
POLICY = Path("etc/systemd/journald.conf.d/barnacle.conf")


def make_quickly(
    folder: Path, final: Path, extras: frozenset[str], before: Path | None = None
) -> None:
    """A version without packages: what the rest of the installer looks at."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "bin").mkdir(parents=True)
    shutil.copytree(places.SYSTEMD, folder / "systemd")
    (folder / "extras.json").write_text(json.dumps(sorted(extras)))
    (folder / "made").write_text(f"{final} after {before.name if before else 'nothing'}")
    stamps.write(folder / ".installed", version.key(extras))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "etc").mkdir()
    return tmp_path


@pytest.fixture
def install(root: Path) -> Callable[..., tuple[bool, str]]:
    """Installs; whether anything changed, and the version's name."""

    def install(manager: ObedientManager, *extras: str, journal: bool = False) -> tuple[bool, str]:
        chosen = frozenset(extras) if extras else None
        made = Installation(root, manager, make_quickly, chosen, with_journal=journal)
        return changes.carry_out(made.changes()), made.version.name

    return install


Install = Callable[..., tuple[bool, str]]


def files_below(root: Path) -> dict[Path, int]:
    return {path: path.lstat().st_mtime_ns for path in root.rglob("*")}


def test_everything_is_in_its_place_and_started(root: Path, install: Install) -> None:
    manager = ObedientManager(root)
    _, name = install(manager)
    assert manager.started == [name]
    assert manager.enabled
    assert (root / "opt/barnacle").readlink() == Path("barnacle-versions") / name
    assert (
        root / "opt/barnacle/made"
    ).read_text() == f"/opt/barnacle-versions/{name} after nothing"
    assert (root / "usr/local/bin/barnacle").readlink() == Path("/opt/barnacle/bin/barnacle")
    assert (root / UNIT).read_bytes() == (places.SYSTEMD / UNIT.name).read_bytes()
    settings = root / "etc/barnacle/barnacle.toml"
    assert "every key" in settings.read_text()
    assert settings.stat().st_mode & 0o777 == 0o640


def test_the_second_time_changes_nothing(root: Path, install: Install) -> None:
    manager = ObedientManager(root)
    install(manager)
    before = files_below(root)
    assert install(manager)[0] is False
    assert files_below(root) == before
    assert len(manager.started) == 1


def test_looking_changes_nothing(root: Path) -> None:
    manager = ObedientManager(root)
    wanted = Installation(root, manager, make_quickly).changes()
    assert [change for change in wanted if not change.is_done()]
    assert list(files_below(root)) == [root / "etc"]
    assert manager.started == []


def test_an_upgrade_takes_the_place_of_what_was(root: Path, install: Install) -> None:
    manager = ObedientManager(root)
    _, old = install(manager)
    changed, new = install(manager, "gateway")
    assert changed
    assert manager.started == [old, new]
    assert manager.used == new
    assert [path.name for path in (root / "opt/barnacle-versions").iterdir()] == [new]
    assert (root / "opt/barnacle/made").read_text().endswith(f"after {old}")


def test_a_version_that_does_not_start_gives_way_to_the_old_one(
    root: Path, install: Install
) -> None:
    _, old = install(ObedientManager(root))
    (root / UNIT).write_text("# a newer unit\n")
    manager = RefusesToStartManager(root, good=old)
    with pytest.raises(StepFailed, match="last words") as failure:
        install(manager, "gateway")
    assert f"{old} runs again" in str(failure.value)
    assert manager.used == old
    assert manager.started[-1] == old
    assert (root / UNIT).read_bytes() == (places.SYSTEMD / UNIT.name).read_bytes()


def test_an_interrupted_start_leaves_the_version_that_ran(root: Path, install: Install) -> None:
    _, old = install(ObedientManager(root))
    manager = InterruptedManager(root)
    with pytest.raises(KeyboardInterrupt):
        install(manager, "gateway")
    assert (manager.used, manager.started[-1]) == (old, old)


def test_the_way_back_is_there_also_after_an_installer_that_was_killed(
    root: Path, install: Install
) -> None:
    """In the middle of the start: the link leads to the new version by then."""
    _, old = install(ObedientManager(root))
    killed = Installation(root, RefusesToStartManager(root), make_quickly, frozenset({"gateway"}))
    for change in killed.changes():
        if change.title == "start the service":
            break
        change.make()
    half_made = root / "opt/barnacle-versions/half-made"
    half_made.mkdir()
    manager = RefusesToStartManager(root, good=old)
    with pytest.raises(StepFailed, match="runs again"):
        install(manager, "gateway")
    assert manager.used == old


def test_a_first_version_that_does_not_start_is_said_to_be_there(
    root: Path, install: Install
) -> None:
    with pytest.raises(StepFailed, match="It is installed, and does not start"):
        install(RefusesToStartManager(root))


def test_what_was_cut_off_while_it_was_made_is_made_anew(root: Path, install: Install) -> None:
    manager = ObedientManager(root)
    _, name = install(manager)
    cut_off = root / "opt/barnacle-versions" / name
    (cut_off / ".installed").unlink()
    shutil.rmtree(cut_off / "bin")
    assert install(manager) == (True, name)
    assert (cut_off / "bin").is_dir()


def test_extras_stay_until_others_are_chosen(root: Path, install: Install) -> None:
    manager = ObedientManager(root)
    _, with_gateway = install(manager, "gateway")
    assert install(manager) == (False, with_gateway)
    assert install(manager, "mcp")[1] != with_gateway
    assert version.extras_of(root / "opt/barnacle") == {"mcp"}


def test_the_journal_is_touched_only_when_that_is_asked_for(root: Path, install: Install) -> None:
    manager = ObedientManager(root)
    install(manager)
    assert not (root / POLICY).exists()
    assert install(manager, journal=True)[0]
    (root / POLICY).write_text("an older one")
    assert install(manager)[0]
    assert "SystemMaxUse" in (root / POLICY).read_text()


def test_a_configuration_is_never_overwritten(root: Path, install: Install) -> None:
    settings = root / "etc/barnacle/barnacle.toml"
    settings.parent.mkdir()
    settings.write_text("# mine")
    install(ObedientManager(root))
    assert settings.read_text() == "# mine"


def test_a_removal_keeps_what_a_person_made(root: Path, install: Install) -> None:
    manager = ObedientManager(root)
    install(manager, journal=True)
    (root / "var/lib/barnacle/memory").write_text("Mei")
    (root / "etc/credstore/barnacle.api_key").write_text("key")
    assert changes.carry_out(Removal(root, manager).changes(purge=False))
    assert not manager.enabled
    left = {path for path in files_below(root) if path.is_file() or path.is_symlink()}
    assert left == {
        root / "etc/barnacle/barnacle.toml",
        root / "etc/credstore/barnacle.api_key",
        root / "var/lib/barnacle/memory",
    }
    assert not changes.carry_out(Removal(root, manager).changes(purge=False))


def test_a_purge_leaves_only_what_belongs_to_others(root: Path, install: Install) -> None:
    manager = ObedientManager(root)
    install(manager)
    (root / "etc/credstore/barnacle.api_key").write_text("key")
    (root / "etc/credstore.encrypted/barnacle.mqtt_password").write_text("key")
    (root / "etc/credstore/other").write_text("key")
    (root / "etc/systemd/system/other.service").write_text("[Service]")
    changes.carry_out(Removal(root, manager).changes(purge=True))
    left = {path for path in files_below(root) if path.is_file() or path.is_symlink()}
    assert left == {root / "etc/credstore/other", root / "etc/systemd/system/other.service"}


@pytest.mark.skipif(os.geteuid() != 0, reason="users and owners of folders: needs root")
@pytest.mark.skipif(not shutil.which("systemd-sysusers"), reason="systemd is not installed")
def test_systemds_own_programs_accept_what_is_made(root: Path) -> None:
    manager = ServiceManager(root, Progress(root / "var/log"))
    made = Installation(root, manager, make_quickly)
    assert changes.carry_out(made.changes())
    assert not changes.carry_out(made.changes())
    wanted = root / "etc/systemd/system/multi-user.target.wants/barnacle.service"
    assert wanted.readlink() == Path("/etc/systemd/system/barnacle.service")
    asked = ["systemctl", f"--root={root}", "is-enabled", *places.ENABLED]
    told = subprocess.run(asked, capture_output=True, text=True, check=True)
    assert told.stdout.split() == ["enabled"] * len(places.ENABLED)
    group = (root / "etc/barnacle/barnacle.toml").stat().st_gid
    assert f"barnacle:x:{group}:" in (root / "etc/group").read_text().replace("!*", "x")
    # Its owner has enabled these, as the guides say
    by_hand = ["barnacle-console.socket", "barnacle-browser.socket", "barnacle-signal.service"]
    subprocess.run(["systemctl", f"--root={root}", "--quiet", "enable", *by_hand], check=True)
    assert changes.carry_out(Removal(root, manager).changes(purge=False))
    links = (path for path in (root / "etc/systemd").rglob("*") if path.is_symlink())
    assert list(links) == []


def test_a_removal_stops_the_units_that_are_there_and_no_others(
    root: Path, install: Install
) -> None:
    manager = ObedientManager(root)
    install(manager)
    # The version that is installed does not have it yet
    (root / UNIT.with_name("barnacle-browser.socket")).unlink()
    changes.carry_out(Removal(root, manager).changes(purge=False))
    names = {path.name for path in places.SYSTEMD.glob("barnacle*")}
    assert set(manager.stopped) == names - {"barnacle-browser.socket"}


@pytest.fixture
def systemctl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file in which each call of `systemctl` is a line."""
    told = tmp_path / "told"
    program = tmp_path / "bin/systemctl"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\necho "$@" >>{told}\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=os.pathsep)
    monkeypatch.setattr(service_manager, "_UDEV", tmp_path / "none")
    return told


def test_instances_of_templates_are_stopped_and_sockets_before_what_they_start(
    tmp_path: Path, systemctl: Path
) -> None:
    manager = ServiceManager(Path("/"), Progress(tmp_path / "logs"))
    manager.stop(["a.service", "b@.service", "c.socket"])
    assert systemctl.read_text() == "stop c.socket a.service b@*.service\n"


def test_a_console_that_runs_begins_anew_with_the_new_version(
    tmp_path: Path, systemctl: Path
) -> None:
    """Its pages and words are read when somebody asks for them, and the old folder goes."""
    ServiceManager(Path("/"), Progress(tmp_path / "logs")).restart()
    assert systemctl.read_text().splitlines()[-2:] == [
        "restart barnacle.service",
        "try-restart barnacle-console.service",
    ]


@pytest.mark.usefixtures("systemctl")
def test_a_version_that_neither_starts_nor_ends_in_time_still_gives_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An agent that hangs is killed after 25 s, and what runs after it has its time as well."""
    program = tmp_path / "bin/systemctl"
    program.write_text("#!/bin/sh\ncase $1 in restart) exit 1;; stop) exec sleep 60;; esac\n")
    for name in ("_ANSWER_TIMEOUT_S", "_STOP_TIMEOUT_S"):
        monkeypatch.setattr(service_manager, name, 0.2, raising=False)
    with pytest.raises(StepFailed, match="start-the-service"):
        ServiceManager(Path("/"), Progress(tmp_path / "logs")).restart()


def test_a_purge_removes_the_users_that_are_there_also_when_the_files_are_gone(
    root: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As userdel does it: a user that an older version never made is an error to it."""
    (root / "etc/passwd").write_text(_ROOT + "barnacle:x:900:900::/:\nbarnacle-mcp:x:902:902::/:\n")
    program = tmp_path / "bin/userdel"
    program.parent.mkdir()
    program.write_text(
        '#!/bin/sh\ngrep -q "^$2:" etc/passwd || exit 6\nsed -i "/^$2:/d" etc/passwd\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=os.pathsep)
    monkeypatch.chdir(root)
    manager = ServiceManager(root, Progress(root / "logs"))
    assert changes.carry_out(Removal(root, manager).changes(purge=True))
    assert (root / "etc/passwd").read_text() == _ROOT
    assert not changes.carry_out(Removal(root, manager).changes(purge=True))
