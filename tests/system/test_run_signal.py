"""`barnacle run` with a Signal account: paired, killed in the middle of an answer, and alone."""

import asyncio
import re
import time
from pathlib import Path

from agent.health.status import read_status
from tests.fakes.daemon_process import DaemonProcess
from tests.fakes.signal_daemon import SignalDaemon, running
from tests.fakes.signal_events import ANNA, BERND, message
from tests.fakes.signal_faults import Hangs
from tests.waits import wait_until


def config(url: str) -> str:
    return (
        '[provider]\nkind = "offline"\n[embeddings]\nprovider = "none"\n'
        f'[channels.signal]\nbase_url = "{url}"\n'
    )


def shown(daemon: SignalDaemon, wanted: str, who: str = ANNA) -> int:
    return sum(wanted in one.text for one in daemon.shown(who))


def said(text: str, who: str = ANNA) -> dict[str, object]:
    return message(text, who, timestamp=time.time_ns() // 1_000_000)


def trouble(folder: Path) -> str:
    status = read_status(folder / "state" / "status.json")
    return "" if status is None else "".join(one.trouble for one in status.channels)


async def pair(daemon: SignalDaemon, agent: DaemonProcess) -> None:
    await wait_until(lambda: re.search(r"/pair ([A-Z0-9-]+)", agent.log()))
    code = re.search(r"/pair ([A-Z0-9-]+)", agent.log())
    assert code is not None
    daemon.tell(said(code[0]))
    await wait_until(lambda: shown(daemon, "owner"))


async def test_a_person_pairs_and_is_answered_and_a_stranger_is_not(tmp_path: Path) -> None:
    async with running(SignalDaemon()) as daemon:
        with DaemonProcess(tmp_path, config(daemon.url)) as agent:
            await pair(daemon, agent)
            daemon.tell(said("what time is it?", BERND))
            await wait_until(lambda: shown(daemon, "You have no access", BERND))
            daemon.tell(said("what time is it?"))
            await wait_until(lambda: shown(daemon, "It is "))
            assert await asyncio.to_thread(agent.stop) == 0
    assert len(daemon.shown(BERND)) == 1
    read = [told["recipient"] for told in daemon.called("sendReceipt")]
    assert BERND not in read


async def test_an_agent_killed_while_it_answers_answers_once(tmp_path: Path) -> None:
    async with running(SignalDaemon()) as daemon:
        with DaemonProcess(tmp_path, config(daemon.url)) as agent:
            await pair(daemon, agent)
            daemon.fail("send", Hangs())
            daemon.tell(said("what time is it?"))
            await wait_until(lambda: not daemon.faults["send"])
            agent.kill()
            await asyncio.to_thread(agent.start)
            await wait_until(lambda: shown(daemon, "It is "))
            daemon.tell(said("and now, what time is it?"))
            await wait_until(lambda: shown(daemon, "It is ") > 1)
    assert shown(daemon, "It is ") == 2


async def test_a_daemon_that_is_away_is_in_the_status_until_it_is_back(tmp_path: Path) -> None:
    async with running(SignalDaemon()) as daemon:
        url = daemon.url
    with DaemonProcess(tmp_path, config(url)):
        await wait_until(lambda: "cannot reach the signal-cli daemon" in trouble(tmp_path))
        async with running(SignalDaemon(), int(url.rpartition(":")[2])):
            await wait_until(lambda: read_status(tmp_path / "state" / "status.json"))
            await wait_until(lambda: not trouble(tmp_path))
