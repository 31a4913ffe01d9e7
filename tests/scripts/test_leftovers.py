"""A run that leaves a process or a folder behind fails and names both, and leaves nothing more."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LIMIT_S = 90.0
_CONFTEST = """
from tests import leftovers
leftovers.PATIENCE_S = 0.5

def pytest_configure(config):
    leftovers.watch(config)
"""
_TIDY = """
import subprocess, tempfile

def test_tidy():
    with tempfile.TemporaryDirectory():
        subprocess.run(["true"], check=True)
"""
# The second sheds its environment and its parent
_UNTIDY = """
import os, subprocess, tempfile
from tests import leftovers

def test_leaves_a_process():
    subprocess.Popen(["sleep", "321"])

def test_leaves_what_has_lost_its_parent():
    subprocess.run(["sh", "-c", "sleep 322 &"], env={"PATH": os.environ["PATH"]},
                   check=True, start_new_session=True)

def test_leaves_a_folder():
    tempfile.mkdtemp(prefix="lost-")

def test_starts_what_leaves_a_folder():
    make = "import tempfile; open(tempfile.mkdtemp(prefix='hidden-') + '/kept', 'w')"
    subprocess.run(["python3", "-c", make], check=True)

def test_shares_a_process():
    shared = subprocess.Popen(["sleep", "323"])
    leftovers.at_end(lambda: (shared.kill(), shared.wait()))
"""


@pytest.mark.parametrize("workers", ["0", "2"])
def test_what_is_left_is_named_and_removed(tmp_path: Path, workers: str) -> None:
    done = run(tmp_path, workers, test_untidy=_UNTIDY)
    assert done.returncode == pytest.ExitCode.TESTS_FAILED
    assert "5 passed" in done.stdout
    _, _, told = done.stdout.partition("LEFT BEHIND")
    assert ": sleep 321 (started by test_untidy.py::test_leaves_a_process (call))" in told
    [orphan] = [line for line in told.splitlines() if ": sleep 322 (started while " in line]
    assert "test_untidy.py::test_leaves_what_has_lost_its_parent" in orphan
    assert "(made by test_untidy.py::test_leaves_a_folder (call))" in told
    [hidden] = [line for line in told.splitlines() if "/hidden-" in line]
    assert "with ['kept'], changed while these ran: " in hidden
    assert "test_untidy.py::test_starts_what_leaves_a_folder" in hidden
    assert "sleep 323" not in told
    assert not list((tmp_path / "temporary").glob("tests-*"))
    running = subprocess.run(["ps", "-eo", "args"], check=True, capture_output=True, text=True)
    assert not {"sleep 321", "sleep 322", "sleep 323"} & set(running.stdout.splitlines())


@pytest.mark.parametrize("workers", ["0", "2"])
def test_a_tidy_run_passes(tmp_path: Path, workers: str) -> None:
    done = run(tmp_path, workers, test_tidy=_TIDY)
    assert done.returncode == pytest.ExitCode.OK, done.stdout
    assert "LEFT BEHIND" not in done.stdout


def run(folder: Path, workers: str, **files: str) -> "subprocess.CompletedProcess[str]":
    for name, source in {"conftest": _CONFTEST, **files}.items():
        (folder / f"{name}.py").write_text(source)
    (folder / "pytest.ini").touch()
    (folder / "temporary").mkdir()
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    environ = {**kept, "PYTHONPATH": str(ROOT), "TMPDIR": str(folder / "temporary")}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-n", workers]
    return subprocess.run(
        command, cwd=folder, env=environ, capture_output=True, text=True, timeout=LIMIT_S,
        check=False,
    )  # fmt: skip
