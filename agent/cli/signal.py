"""`barnacle signal link`: make the agent a device of a Signal account, by a code to scan."""

import asyncio
import contextlib
import os
import shutil
import sys
from argparse import Namespace
from collections.abc import Sequence

from agent.channels.settings import SignalSettings
from agent.channels.signal.client import SignalClient
from agent.channels.signal.linking import (
    DEVICE_NAME,
    MAX_REASON_CHARS,
    RAN_OUT_TEXT,
    SCAN_TIMEOUT_S,
    URI_TIMEOUT_S,
    LinkRanOut,
    Show,
    checked,
    link_by_daemon,
)
from agent.cli import configuration, exits
from agent.cli.loop import run_in_loop
from agent.cli.output import say
from agent.errors import ChannelRefused, ChannelUnavailable
from agent.net.http import HttpClient
from agent.text.printable import printable_line
from agent.text.qr_lines import qr_lines

_PROGRAM = "signal-cli"
# A program that was told to end
END_TIMEOUT_S = 5.0
MAX_LINE_BYTES = 4096
# What signal-cli and its Java need to find themselves and the accounts; keys of ours are not theirs
_ENVIRONMENT = (
    *("HOME", "PATH", "LANG", "LC_ALL", "TMPDIR", "XDG_DATA_HOME"),
    *("JAVA_HOME", "JAVA_OPTS", "SIGNAL_CLI_OPTS"),
)


def run(arguments: Namespace) -> int:
    settings = configuration.load_own(arguments)[0].channels.signal or SignalSettings()
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
        print(*qr_lines(uri), sep="\n")
    say(f"\n{uri}\n")
    say("Scan the code with Signal: Settings, Linked devices, Link a new device.")
    sys.stdout.flush()


async def link_by_program(command: Sequence[str], name: str, show: Show) -> str:
    """Link with `signal-cli link`; `command` is the program with its options."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *command, "link", "-n", name, stdin=asyncio.subprocess.DEVNULL, stdout=pipe, stderr=pipe,
        env={key: os.environ[key] for key in _ENVIRONMENT if key in os.environ},
        limit=MAX_LINE_BYTES,
    )  # fmt: skip
    try:
        return await _linked(process, show)
    except ValueError as err:
        raise ChannelRefused("signal-cli sent a line that is too long instead of a code") from err
    finally:
        await _end(process)


async def _linked(process: asyncio.subprocess.Process, show: Show) -> str:
    assert process.stdout is not None
    assert process.stderr is not None
    complaining = asyncio.ensure_future(_last_line(process.stderr))
    try:
        async with asyncio.timeout(URI_TIMEOUT_S):
            line = (await process.stdout.readline()).decode(errors="replace").strip()
        if line:
            show(checked(line))
        async with asyncio.timeout(SCAN_TIMEOUT_S):
            said = await _last_line(process.stdout)
            reason = await complaining
            status = await process.wait()
    except TimeoutError as err:
        raise LinkRanOut(RAN_OUT_TEXT) from err
    finally:
        complaining.cancel()
        await asyncio.gather(complaining, return_exceptions=True)
    if status or not line:
        raise ChannelRefused(f"signal-cli linked no account: {reason or 'without a reason'}")
    return said.rpartition(": ")[2] or "the account"


async def _last_line(stream: asyncio.StreamReader) -> str:
    """Return the last line with text, cleaned."""
    last = ""
    while line := await stream.readline():
        text = printable_line(line.decode(errors="replace"), MAX_REASON_CHARS).strip()
        last = text or last
    return last


async def _end(process: asyncio.subprocess.Process) -> None:
    transport = process._transport  # type: ignore[attr-defined]  # noqa: SLF001 - has no public name
    for descriptor in (1, 2):
        # A pipe that nobody reads any more would never be closed, nor its program seen to end
        transport.get_pipe_transport(descriptor).close()
    try:
        async with asyncio.timeout(END_TIMEOUT_S):
            if process.returncode is None:
                process.terminate()
            await process.wait()
    except (TimeoutError, ProcessLookupError):
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
    finally:
        transport.close()
        # Its pipes are let go of in the loop's next pass
        await asyncio.sleep(0)
