import pytest

from agent.app.probe.board import ProbeBoard
from agent.app.probe.tasks import TASKS, ProbeSkill, ProbeTask
from agent.errors import LinkLost
from agent.tools.board import BoardTools

ON = ProbeTask(ProbeSkill.CALLS, "Turn the led on.", (("led", "on"),))


async def board_after(*calls: tuple[str, dict[str, str]]) -> ProbeBoard:
    board = ProbeBoard()
    for method, arguments in calls:
        await board.call(method, arguments)
    return board


def test_there_are_twenty_tasks_of_every_skill() -> None:
    assert len(TASKS) == 20
    assert {task.skill for task in TASKS} == set(ProbeSkill)


async def test_the_board_has_the_tools_of_a_real_one_and_keeps_what_was_moved() -> None:
    board = await board_after(("gpio_write", {"pin": "led", "value": "on"}))
    assert await board.call("gpio_read", {"pin": "led"}) == {"value": "on"}
    assert await board.call("adc_read", {"pin": "moisture"}) == {"value": 1.85}
    names = [tool.name for tool in BoardTools(board).tools()]
    assert names[0] == "board_info"
    assert {"board_gpio_write", "board_gpio_read", "board_adc_read"} < set(names)


async def test_the_board_fails_as_it_is_told() -> None:
    with pytest.raises(LinkLost):
        await ProbeBoard(is_plugged_in=False).call("mcu_temperature", {})
    loose = ProbeBoard(fails_first=True)
    with pytest.raises(LinkLost):
        await loose.call("mcu_temperature", {})
    assert await loose.call("mcu_temperature", {}) == {"value": 41.5}


async def test_what_was_moved_and_nothing_else_decides() -> None:
    right = await board_after(("gpio_write", {"pin": "led", "value": "on"}))
    assert ON.fault(right, ["board_gpio_write"], "The led is on.") == ""
    assert ON.fault(ProbeBoard(), [], "The led is on.") == "moved nothing instead of led on"
    await right.call("gpio_write", {"pin": "pump", "value": "on"})
    assert "pump on" in ON.fault(right, ["board_gpio_write"], "Done.")


async def test_calls_and_answers_are_looked_at() -> None:
    quiet = ProbeTask(ProbeSkill.RESTRAINT, "Thanks.", calls_nothing=True)
    assert quiet.fault(ProbeBoard(), [], "You are welcome.") == ""
    assert "called time_now" in quiet.fault(ProbeBoard(), ["time_now"], "Friday.")
    read = ProbeTask(ProbeSkill.CALLS, "Voltage?", read="adc_read", answer="1.85")
    assert read.fault(ProbeBoard(), ["board_adc_read"], "It is 1.85 V.") == ""
    assert read.fault(ProbeBoard(), [], "It is 1.85 V.") == "did not call adc_read"
    assert (
        read.fault(ProbeBoard(), ["board_adc_read"], "It is wet.") == "the answer does not say it"
    )
    assert read.fault(ProbeBoard(), ["board_adc_read"], " ") == "no answer"
