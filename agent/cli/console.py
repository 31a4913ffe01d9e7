"""`barnacle console`: pages for browsers; a process of its own that is nobody to the agent.

It reads no configuration: what it needs of that the agent tells it.
"""

import logging
import os
from argparse import Namespace
from pathlib import Path

from agent.channels.attached.socket import SYSTEM_FOLDER
from agent.channels.console.frames import SOCKET
from agent.cli import exits
from agent.cli.loop import run_in_loop
from agent.cli.output import say
from agent.errors import ChannelUnavailable, ConfigRefused
from agent.text.config_hints import install_hint


def run(arguments: Namespace) -> int:
    try:
        import jinja2  # noqa: F401, PLC0415 - an extra, with the server
        import uvicorn  # noqa: F401, PLC0415 - as above
    except ImportError as err:
        raise ConfigRefused(f"the console needs its libraries: {install_hint('console')}") from err
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
    return run_in_loop(_console(_socket_path(arguments), arguments.listen))


async def _console(path: Path, wanted: str) -> int:
    from agent.console.agent_client import AgentClient  # noqa: PLC0415 - needs the libraries
    from agent.console.application import ConsoleApplication  # noqa: PLC0415 - as above
    from agent.console.device import DeviceNames  # noqa: PLC0415 - as above
    from agent.console.server import IDLE_END_S, Tls, listening, serve  # noqa: PLC0415 - as above

    client = AgentClient(path)
    is_activated = "LISTEN_FDS" in os.environ
    try:
        device = await client.about()
    except ChannelUnavailable as err:
        if not is_activated and not wanted:
            raise ChannelUnavailable(
                f"no agent with a [console] table is running at {path}: start it with "
                "`barnacle run`, or name an address with --listen"
            ) from err
        # Its page says that the device does not answer, until it does
        device = None
    address = wanted or (device.listen if device is not None else "")
    tls = None
    if device is not None and device.certificate:
        tls = Tls(Path(device.certificate), Path(device.key))
        tls.check()
    made, is_systemd = listening(address)
    if not is_systemd:
        host, port = made.getsockname()[:2]
        scheme = "https" if tls else "http"
        say(f"The console is at {scheme}://{f'[{host}]' if ':' in host else host}:{port}")
    application = ConsoleApplication(client, DeviceNames(client, device))
    await serve(application, made, IDLE_END_S if is_systemd else None, tls)
    return exits.OK


def _socket_path(arguments: Namespace) -> Path:
    """Return the agent's socket: of the state folder that is named, else of the machine's agent."""
    named = getattr(arguments, "state_dir", None) or os.environ.get("BARNACLE_STATE_DIR")
    if named:
        return Path(named).expanduser() / SOCKET
    own = Path.home() / ".local" / "state" / "barnacle" / SOCKET
    return own if own.exists() else SYSTEM_FOLDER / SOCKET
