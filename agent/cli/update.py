"""`barnacle update`: another version into the slot that does not run, tried once, kept or left.

Root's work: the agent has no right to any of it, so that nothing it reads can ask for it.
"""

import asyncio
import contextlib
import logging
import os
import signal
import sys
from argparse import Namespace
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from pathlib import Path

from agent.cli import exits
from agent.cli.output import say, say_json
from agent.errors import UpdateRefused
from agent.health.data_partition import ASIDE, unkept_text, why_unused
from agent.system.clock import SystemClock
from agent.system.programs import run_program
from agent.update import bootloader, probation
from agent.update.installation import Installation
from agent.update.machine import Machine, find_machine
from agent.update.records import UpdateRecords
from agent.update.trial import Trials, TrialStanding

# The service manager takes the wish at once and ends everything later
_RESTART_TIMEOUT_S = 60.0
LATER_TEXT = "start it with `barnacle update try`"
_TRIED_TEXT = (
    "the device restarts and tries it; unless it stays healthy, the present version comes back"
)
_SWITCH_WARNING = (
    "this kernel cannot ask the boot loader for a single trial start: if the "
    "kernel of the new version does not start at all, put the old os_prefix= "
    "back into config.txt on any PC"
)


def run(arguments: Namespace) -> int:
    machine = find_machine(Path(arguments.root))
    trials = Trials(machine, UpdateRecords(machine.records), _restart, SystemClock())
    if arguments.what == "status":
        return _show(machine, trials.records, as_json=arguments.json)
    _refuse_unless_root(machine)
    _refuse_unless_recorded(machine)
    if machine.root == Path("/"):
        bootloader.bring(machine.firmware)
    actions: dict[str, Callable[[], None]]
    actions = {"try": partial(_try, trials), "commit": trials.keep, "rollback": trials.go_back}
    if arguments.what == "watch":
        _watch(trials)
    elif (action := actions.get(arguments.what)) is not None:
        action()
        say("done" if arguments.what == "commit" else "done; see `barnacle update status`")
    else:
        _install(machine, arguments)
        _begin(machine, trials, is_later=arguments.later)
    return exits.OK


def _refuse_unless_root(machine: Machine) -> None:
    if machine.root == Path("/") and os.geteuid() != 0:
        raise UpdateRefused("this command needs root: sudo barnacle update ...")


def _refuse_unless_recorded(machine: Machine) -> None:
    """Refuse where the next start would know nothing of it, and call a half-written slot whole."""
    if why := why_unused(machine.root / ASIDE.relative_to("/")):
        raise UpdateRefused(unkept_text(why))


def _show(machine: Machine, records: UpdateRecords, *, as_json: bool) -> int:
    trial, outcome, held = records.trial(), records.outcome(), records.held(machine.running)
    runs = machine.identity.version
    if as_json:
        import msgspec  # noqa: PLC0415 - only where JSON is asked for

        told = {"slot": machine.running, "version": runs, "trial": trial}
        say_json(msgspec.to_builtins(told | {"outcome": outcome, "other_slot": held}))
        return exits.OK
    say(f"version {runs} runs, from slot {machine.running}")
    if trial is not None and trial.slot == machine.running:
        say(
            f"on trial: version {trial.from_version} comes back unless this one stays "
            "healthy for ten minutes"
        )
    elif trial is not None:
        say(f"version {trial.version} is in slot {trial.slot}: {trial.phase.value}")
    elif held is not None:
        say(f"version {held.version} is in slot {held.slot}: `barnacle update rollback` starts it")
    if outcome is not None:
        kept = "kept" if outcome.is_kept else f"not kept: {outcome.reason}"
        say(f"last update: {outcome.version}, {kept}")
    return exits.OK


def _watch(trials: Trials) -> None:
    """Run the service manager's step at each start while a version is on trial."""
    # In place of the handler that keeps a command's own lines apart
    logging.basicConfig(level=logging.INFO, format="%(message)s", force=True)
    if trials.settle() is not TrialStanding.ON_TRIAL:
        return
    minutes = probation.HEALTHY_S / 60
    logging.getLogger(__name__).info("update: on trial (healthy_min=%.0f)", minutes)
    trial = trials.records.trial()
    look = partial(probation.look_at_service, trial.failed_before if trial else ())
    verdict = asyncio.run(probation.judge(look, trials.clock))
    if trials.settle() is not TrialStanding.ON_TRIAL:
        # Somebody has decided meanwhile
        return
    if verdict.is_kept:
        trials.keep()
    else:
        trials.give_way(verdict.reason)


def _install(machine: Machine, arguments: Namespace) -> None:
    installation = Installation(machine, _Progress())
    may_go_back = arguments.allow_downgrade

    async def install() -> None:
        async with _opened(arguments.what) as pieces:
            manifest = await installation.run(pieces, may_go_back=may_go_back)
        with _whoever_looks():
            say(f"version {manifest.version} is in slot {machine.other}, verified")

    with _left_in_order():
        asyncio.run(install())


@contextlib.contextmanager
def _left_in_order() -> Iterator[None]:
    """Let a connection that breaks do what Ctrl-C does: the card is left read-only again."""
    wanted = (signal.SIGTERM, signal.SIGHUP)
    # What is ignored, as behind `nohup`, stays so
    before = {one: was for one in wanted if (was := signal.getsignal(one)) is not signal.SIG_IGN}
    for number in before:
        signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _begin(machine: Machine, trials: Trials, *, is_later: bool) -> None:
    if not machine.knows_tryboot:
        _note(_SWITCH_WARNING)
    with _whoever_looks():
        say(LATER_TEXT if is_later else _TRIED_TEXT)
    if is_later:
        return
    _try(trials)


def _try(trials: Trials) -> None:
    trials.begin(probation.failed_units())


@contextlib.asynccontextmanager
async def _opened(word: str) -> AsyncIterator[AsyncIterator[bytes]]:
    # Only an installation needs them, and only a URL the client
    from agent.update.source import Download, from_file, is_url  # noqa: PLC0415 - see above

    if not is_url(word):
        yield from_file(Path(word))
        return
    from agent.net.http import HttpClient  # noqa: PLC0415 - see above

    http = HttpClient()
    try:
        yield Download(http, word, SystemClock()).pieces()
    finally:
        await http.aclose()


class _Progress:
    """Prints the progress in steps of 5 %."""

    def __init__(self) -> None:
        self._told = -1

    def __call__(self, done: int, total: int) -> None:
        part = 20 * done // total
        if part != self._told:
            self._told = part
            doing = "writing" if 2 * done <= total else "verifying"
            _note(f"{doing}: {5 * part} %")


def _restart(argument: str) -> None:
    words = [f"--reboot-argument={argument}"] if argument else []
    done = run_program(["systemctl", "reboot", *words], _RESTART_TIMEOUT_S)
    if done.returncode:
        raise UpdateRefused("cannot restart the device: restart it yourself")


def _note(line: str) -> None:
    with _whoever_looks():
        print(line, file=sys.stderr, flush=True)


@contextlib.contextmanager
def _whoever_looks() -> Iterator[None]:
    """Go on where the terminal is gone: an update is finished, shown or not."""
    with contextlib.suppress(OSError):
        yield
