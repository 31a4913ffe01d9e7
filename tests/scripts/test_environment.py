"""What the virtual environment of a checkout gets beside its packages."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from agent import __version__
from scripts.lib import environment
from scripts.lib.environment import Environment
from scripts.lib.progress import Progress, StepFailed
from tests.structure.sources import ROOT


@pytest.fixture(params=["clone", "my clone ü", "x" * 150])
def checkout(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A checkout whose path shebangs find hard, with an environment that is only a skeleton."""
    root = tmp_path / str(request.param)
    (root / ".venv/bin").mkdir(parents=True)
    (root / ".venv/lib/python3.99/site-packages").mkdir(parents=True)
    (root / ".venv/bin/python").symlink_to(sys.executable)
    shutil.copy(ROOT / "pyproject.toml", root)
    return root


def test_the_launcher_starts_the_command_wherever_the_checkout_is(checkout: Path) -> None:
    Environment(checkout, Progress(checkout)).link_package()
    done = subprocess.run(
        [checkout / ".venv/bin/barnacle", "--version"],
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == f"barnacle {__version__}\n"


def test_the_package_is_found_in_the_checkout(checkout: Path) -> None:
    Environment(checkout, Progress(checkout)).link_package()
    [link] = checkout.rglob("barnacle.pth")
    assert link.read_text() == f"{checkout}\n"


def test_settings_that_lead_elsewhere_are_not_handed_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", "/elsewhere")
    monkeypatch.setenv("PIP_TARGET", "/elsewhere")
    monkeypatch.setenv("PIP_INDEX_URL", "http://mirror.example")
    variables = environment.variables(tmp_path)
    assert not {"PYTHONPATH", "PIP_TARGET"} & set(variables)
    assert variables["PIP_INDEX_URL"] == "http://mirror.example"
    assert variables["PATH"].startswith(f"{tmp_path}/.venv/bin:")


def test_an_installation_that_was_cut_off_is_not_whole(tmp_path: Path) -> None:
    made = Environment(tmp_path, Progress(tmp_path / "logs"))
    bin_folder = tmp_path / ".venv" / "bin"
    bin_folder.mkdir(parents=True)
    (bin_folder / "python").write_text("#!/bin/sh\nexit 1\n")
    (bin_folder / "python").chmod(0o755)
    assert made.is_whole
    with pytest.raises(StepFailed):
        made.install("install dependencies", tmp_path / "no.lock")
    assert not made.is_whole
