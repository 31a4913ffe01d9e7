"""Installs, upgrades, breaks and removes the agent in a throw-away Debian with its own systemd.

Needs root, mmdebstrap and systemd-nspawn (Debian's package systemd-container); takes minutes.
"""

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from scripts.lib import places
from scripts.lib.container import PACKAGES, started
from scripts.lib.install_checks import Checks, Unmet
from scripts.lib.progress import Progress, StepFailed, say

_CACHE = places.ROOT / ".barnacle/install-trial"
_SOURCES = ("agent", "scripts", "systemd", "firmware", "pyproject.toml")
_MISSING = "it needs root, and Debian's packages mmdebstrap and systemd-container"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="scripts/test-install", description=__doc__)
    parser.add_argument("releases", nargs="*", default=["bookworm", "trixie"])
    given = parser.parse_args(arguments)
    if not (shutil.which("mmdebstrap") and shutil.which("systemd-nspawn")):
        print(f"test-install: {_MISSING}", file=sys.stderr)
        return 1
    try:
        for release in given.releases:
            _try(release)
    except (Unmet, StepFailed, OSError) as failure:
        print(f"test-install: {failure}", file=sys.stderr)
        return 1
    return 0


def _try(release: str) -> None:
    tar = _CACHE / f"{release}.tar"
    if not tar.exists():
        fresh = tar.with_suffix(".new.tar")
        command: list[str | Path] = ["mmdebstrap", "--variant=minbase"]
        command += [f"--include={PACKAGES}", release, fresh]
        Progress(_CACHE / "logs").run(
            f"fetch {release}", command, environment={"PATH": "/usr/sbin:/usr/bin"}, remedy=_MISSING
        )
        fresh.replace(tar)
    with (
        tempfile.TemporaryDirectory(prefix="install-") as folder,
        started(tar, Path(folder) / release) as system,
    ):
        _copy_checkout(system.root / "src")
        checks = Checks(system)
        for check in (
            checks.says_what_it_would_do,
            checks.installs,
            checks.answers,
            checks.names_tools_in_the_journal,
            checks.changes_nothing_the_second_time,
            checks.protects_the_service,
            checks.hands_over_secrets_and_starts_without,
            checks.keeps_the_old_one_when_a_package_is_not_the_locked_one,
            checks.keeps_the_old_one_when_it_is_killed,
            checks.goes_back_from_an_agent_that_does_not_start,
            checks.upgrades_and_remembers,
            checks.adds_an_extra_and_keeps_it,
            checks.removes_itself_and_keeps_what_is_yours,
            checks.removes_everything,
        ):
            _carry_out(release, check)


def _carry_out(release: str, check: Callable[[], None]) -> None:
    started_s = time.monotonic()
    check()
    title = check.__name__.replace("_", " ")
    say(f"{release}: {title}: ok, {time.monotonic() - started_s:.0f} s")


def _copy_checkout(target: Path) -> None:
    for name in _SOURCES:
        source = places.ROOT / name
        if source.is_file():
            target.mkdir(exist_ok=True)
            shutil.copy(source, target)
        else:
            shutil.copytree(source, target / name, ignore=shutil.ignore_patterns("__pycache__"))
