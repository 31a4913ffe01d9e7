"""Programs of the image's units: `boot` before everything else, `pairing` beside the agent, `code`.

`signal` shows the code of a link on its standard output. `code` runs as the agent's own user:
nothing of root's is written into that user's folder. `first` takes over what somebody answered in
a browser, once, and only where nothing was said before.
"""

import logging
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from agent.errors import BarnacleError
from agent.provision import device, wifi
from agent.provision.device import DEVICE
from agent.provision.firmware import FOLDER, Firmware
from agent.system.programs import run_program

if TYPE_CHECKING:
    from agent.backup.restore import RestoreTarget
    from agent.provision.settings_plan import ProvisionPaths

_log = logging.getLogger("barnacle")

STATE = Path("/var/lib/barnacle")
# The same, where root reaches it before it is mounted for the agent
_DATA_STATE = Path("/data/barnacle")
SCREENS = (Path("/run/issue.d/barnacle.issue"), Path("/dev/tty1"))
_RUNTIME = Path("/run/barnacle")
_USER = "barnacle"
# An interpreter starts, under load, on a slow card
_CODE_TIMEOUT_S = 120.0
_MOUNTS = Path("/proc/self/mounts")
# As agent/health/data_partition.py has it, which is loaded where it is there
_ASIDE = Path("/run/barnacle-aside")
# systemd reads the level at the beginning of a line
_LEVELS = {logging.INFO: "<6>", logging.WARNING: "<4>", logging.ERROR: "<3>"}


def main(words: list[str]) -> int:
    """The exit status; what a person wrote wrong is no failure of the unit."""
    handler = logging.StreamHandler()
    handler.setFormatter(_Journal("%(message)s"))
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    actions = {
        "boot": _boot,
        "pairing": _pairing,
        "code": _code,
        "first": _first,
        "signal": _signal,
    }
    if len(words) != 1 or words[0] not in actions:
        _log.error("usage: python -m agent.provision %s", " | ".join(actions))
        return 2
    try:
        actions[words[0]]()
    except (BarnacleError, OSError) as err:
        _log.error("%s", err)
        return 1
    return 0


def places() -> "ProvisionPaths":
    """Return the paths of a flashed card."""
    from agent.provision.settings_plan import appliance  # noqa: PLC0415 - a new file alone needs it

    return appliance()


def _boot() -> None:
    from agent.provision.boot import Provisioning  # noqa: PLC0415 - the other actions do not
    from agent.provision.card_restore import CardRestore  # noqa: PLC0415 - as above

    restore = CardRestore(FOLDER, _DATA_STATE, _restore_target).run
    firmware = _firmware()
    if Provisioning(firmware, DEVICE, places, _sweep, restore, _why_unused).run():
        firmware.keep_room()
    _give_back(_DATA_STATE)
    _log.info("provision: host name set (name=%s)", device.name_machine(DEVICE))
    if country := device.country_kept(DEVICE):
        took = wifi.set_country(country)
        _log.info("provision: country of the radio (country=%s, has_radio=%s)", country, took)


def _give_back(state: Path) -> None:
    """Make the agent's again what an earlier version's command left there as root."""
    from agent.health.ownership import give_back  # noqa: PLC0415 - the other actions do not

    if state.is_dir() and (count := give_back(state)):
        _log.info("provision: files given back to the agent (count=%d)", count)


def _restore_target() -> "RestoreTarget":
    """Return the flashed card as a place to restore onto; its clock is not set yet."""
    from agent.backup.restore import RestoreTarget  # noqa: PLC0415 - a backup alone needs it
    from agent.provision.restoration import MachineRestore, outside_folders  # noqa: PLC0415 - as above

    found = places()
    system = MachineRestore(found, is_services=True).system()
    return RestoreTarget(
        _DATA_STATE, found.config, system, lambda config: outside_folders(config, STATE)
    )


def _pairing() -> None:
    from agent.provision.pairing_display import PairingDisplay  # noqa: PLC0415 - the other actions do not

    unkept = ""
    if why := _why_unused():
        from agent.health.data_partition import unkept_text  # noqa: PLC0415 - seldom

        unkept = unkept_text(why)
    people = STATE / "people.json"
    PairingDisplay(_firmware(), DEVICE, people, SCREENS, _open_code, unkept=unkept).run()


def _signal() -> None:
    from agent.channels.signal.shown_code import NAME  # noqa: PLC0415 - the other actions do not
    from agent.provision.signal_display import SignalDisplay  # noqa: PLC0415 - as above

    SignalDisplay(_RUNTIME / NAME, sys.stdout.buffer).run()


def _open_code(known: str) -> str:
    words = [f"--reuid={_USER}", f"--regid={_USER}", "--clear-groups", "env", f"HOME={STATE}"]
    words += [f"BARNACLE_STATE_DIR={STATE}", sys.executable, "-I", "-m", "agent.provision", "code"]
    done = run_program(["setpriv", *words], _CODE_TIMEOUT_S, known.encode())
    # Nobody waits for the code of an agent that cannot start; its own log says why
    return done.stdout.decode().strip() if done.returncode == 0 else ""


def _first() -> None:
    """Take the answers of a first start over, from a socket that the agent alone may use."""
    from agent.provision import browser_setup  # noqa: PLC0415 - the other actions do not

    if browser_setup.take_over(sys.stdin.buffer, sys.stdout.buffer, places()):
        _log.info("provision: set up from a browser")
        browser_setup.restart()


def _code() -> None:
    """Print a code that counts from now on; nothing where nobody could use it."""
    from agent import settings  # noqa: PLC0415 - the other actions do not
    from agent.access.pairing_codes import Invitation  # noqa: PLC0415 - as above
    from agent.access.roles import PersonRole  # noqa: PLC0415 - as above
    from agent.app.access import AccessControl  # noqa: PLC0415 - as above
    from agent.cli.pair import has_platform  # noqa: PLC0415 - as above
    from agent.system.clock import SystemClock  # noqa: PLC0415 - as above

    chosen, paths = settings.surroundings(os.environ)
    doorway = AccessControl(paths, SystemClock())
    # On a card browsers are served unless the owner says otherwise
    is_console = chosen.console is None or chosen.console.enabled
    if doorway.people.owner() is None and (is_console or has_platform(chosen.channels)):
        known = sys.stdin.readline().strip()
        sys.stdout.write(doorway.codes.make(Invitation(role=PersonRole.OWNER.role), known) + "\n")


def _why_unused() -> str:
    """Return why memory stands in the place of the data partition; usually nothing."""
    if not _ASIDE.exists():
        return ""
    from agent.health.data_partition import why_unused  # noqa: PLC0415 - seldom

    return why_unused(_ASIDE)


def _firmware() -> Firmware:
    return Firmware(FOLDER, is_mounted=FOLDER.is_mount())


def _sweep(secrets: tuple[str, ...]) -> None:
    from agent.provision.secret_wipe import sweep, system_files  # noqa: PLC0415 - seldom

    mounts = (line.split() for line in _MOUNTS.read_text().splitlines())
    partition = next((words[0] for words in mounts if words[1] == str(FOLDER)), "")
    if partition.startswith("/dev/"):
        sweep(Path(partition), secrets, system_files(FOLDER))


class _Journal(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return _LEVELS.get(record.levelno, "") + super().format(record)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
