import asyncio
import logging
import time
from pathlib import Path

import pytest

from agent.hardware.enable_lines import EnableLineGuard
from agent.security.estop import EmergencyStop
from agent.system.clock import SystemClock
from tests.fakes.enable import RecordingLine, TornLine
from tests.waits import stays, wait_until

STILL_S = 0.2


async def test_the_power_is_on_while_the_agent_is_at_work(tmp_path: Path) -> None:
    lines = RecordingLine(), RecordingLine()
    enabling = EnableLineGuard(lines, EmergencyStop(tmp_path), SystemClock())
    assert lines[0].told == []
    running = asyncio.create_task(enabling.run())
    await wait_until(lambda: [line.told for line in lines] == [[True], [True]])
    running.cancel()
    await asyncio.wait([running])
    enabling.close()
    assert [line.told for line in lines] == [[True, False], [True, False]]
    assert all(line.is_closed for line in lines)


async def test_the_emergency_stop_cuts_it_at_once_until_it_is_cleared(tmp_path: Path) -> None:
    line, stop = RecordingLine(), EmergencyStop(tmp_path)
    running = asyncio.create_task(EnableLineGuard([line], stop, SystemClock()).run())
    await wait_until(lambda: line.told)
    stopping = asyncio.create_task(stop.engage("by a test"))
    await asyncio.sleep(0)
    assert line.told == [True, False]
    await stopping
    await stop.clear()
    assert line.told == [True, False, True]
    running.cancel()
    await asyncio.wait([running])


async def test_under_a_stop_of_an_earlier_run_it_stays_off(tmp_path: Path) -> None:
    await EmergencyStop(tmp_path).engage("by a test")
    line = RecordingLine()
    running = asyncio.create_task(
        EnableLineGuard([line], EmergencyStop(tmp_path), SystemClock()).run()
    )
    await stays(lambda: line.told == [], 0.05)
    running.cancel()
    await asyncio.wait([running])


async def test_an_agent_that_stands_still_has_it_cut_and_gets_it_back(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    line = RecordingLine()
    # Beats come every 0.25 s: two of them fit
    enabling = EnableLineGuard([line], EmergencyStop(tmp_path), SystemClock(), still_s=3 * STILL_S)
    running = asyncio.create_task(enabling.run())
    await wait_until(lambda: line.told)
    with caplog.at_level(logging.ERROR):
        time.sleep(6 * STILL_S)  # noqa: ASYNC251 - the very fault
    assert line.told == [True, False]
    assert "enable lines: the agent hangs" in caplog.text
    await wait_until(lambda: line.told == [True, False, True])
    running.cancel()
    await asyncio.wait([running])


async def test_without_lines_there_is_nothing_to_do(tmp_path: Path) -> None:
    await EnableLineGuard([], EmergencyStop(tmp_path), SystemClock()).run()


async def test_a_line_that_fails_keeps_nothing_else_from_being_stopped(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    torn, line, stop = TornLine(), RecordingLine(), EmergencyStop(tmp_path)
    enabling = EnableLineGuard([torn, line], stop, SystemClock())
    stopped: list[str] = []
    stop.listen(lambda: stopped.append("the turns"))
    running = asyncio.create_task(enabling.run())
    await wait_until(lambda: line.told == [True])
    await stop.engage("by a test")
    assert line.told[-1] is False
    assert stopped == ["the turns"]
    assert caplog.text.count("bad handle") == 1
    torn.is_there = True
    await wait_until(lambda: torn.told[-1:] == [False])
    assert "as it should be again" in caplog.text
    running.cancel()
    await asyncio.wait([running])
    enabling.close()
    assert line.is_closed
