"""F02: what was acknowledged is there after a kill in the middle of commits, all of it whole."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

from agent.messaging import inbox
from agent.messaging.journal import open_agent_db
from agent.storage.database import was_set_aside

KILLS = 50
# From its first acknowledgement on; with the start of Python this is most of what a kill takes
MOST_LIFE_S = 0.08
_ACCEPTS = """
import asyncio, sys
from pathlib import Path
from agent.messaging import inbox
from agent.messaging.journal import open_agent_db
from tests.fakes.channel import message

async def main():
    journal = open_agent_db(Path(sys.argv[1]))
    number = int(sys.argv[2])
    while True:
        number += 1
        inbound = message("x" * (number % 700), f"{number}")
        await journal.transact(lambda db: inbox.accept(db, inbound))
        print(number, flush=True)

asyncio.run(main())
"""


async def test_every_acknowledged_message_outlives_fifty_kills(tmp_path: Path) -> None:
    path, chance, acknowledged = tmp_path / "agent.db", random.Random(2), 0
    for _ in range(KILLS):
        acknowledged = max(acknowledged, _killed(path, acknowledged, chance.random()))
        journal = open_agent_db(path)
        kept = {one.message.message_id for one in await journal.transact(inbox.unanswered)}
        await journal.aclose()
        # At most one more: what was committed and not yet said
        assert {f"{number}" for number in range(1, acknowledged + 1)} <= kept
        assert len(kept) <= acknowledged + 1
        acknowledged = len(kept)
    assert was_set_aside(path) == []
    assert acknowledged > KILLS


def _killed(path: Path, after: int, chance: float) -> int:
    """The last number that a process acknowledged before it was killed."""
    command = [sys.executable, "-c", _ACCEPTS, str(path), str(after)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, cwd=Path(__file__).parents[2])
    assert process.stdout is not None
    first = process.stdout.readline()
    time.sleep(chance * MOST_LIFE_S)
    os.kill(process.pid, signal.SIGKILL)
    said = first + process.communicate()[0]
    whole = [int(line) for line in said.split(b"\n")[:-1]]
    return whole[-1] if whole else after
