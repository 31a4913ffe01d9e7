"""X45: told to end at any moment of a turn it ends well, outputs let go, and answers once later.

BARNACLE_ENDINGS says at how many moments that is tried.
"""

import asyncio
import os
import random
import signal
from pathlib import Path

import pytest

from tests.fakes import llm_server, telegram_server
from tests.fakes.board_sim import BoardSim
from tests.fakes.obedient_model import obey
from tests.fakes.telegram_world import ANNA
from tests.system.test_run_telegram import LIMIT_S, code_in_log, config, daemon, until_shown
from tests.waits import wait_until

# Each is a start of the whole agent; more of them are for a night
ENDINGS = int(os.environ.get("BARNACLE_ENDINGS", "12"))
# From the moment that it can be told to end, to the last thing that a message passes
TURN_S = 0.4
SAID = "I only obey a few phrases."


async def begun(process: asyncio.subprocess.Process) -> None:
    assert process.stderr is not None
    async with asyncio.timeout(LIMIT_S):
        while b"started:" not in (line := await process.stderr.readline()):
            assert line
        # Before that it is ended as a kill would end it
        await wait_until(lambda: catches(process.pid, signal.SIGTERM))


def catches(pid: int, number: signal.Signals) -> bool:
    """Whether a process does something of its own about a signal."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    mask = next(int(line.split()[1], 16) for line in lines if line.startswith("SigCgt:"))
    return bool(mask >> number - 1 & 1)


async def ended(process: asyncio.subprocess.Process) -> None:
    process.send_signal(signal.SIGTERM)
    async with asyncio.timeout(LIMIT_S):
        _, log = await process.communicate()
    assert process.returncode == 0, log.decode()


@pytest.mark.timeout(60 + 5 * ENDINGS)
async def test_told_to_end_at_any_moment_it_answers_each_message_once(
    tmp_path: Path, sim: BoardSim
) -> None:
    chance = random.Random(45)
    async with telegram_server.running() as server, llm_server.running(obey) as model:
        server.longest_poll_s = 1.0
        text = config(server, model.base_url) + f'[board]\nport = "{sim.port}"\n'
        async with daemon(tmp_path, text) as process:
            await server.world.write(f"/pair {await code_in_log(process)}")
            await until_shown(server, "wner")
            await server.world.write("Turn the led on")
            await until_shown(server, "led")
            # A busy machine may leave the board without a word, and it lets go
            assert 1 in [value for value, _ in sim.changes("led")]
            await ended(process)
        assert sim.value("led") == 0
        open_at_end = 0
        for number in range(ENDINGS):
            async with daemon(tmp_path, text) as process:
                await begun(process)
                await server.world.write(f"Hello {number}")
                await asyncio.sleep(chance.uniform(0, TURN_S))
                await ended(process)
            open_at_end += server.world.shown(ANNA).count(SAID) <= number
        # Some came in the middle, or nothing was tried
        assert open_at_end
        async with daemon(tmp_path, text) as process:
            await server.world.write("the last")
            await wait_until(lambda: server.world.shown(ANNA).count(SAID) >= ENDINGS + 1)
            await ended(process)
        assert server.world.shown(ANNA).count(SAID) == ENDINGS + 1
