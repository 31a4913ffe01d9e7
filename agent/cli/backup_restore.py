"""`barnacle backup restore | confirm`: this system becomes the device of a backup."""

import time
from argparse import Namespace
from pathlib import Path

from agent.backup import unconfirmed
from agent.backup.aftermath import RestoreNote
from agent.backup.restore import RestoreTarget, go_on, restore
from agent.backup.telling import day_time
from agent.cli import exits
from agent.cli.backup_secrets import file_of, keys_of
from agent.cli.backup_source import service_environment, surroundings
from agent.cli.file_ownership import hand_over
from agent.cli.output import agreed, say
from agent.cli.places import check_writable, places_of
from agent.errors import BadArguments
from agent.provision.restoration import MachineRestore, outside_folders
from agent.schedule.trust import is_trusted
from agent.schedule.zone import local_zone
from agent.settings import SYSTEM_CONFIG, state_dir

_MOST_SHOWN = 20


def run(arguments: Namespace) -> int:
    return _confirm(arguments) if arguments.action == "confirm" else _restore(arguments)


def _restore(arguments: Namespace) -> int:
    target = _target(arguments)
    if arguments.go_on:
        told = "the restore is finished" if go_on(target) else "no restore was cut off"
        say(f"{told}: start the agent")
        return exits.OK
    if not arguments.file:
        raise BadArguments("name the file of the backup")
    path, keys = file_of(arguments), keys_of(arguments)
    if not agreed(arguments, f"Replace everything in {target.state_dir} by the backup"):
        return exits.FAILED
    _say_done(restore(path, keys, target), target.state_dir)
    return exits.OK


def _target(arguments: Namespace) -> RestoreTarget:
    environ = service_environment(arguments)
    named = getattr(arguments, "state_dir", None)
    # Not what the present configuration says: it goes, and may be the reason for the restore
    folder = Path(named) if named else state_dir(environ)
    places = places_of(arguments)
    check_writable(places.config, "backup restore")
    now_s = time.time()
    machine = MachineRestore(places, is_services=places.config == SYSTEM_CONFIG)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return RestoreTarget(
        state_dir=folder.absolute(),
        config=places.config,
        system=machine.system(),
        outside=lambda config: outside_folders(config, folder.absolute()),
        now_s=now_s if is_trusted(now_s) else 0.0,
        zone=local_zone(),
        takes_credentials=places.credstore is not None,
    )


def _say_done(note: RestoreNote, folder: Path) -> None:
    say(f"{folder} is {note.device} as of {day_time(note.made_at_s)}; this is restore {note.epoch}")
    if note.kept:
        say(f"what was there before is in {note.kept}: remove it when you miss nothing")
    for sentence in note.left:
        say(f"not restored: {sentence}")
    if note.closed:
        say(f"{len(note.closed)} things were open in the backup and are not repeated:")
    for line in note.closed[:_MOST_SHOWN]:
        say(f"  {line}")
    if (more := len(note.closed) - _MOST_SHOWN) > 0:
        say(f"  and {more} more")
    if (waiting := len([*unconfirmed.sentences(folder)])) > 0:
        say(f"{waiting} approvals have no effect until `barnacle backup confirm`")
    say("start the agent: it tells the owner the same. Never start the old card beside it")


def _confirm(arguments: Namespace) -> int:
    folder = surroundings(arguments)[1].state_dir
    lines = [*unconfirmed.sentences(folder)]
    if not lines:
        say("no approvals of a backup wait to be confirmed")
        return exits.OK
    for line in lines:
        say(line)
    if arguments.forget:
        say(f"{unconfirmed.refuse(folder)} forgotten: the agent asks you again")
        return exits.OK
    if not agreed(arguments, f"Allow these {len(lines)} again"):
        return exits.FAILED
    say(f"{unconfirmed.confirm(folder)} are in effect again")
    hand_over(folder, unconfirmed.FILES)
    return exits.OK
