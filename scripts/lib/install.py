"""`scripts/install`: the agent as a service of an existing Debian or Raspberry Pi OS."""

import argparse
import os
import shutil
import signal
import sys
from functools import partial
from pathlib import Path

from scripts.lib import machine, places, stamps, version
from scripts.lib.changes import carry_out
from scripts.lib.installation import Installation
from scripts.lib.progress import Progress, StepFailed, say
from scripts.lib.removal import Removal
from scripts.lib.service_manager import ServiceManager

_ABOUT = """\
Installs Barnacle on this machine as the service `barnacle`: Debian 12 or 13 or Raspberry Pi OS of
those years, x86-64 or arm64. Started again it changes nothing; started from a newer checkout it is
the upgrade. The new version is made beside the one that runs and takes its place in one step; one
that does not become ready gives way to the old one.
"""
_PLACES = """\
what goes where:
  /opt/barnacle                 the agent, its packages and its embedding model
  /etc/systemd/system, /etc/udev/rules.d, /etc/sysusers.d, /etc/tmpfiles.d
                                the service, its sandbox, stable names of boards, users, folders
  /etc/barnacle/barnacle.toml   the configuration, every key explained; yours, never overwritten
  /etc/credstore/barnacle.*     secrets, one line each, for root alone
  /var/lib/barnacle             memory, conversations, workspace
  /usr/local/bin/barnacle       the command

examples:
  sudo scripts/install                              install, or upgrade to this checkout
  sudo scripts/install --extra gateway --extra mcp  with more abilities; remembered by upgrades
  scripts/install --dry-run                         what would be done
  sudo scripts/install --uninstall                  remove it; configuration and memories stay
  sudo scripts/install --uninstall --purge          and those too
"""
_NEXT = """\

What to do next:
  sudo barnacle setup     a model's key, a chat platform, the board: by questions
  sudo barnacle pair      a code that lets your telephone in
  sudo barnacle chat      talk to it here
  barnacle doctor         what is wrong, and what to do about it
  journalctl -u barnacle  what it does
The configuration is /etc/barnacle/barnacle.toml; after a change: sudo systemctl restart barnacle"""


def main(arguments: list[str]) -> int:
    given = _parser().parse_args(arguments)
    if given.purge and not given.uninstall:
        _parser().error("--purge belongs to --uninstall")
    root: Path = given.root.absolute()
    signal.signal(signal.SIGTERM, _leave)
    # The service reads what root makes here
    os.umask(0o022)
    try:
        machine.refuse(root, changes=not given.dry_run, installs=not given.uninstall)
        if given.dry_run:
            return _run(given, root)
        with stamps.exclusive(root / "run/barnacle-install.lock", _say_waiting):
            return _run(given, root)
    except (StepFailed, machine.Refused, OSError) as failure:
        print(f"barnacle: {failure}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        say("interrupted; what ran goes on running, and the next start does the rest")
        return 130


def _run(given: argparse.Namespace, root: Path) -> int:
    logs = root / "var/log/barnacle-install"
    progress = Progress(logs)
    manager = ServiceManager(root, progress)
    extras = frozenset(given.extra or ()) - {"none"} if given.extra else None
    make = partial(version.make, progress=progress)
    installation = Installation(root, manager, make, extras, with_journal=given.journal)
    if given.uninstall:
        changes = Removal(root, manager).changes(purge=given.purge)
    else:
        changes = installation.changes()
    if given.dry_run:
        titles = [change.title for change in changes if not change.is_done()]
        for title in titles or ["change nothing"]:
            say(f"would {title}")
        return 0
    changed = carry_out(changes)
    if given.uninstall:
        if given.purge:
            shutil.rmtree(logs, ignore_errors=True)
        _say_what_is_left(root, changed=changed)
        return 0
    name = installation.version.name
    say(f"version {name} is installed" if changed else f"version {name} was here: nothing changed")
    print(_NEXT)
    return 0


def _say_what_is_left(root: Path, *, changed: bool) -> None:
    say("Barnacle is removed" if changed else "Barnacle was not installed: nothing changed")
    if left := [f"/{place}" for place in places.kept(root)]:
        say(f"kept: {', '.join(left)}; --uninstall --purge removes them")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="scripts/install",
        description=_ABOUT,
        epilog=_PLACES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--extra",
        action="append",
        choices=[*version.choices(), "none"],
        help="an ability that needs more packages, may be given again; without it those that are "
        "installed stay (at first: pi on a Raspberry Pi)",
    )
    parser.add_argument(
        "--journal",
        action="store_true",
        help="also a policy for the whole machine's journal that spares an SD card",
    )
    parser.add_argument("--dry-run", action="store_true", help="say what would be done, and end")
    parser.add_argument("--uninstall", action="store_true", help="remove it; what you made stays")
    parser.add_argument(
        "--purge", action="store_true", help="with --uninstall: configuration, secrets, memories"
    )
    parser.add_argument(
        "--root",
        type=Path,
        default=Path("/"),
        metavar="DIR",
        help="install into the system in that folder, which does not run (its Python must be of "
        "this machine's version)",
    )
    return parser


def _say_waiting() -> None:
    say("another scripts/install is at work; waiting for it")


def _leave(*_signal: object) -> None:
    raise KeyboardInterrupt
