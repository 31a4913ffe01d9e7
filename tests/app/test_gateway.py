"""A whole agent behind its gateway: a program speaks for somebody, and the agent is looked at."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest

from agent.access.pairing_codes import Codes, Invitation
from agent.system.clock import SystemClock
from tests.fakes.daemon_process import DaemonProcess
from tests.fakes.gateway import SECRET, answer_of
from tests.fakes.webhook_platform import Program, program
from tests.waits import wait_until


def config_for(there: Program, port: int) -> str:
    there.gateway_port = port
    return (
        f'[gateway]\nlisten = "127.0.0.1:{port}"\n'
        f'[channels.webhook]\nreply_url = "{there.reply_url}"\nsecret = "{SECRET}"\n'
    )


async def look(port: int, path: str) -> str:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(f"GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n".encode())
        answer = await answer_of(reader)
        assert answer.status == 200, answer.said
        return answer.said
    finally:
        writer.close()


async def told(there: Program, count: int) -> list[str]:
    await wait_until(lambda: len(there.told) >= count)
    assert there.unsigned == 0
    return [str(one["text"]) for one in there.told]


async def test_a_conversation_over_a_kill_is_answered_once_each_and_counted(
    tmp_path: Path, unused_tcp_port: int
) -> None:
    async with program() as there:
        config = config_for(there, unused_tcp_port)
        (tmp_path / "state").mkdir(mode=0o700)
        codes = Codes(tmp_path / "state" / "codes.json", SystemClock())
        code = codes.make(Invitation(role="owner"))
        with DaemonProcess(tmp_path, config) as daemon:
            await there.say("what time is it?")
            assert "You have no access" in (await told(there, 1))[0]
            await there.say(f"/pair {code}")
            assert "You are my owner" in (await told(there, 2))[1]
            await there.say("what time is it?")
            asked, _ = there.last
            await told(there, 3)
            assert there.told[2]["answers"] == asked
            await asyncio.to_thread(daemon.kill)
            # Nobody is there: the program comes again
            await there.say("/help")
            await asyncio.to_thread(daemon.start)
            assert "/pair" in (await told(there, 4))[3]
            # What was answered before the kill
            there.last = (asked, json.dumps({"sender": "alice", "text": "again"}).encode())
            await there.send_last()
            health = json.loads(await look(unused_tcp_port, "/health"))
            assert health == {"status": "ok", "troubles": {}}
            looks_right(await look(unused_tcp_port, "/metrics"))
            assert len(there.told) == 4
            assert await asyncio.to_thread(daemon.stop) == 0
            assert "Traceback" not in daemon.log()
            assert SECRET not in daemon.log()


async def metrics_have(port: int, wanted: str) -> bool:
    return wanted in await look(port, "/metrics")


@pytest.mark.timeout(90)
async def test_newest_readings_are_shown_to_prometheus(
    tmp_path: Path, unused_tcp_port: int
) -> None:
    async with program() as there:
        config = config_for(there, unused_tcp_port)
        (tmp_path / "state").mkdir(mode=0o700)
        with DaemonProcess(tmp_path, config):
            wanted = 'barnacle_reading{name="machine.load"'
            # The recorder looks every ten seconds
            await wait_until(lambda: metrics_have(unused_tcp_port, wanted), 60.0)


def looks_right(page: str) -> None:
    assert 'barnacle_messages{channel="webhook",state="answered"} 2' in page
    assert 'barnacle_board_state{board="board",state="absent"} 1' in page
    assert "barnacle_turns_total 1" in page
    assert "barnacle_link_retries" in page


def test_the_service_loads_neither_server_nor_platform_before_it_is_configured() -> None:
    code = (
        "import agent.app.run, agent.app.channels, agent.settings, sys\n"
        "heavy = ('starlette', 'uvicorn', 'agent.app.gateway', 'agent.channels.webhook')\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
