"""F27: a message that ends the whole process is tried twice, then parked, and holds up nobody.

One that breaks its turn is in tests/dispatch, the crash loop in tests/system/test_run_telegram.py.
"""

import signal
from pathlib import Path

from agent.messaging.worker import PARKED_TEXT
from tests.fakes.board_sim import BoardSim
from tests.fakes.llm_thread import LlmThread
from tests.fakes.loopback import LoopbackPlatform
from tests.fakes.mortal import LIMIT_S, MortalAgent, wait_for


def test_a_message_that_kills_the_process_is_tried_twice_and_parked(
    tmp_path: Path, sim: BoardSim
) -> None:
    with LlmThread() as model, LoopbackPlatform(tmp_path) as platform:
        agent = MortalAgent(tmp_path, sim, model, platform)
        poison = platform.say("Turn the led on")
        # In the middle of its turn, each time
        for _ in range(2):
            assert agent.start("effect.decided").wait(LIMIT_S) == -signal.SIGKILL
        third = agent.start("effect.decided")
        try:
            wait_for(platform, poison)
            after = platform.say("Hello there")
            wait_for(platform, after)
        finally:
            third.kill()
            third.wait()
    assert platform.answer(poison) == PARKED_TEXT
    assert platform.answer(after) == "I only obey a few phrases."
    assert sum(value for value, _ in sim.changes("led")) == 0
