"""`scripts/install` itself: what it says, and what it refuses."""

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.lib import install, locks, machine, places, version
from tests.structure.sources import ROOT

LOCK = "idna==3 \\\n    --hash=sha256:aa\nlgpio==1 ; x \\\n    --hash=sha256:bb\nmcp==2\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "etc").mkdir()
    return tmp_path


def refusal(root: Path, *, changes: bool = False) -> str:
    with pytest.raises(machine.Refused) as failure:
        machine.refuse(root, changes=changes, installs=True)
    return str(failure.value)


def test_a_folder_without_a_system_is_refused(tmp_path: Path) -> None:
    assert refusal(tmp_path) == f"{tmp_path} is not a system: it has no folder etc"


def test_an_architecture_without_packages_is_refused(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "armv7l")
    assert "install the 64-bit system" in refusal(root)


def test_a_full_disk_is_refused(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "NEEDED_MB", 10**9)
    assert " MB free, 1000000000 are needed" in refusal(root)


_REFUSE = """\
import sys
from pathlib import Path
from scripts.lib import machine
machine.refuse(Path(sys.argv[1]), changes=True, installs=True)
"""


@pytest.mark.parametrize("folder", ["usr", "etc", "opt"])
@pytest.mark.skipif(os.geteuid() != 0, reason="a read-only file system: needs root")
def test_a_place_that_cannot_be_written_is_refused_before_anything_is_made(
    root: Path, folder: str
) -> None:
    (root / folder).mkdir(exist_ok=True)
    mount = 'mount -t tmpfs -o ro tmpfs "$1/$0" && exec "$2" -c "$3" "$1"'
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", mount, folder, root, sys.executable, _REFUSE],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert f"{root / folder} cannot be written" in done.stderr.splitlines()[-1]


def test_the_card_has_another_way(root: Path) -> None:
    unit = root / "usr/lib/systemd/system/barnacle.service"
    unit.parent.mkdir(parents=True)
    unit.touch()
    assert "`barnacle update`" in refusal(root)


PERSON = "pi:x:1000:1000::/home/pi:/bin/sh\nbarnacle:x:1001:1001::/home/barnacle:/bin/bash\n"


def test_an_account_of_a_person_is_not_taken_for_the_services(root: Path) -> None:
    """It would run as them, and their account would go with a purge."""
    (root / "etc/passwd").write_text(PERSON)
    assert "the account barnacle" in refusal(root)
    assert "/home/barnacle" in refusal(root)
    assert places.users(root) == []
    (root / "etc/passwd").write_text(PERSON.replace("barnacle:x:1001", "barnacle:x:999"))
    machine.refuse(root, changes=False, installs=True)
    assert places.users(root) == ["barnacle"]


def test_what_is_installed_already_is_still_brought_up_to_date(root: Path) -> None:
    (root / "etc/passwd").write_text(PERSON)
    (root / places.PREFIX).mkdir(parents=True)
    machine.refuse(root, changes=False, installs=True)


@pytest.mark.skipif(Path("/run/systemd/system").exists(), reason="systemd runs this machine")
def test_a_machine_without_systemd_is_refused() -> None:
    assert refusal(Path("/")).startswith("this machine does not run systemd")


def test_nobody_but_root_changes_a_system(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert "as root" in refusal(root, changes=True)


def test_a_refusal_is_one_sentence_and_no_traceback(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert install.main(["--dry-run", "--root", str(tmp_path)]) == 1
    assert capsys.readouterr().err.splitlines() == [
        f"barnacle: {tmp_path} is not a system: it has no folder etc"
    ]


def test_a_dry_run_says_what_would_be_done_and_does_nothing(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert install.main(["--dry-run", "--root", str(root)]) == 0
    told = capsys.readouterr().err.splitlines()
    assert told[0].startswith(f"barnacle: would make version {version.number()}-")
    assert "barnacle: would put units, users and rules into etc" in told
    assert [path.name for path in root.rglob("*")] == ["etc"]


def test_a_dry_removal_of_nothing_is_nothing(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert install.main(["--dry-run", "--uninstall", "--root", str(root)]) == 0
    assert capsys.readouterr().err == "barnacle: would change nothing\n"


@pytest.mark.parametrize("options", [["--purge"], ["--extra", "everything"], ["now"]])
def test_a_wrong_option_is_named(options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        install.main(options)
    assert end.value.code == 2
    assert options[-1] in capsys.readouterr().err


def test_a_pi_is_known_by_its_device_tree(root: Path) -> None:
    assert not machine.is_pi(root)
    tree = root / "sys/firmware/devicetree/base/model"
    tree.parent.mkdir(parents=True)
    tree.write_bytes(b"Raspberry Pi Zero 2 W Rev 1.0\0")
    assert machine.is_pi(root)


@pytest.mark.parametrize(
    ("python", "sentence"),
    [
        ("/no/such/python", "barnacle: no python3 found."),
        ("#!/bin/sh\ncase $3 in *sys.exit*) exit 1;; esac\necho 3.9.2", "Python 3.9.2 is too old"),
        ("#!/bin/sh\ncase $3 in *ensurepip*) exit 1;; esac\necho 3.11.2", "package python3-venv"),
    ],
)
def test_an_interpreter_that_will_not_do_is_explained(
    tmp_path: Path, python: str, sentence: str
) -> None:
    program = tmp_path / "python3"
    if python.startswith("#!"):
        program.write_text(python)
        program.chmod(0o755)
    else:
        program = Path(python)
    done = subprocess.run(
        [ROOT / "scripts/install", "--dry-run"],
        env={"BARNACLE_PYTHON": str(program), "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert sentence in done.stderr


def test_parts_of_a_lock_keep_their_hashes() -> None:
    assert locks.only(LOCK, {"lgpio"}) == "lgpio==1 ; x \\\n    --hash=sha256:bb\n"
    assert locks.only(LOCK, {"lgpio"}) not in locks.without(LOCK, {"lgpio"})
    assert locks.pins(LOCK) == "idna==3\nlgpio==1 ; x\nmcp==2\n"


def test_another_choice_is_another_version() -> None:
    assert version.key(frozenset()) == version.key(frozenset())
    assert version.key(frozenset()) != version.key(frozenset({"mcp"}))
    chosen = {
        "backup",
        "console",
        "documents",
        "drawing",
        "gateway",
        "matrix",
        "mcp",
        "pi",
        "postgres",
        "speech",
        "xmpp",
    }
    assert set(version.choices()) == chosen


def test_the_command_leads_to_its_own_version_whatever_the_environment_says(
    tmp_path: Path,
) -> None:
    package = tmp_path / "agent/cli"
    package.mkdir(parents=True)
    (package / "main.py").write_text("def main():\n    print('led astray')\n")
    places.write_launcher(tmp_path / "barnacle", Path(sys.executable), tmp_path / "model")
    done = subprocess.run(
        [tmp_path / "barnacle", "--version"],
        env={"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.startswith("barnacle ")
