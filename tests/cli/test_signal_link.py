import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent.channels.signal.client import SignalClient
from agent.cli import signal
from agent.cli.signal import checked, link_by_daemon, link_by_program
from agent.errors import ChannelRefused, ChannelUnavailable
from agent.net.http import HttpClient
from tests.fakes.signal_daemon import NUMBER, SignalDaemon, running
from tests.fakes.signal_faults import Fails

URI = "sgnl://linkdevice?uuid=Q2hlY2tlZA%3D%3D&pub_key=BQabcdefgh"


def program(folder: Path, script: str) -> list[str]:
    path = folder / "signal-cli"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return [str(path), "--config", "somewhere"]


@contextlib.asynccontextmanager
async def client_of(daemon: SignalDaemon) -> AsyncIterator[SignalClient]:
    http = HttpClient()
    async with running(daemon) as there:
        try:
            yield SignalClient(there.url, "", http)
        finally:
            await http.aclose()


async def test_a_daemon_links_an_account_and_has_it_at_once() -> None:
    shown: list[str] = []
    daemon = SignalDaemon(accounts=[])
    async with client_of(daemon) as client:
        assert await link_by_daemon(client, "Barnacle", shown.append) == NUMBER
        (finished,) = daemon.called("finishLink")
        assert daemon.accounts == [{"number": NUMBER}]
    assert shown == [finished["deviceLinkUri"]]
    assert finished["deviceName"] == "Barnacle"


async def test_a_daemon_of_one_account_links_no_other() -> None:
    async with client_of(SignalDaemon(is_single=True)) as client:
        with pytest.raises(ChannelRefused, match="start it without -a"):
            await link_by_daemon(client, "Barnacle", print)


async def test_a_code_that_nobody_scans_is_said() -> None:
    daemon = SignalDaemon()
    daemon.fail("finishLink", Fails(-1, "Link request timed out, please try again."))
    async with client_of(daemon) as client:
        with pytest.raises(Exception, match="timed out"):
            await link_by_daemon(client, "Barnacle", print)


async def test_the_program_shows_its_code_and_says_whom_it_linked(tmp_path: Path) -> None:
    shown: list[str] = []
    command = program(
        tmp_path, f'echo "$@" >{tmp_path}/asked\necho "{URI}"\necho "Associated with: {NUMBER}"'
    )
    assert await link_by_program(command, "The greenhouse", shown.append) == NUMBER
    assert shown == [URI]
    asked = await asyncio.to_thread((tmp_path / "asked").read_text)
    assert asked == "--config somewhere link -n The greenhouse\n"


@pytest.mark.parametrize(
    ("script", "clue"),
    [
        ("echo 'no network\x1b[2J' >&2; exit 3", r"no network\[2J"),
        (f"echo '{URI}'; echo 'Link request timed out' >&2; exit 1", "timed out"),
        ("exit 0", "without a reason"),
        ("echo 'sgnl://linkdevice?\x1b]0;x'", "no code to scan"),
        ("head -c 100000 /dev/zero", "line that is too long"),
    ],
)
async def test_a_program_that_fails_says_why(tmp_path: Path, script: str, clue: str) -> None:
    with pytest.raises(ChannelRefused, match=clue):
        await link_by_program(program(tmp_path, script), "Barnacle", lambda _: None)


async def test_a_program_that_never_ends_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(signal, "SCAN_TIMEOUT_S", 0.2)
    command = program(tmp_path, f"echo '{URI}'; echo $$ >{tmp_path}/id; exec sleep 60")
    with pytest.raises(ChannelUnavailable, match="not scanned in time"):
        await link_by_program(command, "Barnacle", lambda _: None)
    number = (await asyncio.to_thread((tmp_path / "id").read_text)).strip()
    assert not await asyncio.to_thread(Path(f"/proc/{number}").exists)


@pytest.mark.parametrize(
    "uri",
    [None, 7, "", "https://evil.example/", "sgnl://linkdevice?", f"{URI}\n", f"{URI}\x1b[2J"],
)
def test_nothing_else_is_put_on_the_screen(uri: object) -> None:
    with pytest.raises(ChannelRefused):
        checked(uri)
