"""`barnacle signal link`: make the agent a device of a Signal account, by a code to scan."""

import os
import shutil
import sys
from argparse import Namespace

from agent.channels.settings import SignalSettings
from agent.channels.signal.client import SignalClient
from agent.channels.signal.link import link_by_daemon, link_by_program
from agent.cli import configuration, exits
from agent.cli.loop import run_in_loop
from agent.cli.output import say
from agent.errors import ChannelRefused, ChannelUnavailable
from agent.net.http import HttpClient

# Signal shows it in the list of devices
DEVICE_NAME = "Barnacle"
_PROGRAM = "signal-cli"
# White on black whatever the terminal's colours are: cameras read no inverted code
_CODE = "\x1b[97;40m"
_PLAIN = "\x1b[0m"


def run(arguments: Namespace) -> int:
    settings = configuration.load(arguments)[0].channels.signal or SignalSettings()
    linked = run_in_loop(_link(settings, arguments.name or DEVICE_NAME, arguments.data))
    say(f"\nLinked: {linked}. With [channels.signal] in the configuration the agent answers there.")
    return exits.OK


async def _link(settings: SignalSettings, name: str, data: str | None) -> str:
    http = HttpClient()
    daemon = SignalClient(settings.base_url, "", http)
    try:
        if data is None and await _is_running(daemon):
            return await link_by_daemon(daemon, name, show)
    finally:
        await http.aclose()
    program = shutil.which(_PROGRAM)
    if program is None:
        raise ChannelRefused(
            f"no signal-cli daemon answers at {settings.base_url}, and signal-cli is not "
            "on the PATH: install it from https://github.com/AsamK/signal-cli"
        )
    options = ["--config", data] if data else []
    return await link_by_program([program, *options], name, show)


async def _is_running(daemon: SignalClient) -> bool:
    try:
        await daemon.check()
    except ChannelUnavailable:
        return False
    return True


def show(uri: str) -> None:
    """Print the QR code, and its address for terminals that cannot show it."""
    if sys.stdout.isatty() and os.environ.get("TERM") != "dumb":
        for line in qr_lines(uri):
            print(f"{_CODE}{line}{_PLAIN}")
    say(f"\n{uri}\n")
    say("Scan the code with Signal: Settings, Linked devices, Link a new device.")
    sys.stdout.flush()


def qr_lines(text: str) -> list[str]:
    """Half a line of a terminal for each row; what is filled is white."""
    import io  # noqa: PLC0415 - as below

    import segno  # noqa: PLC0415 - for this command alone

    out = io.StringIO()
    segno.make_qr(text, error="l").terminal(out=out, border=2, compact=True)
    return out.getvalue().rstrip("\n").split("\n")
