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
Installs Barnacle on this machine as the service `barnacle`, on Debian 12 or 13 or Raspberry Pi OS
of those years, x86-64 or arm64. A second run changes nothing; a run from a newer checkout upgrades.
The new version is built beside the present one and replaces it in one step. If it does not start,
the old version runs again.
"""
_PLACES = """\
files:
  /opt/barnacle                 the agent, its packages and its embedding model
  /etc/systemd/system, /etc/udev/rules.d, /etc/sysusers.d, /etc/tmpfiles.d
                                the service, its sandbox, stable names of boards, users, folders
  /etc/barnacle/barnacle.toml   the configuration, with every key explained; never overwritten
  /etc/credstore/barnacle.*     secrets, one line each, readable by root only
  /var/lib/barnacle             memory, conversations, workspace
  /usr/local/bin/barnacle       the command

examples:
  sudo scripts/install                              install, or upgrade to this checkout
  sudo scripts/install --extra gateway --extra mcp  with optional parts; upgrades keep them
  scripts/install --dry-run                         list the changes without making them
  sudo scripts/install --uninstall                  remove it; keep configuration and memories
  sudo scripts/install --uninstall --purge          remove those too
"""
_NEXT = """\

Next steps:
  sudo barnacle setup     set up the model service and chat platforms
  sudo barnacle pair      create a code that lets your telephone in
  sudo barnacle chat      talk to it in this terminal
  sudo barnacle doctor    find problems and how to fix them
  journalctl -u barnacle  read its log
The configuration is /etc/barnacle/barnacle.toml; after a change: sudo systemctl restart barnacle"""


def main(arguments: list[str]) -> int:
    given = _parser().parse_args(arguments)
    if given.purge and not given.uninstall:
        _parser().error("--purge works only with --uninstall")
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
        help="optional part that needs more packages; may be repeated; without it the installed "
        "ones stay (first installation: pi on a Raspberry Pi)",
    )
    parser.add_argument(
        "--journal",
        action="store_true",
        help="also limit the writes of this machine's journal, to spare an SD card",
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="list the changes without making them"
    )
    parser.add_argument("--uninstall", action="store_true", help="remove it; keep your data")
    parser.add_argument(
        "--purge",
        action="store_true",
        help="with --uninstall: also remove configuration, secrets, memories",
    )
    parser.add_argument(
        "--root",
        type=Path,
        default=Path("/"),
        metavar="DIR",
        help="install into a system in this folder that is not running (with the same Python "
        "version as this machine)",
    )
    return parser


def _say_waiting() -> None:
    say("another scripts/install is running; waiting for it")


def _leave(*_signal: object) -> None:
    raise KeyboardInterrupt
