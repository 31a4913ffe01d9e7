"""`barnacle setup`: what `barnacle.toml` on a card says, asked for in a terminal.

Nothing is changed before the last question, and then everything at once.
"""

import os
import subprocess
import sys
from argparse import Namespace
from pathlib import Path

from msgspec import Struct

from agent import settings
from agent.app.access import AccessControl
from agent.channels.settings import ChannelsSettings
from agent.cli import exits, pair
from agent.cli.loop import run_in_loop
from agent.cli.output import CommandTerminal, say
from agent.cli.places import SERVICE, check_usable, check_writable, places_of
from agent.errors import BadArguments
from agent.providers.settings import ProviderSettings
from agent.provision import device, settings_plan
from agent.provision.key_proof import Proof, prove_platform, prove_provider
from agent.provision.questions import SetupQuestions
from agent.provision.settings_plan import ProvisionPaths
from agent.settings import Paths
from agent.system.clock import SystemClock
from agent.system.programs import run_program

# It waits for the agent to end, and to be ready again
_RESTART_TIMEOUT_S = 150.0


class _Asked(Struct, frozen=True):
    """Tries keys and tokens at their services."""

    paths: Paths

    def provider(self, given: ProviderSettings) -> Proof:
        return run_in_loop(prove_provider(given))

    def platform(self, name: str, channels: ChannelsSettings) -> Proof:
        return run_in_loop(prove_platform(name, channels, self.paths))


def run(arguments: Namespace) -> int:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise BadArguments(
            "`setup` asks questions and needs a terminal: here, write barnacle.toml "
            "instead (`barnacle check --example` prints one; on a card it belongs on the "
            "firmware partition)"
        )
    places = places_of(arguments)
    check_writable(places.config, "setup")
    check_usable(places.config)
    say(f"This writes {places.config}. Enter accepts the value in [brackets].")
    say("Ctrl-C leaves at any time; nothing is changed before the last question.\n")
    try:
        is_kept = _converse(arguments, places)
    except (EOFError, KeyboardInterrupt):
        say("\nNothing was changed.")
        return exits.INTERRUPTED
    if not is_kept:
        say("Nothing was changed.")
        return exits.OK
    _go_on(arguments, places)
    return exits.OK


def _converse(arguments: Namespace, places: ProvisionPaths) -> bool:
    """Ask the questions; return true if the answers were written."""
    before = settings_plan.existing(places.config)

    asked = SetupQuestions(
        CommandTerminal(),
        _Asked(_paths(arguments, places)),
        before,
        lambda place: bool(settings_plan.kept(place, before, places)),
    )
    table = asked.of_agent()
    if places.device is not None:
        table |= asked.of_machine()
    plan = settings_plan.planned(table, "setup", places)
    if not asked.agrees(f"Write {places.config}?"):
        return False
    settings_plan.take(plan, places)
    return True


def _go_on(arguments: Namespace, places: ProvisionPaths) -> None:
    say(f"Written. To check the file: `barnacle check {places.config}`.")
    if places.device is not None:
        device.name_machine(places.device)
        # Its reload reads no connections (NetworkManager(8), SIGHUP)
        _systemctl("try-restart", "NetworkManager.service")
    if places.credstore is not None:
        say("Restarting the agent ...")
        done = _systemctl("restart", SERVICE)
        say(
            "The agent is ready."
            if done
            else f"The agent is not ready yet: see `journalctl -u {SERVICE}`."
        )
    else:
        say("`barnacle run` starts the agent; `barnacle chat` talks to it in this terminal.")
    chosen, paths = _surroundings(arguments, places)
    doorway = AccessControl(paths, SystemClock())
    if pair.has_platform(chosen.channels) and doorway.people.owner() is None:
        say("")
        pair.run(Namespace(**{**vars(arguments), **_FIRST_OWNER, "config": str(places.config)}))


_FIRST_OWNER = {
    "json": False,
    "role": None,
    "name": "",
    "person": None,
    "wyoming": None,
    "device": None,
}


def _surroundings(arguments: Namespace, places: ProvisionPaths) -> tuple[settings.Settings, Paths]:
    named = getattr(arguments, "state_dir", None)
    if named is None and places.credstore is not None:
        # The service's, whoever's home root has
        named = str(_STATE)
    arguments.state_dir = named
    return settings.surroundings(os.environ, str(places.config), named)


_STATE = Path("/var/lib/barnacle")


def _paths(arguments: Namespace, places: ProvisionPaths) -> Paths:
    named = getattr(arguments, "state_dir", None)
    return settings.find_paths(os.environ, settings.Settings(), places.config, named)


def _systemctl(*words: str) -> bool:
    try:
        done = run_program(["systemctl", *words], _RESTART_TIMEOUT_S)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0
