"""The checks of `scripts/test-install`, without the system that they look at."""

import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from scripts.lib import places
from scripts.lib.container import Container
from scripts.lib.install_checks import Checks, Unmet


@pytest.fixture
def installed(tmp_path: Path) -> SimpleNamespace:
    """A system in which everything is as the installer leaves it."""
    images = tmp_path / "opt/barnacle/lib/python3.11/site-packages/agent/firmware"
    images.mkdir(parents=True)
    for name in ("one.fw", "other.fw"):
        (images / name).touch()

    def say(*command: str) -> str:
        if "is-enabled" in command:
            return "\n".join("enabled" for unit in command if unit in places.ENABLED)
        return "active" if "ActiveState" in command else ""

    done = subprocess.CompletedProcess([], 0, "version 1 is installed", "")
    return SimpleNamespace(root=tmp_path, say=say, do=lambda *_, **__: done)


def test_a_system_as_the_installer_leaves_it_is_right(installed: SimpleNamespace) -> None:
    Checks(cast("Container", installed)).installs()


def test_a_unit_that_is_not_enabled_is_seen(installed: SimpleNamespace) -> None:
    as_wanted = installed.say
    installed.say = lambda *command: as_wanted(*command).replace("enabled", "disabled", 1)
    with pytest.raises(Unmet, match="disabled"):
        Checks(cast("Container", installed)).installs()
