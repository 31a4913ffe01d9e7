from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from agent.errors import BadArguments, CallRefused, OutcomeUnknown
from agent.link.base import Value
from agent.link.manifest import BoardPin, Field, Manifest, Method
from agent.tools.base import AnyTool
from agent.tools.board import BoardTools
from agent.tools.timed_output import OutputLimits, can_end, safe_value
from tests.fakes.board import FakeBoard
from tests.fakes.linked_board import ready
from tests.fakes.virtual_time import elapse, in_virtual_time
from tests.fakes.workspace import refused, told

SWITCH = Field("value", "B", choices=("off", "on"))
PIN = Field("pin", "B", pins="out")
WRITE = Method(16, "gpio_write", "", (PIN, SWITCH), (SWITCH,), safety="actuate", lease=True)


def writes(board: FakeBoard, **limits: int) -> AnyTool:
    pin = BoardPin(0, "pump", "PB0", can=("in", "out"), **limits)  # type: ignore[arg-type] # numbers
    board.learn(Manifest(1, "fake", (WRITE,), (pin,)))
    return next(one for one in BoardTools(board).tools() if one.name == "board_gpio_write")


@in_virtual_time
async def test_an_output_goes_back_at_the_end_of_its_time() -> None:
    board = FakeBoard()
    result = await told(writes(board), pin="pump", value="on", for_seconds=5)
    assert result == {"pin": "pump", "value": "on", "for_seconds": 5.0, "then": "off"}
    await elapse(4.9)
    assert board.values["pump"] == "on"
    await elapse(0.2)
    assert board.values["pump"] == "off"
    assert board.let_gone == ["pump"]


@in_virtual_time
async def test_the_last_word_on_an_output_counts() -> None:
    board = FakeBoard()
    tool = writes(board)
    await told(tool, pin="pump", value="on", for_seconds=5)
    await elapse(3)
    await told(tool, pin="pump", value="on", for_seconds=5)
    await elapse(3)
    assert board.values["pump"] == "on"
    await told(tool, pin="pump", value="on")
    await elapse(60)
    assert board.values["pump"] == "on"


@in_virtual_time
async def test_switching_it_off_leaves_nothing_to_end() -> None:
    board = FakeBoard()
    tool = writes(board)
    await told(tool, pin="pump", value="on", for_seconds=5)
    await told(tool, pin="pump", value="off")
    await elapse(60)
    assert board.let_gone == []


@in_virtual_time
async def test_what_a_stop_has_ended_is_not_written_again() -> None:
    board = FakeBoard()
    await told(writes(board), pin="pump", value="on", for_seconds=5)
    await board.release()
    before = list(board.record)
    await elapse(60)
    assert board.record == before


@in_virtual_time
async def test_one_that_is_on_already_is_promised_no_longer_than_its_limit_has_left() -> None:
    board = FakeBoard()
    tool = writes(board, max_on_ms=30_000)
    await told(tool, pin="pump", value="on")
    await elapse(25)
    said = await refused(tool, pin="pump", value="on", for_seconds=20)
    assert said == (
        "pump is on and may be on for 5 s more (max_on_s in its configuration is 30 s), not for "
        "20 s: nothing was done"
    )
    assert (await told(tool, pin="pump", value="on", for_seconds=4))["for_seconds"] == 4
    await elapse(5)
    assert (await told(tool, pin="pump", value="on", for_seconds=20))["for_seconds"] == 20


@dataclass
class ForgetfulLine(FakeBoard):
    """Loses the answers to the first writes of the safe value, and refuses later ones."""

    lost: int = 0
    refuses: bool = False

    async def call(self, method: str, arguments: Mapping[str, Value]) -> dict[str, Value]:
        if arguments.get("value") == "off" and self.refuses:
            raise CallRefused("unsafe_state", "locked")
        if arguments.get("value") == "off" and self.lost:
            self.lost -= 1
            raise OutcomeUnknown("no answer")
        return await super().call(method, arguments)


@in_virtual_time
async def test_an_end_whose_answer_is_lost_is_said_again() -> None:
    board = ForgetfulLine(lost=2)
    await told(writes(board), pin="pump", value="on", for_seconds=5)
    await elapse(6)
    assert board.values["pump"] == "off"


@in_virtual_time
async def test_an_end_that_is_refused_is_left_to_the_lease(
    caplog: pytest.LogCaptureFixture,
) -> None:
    board = ForgetfulLine(refuses=True)
    await told(writes(board), pin="pump", value="on", for_seconds=5)
    await elapse(6)
    assert board.let_gone == ["pump"]
    assert "its lease will end (pin=pump)" in caplog.text


class SlowLine(FakeBoard):
    """Does each order at once, and answers after a while."""

    async def call(self, method: str, arguments: Mapping[str, Value]) -> dict[str, Value]:
        result = await super().call(method, arguments)
        await elapse(0.2)
        return result


@in_virtual_time
async def test_an_end_during_a_new_order_does_not_undo_it() -> None:
    board = SlowLine()
    tool = writes(board)
    await told(tool, pin="pump", value="on", for_seconds=5)
    await elapse(4.9)
    assert (await told(tool, pin="pump", value="on"))["value"] == "on"
    await elapse(60)
    assert board.values["pump"] == "on"


@dataclass
class BusyLine(ForgetfulLine):
    """Gives the answer that is lost up after a while."""

    async def call(self, method: str, arguments: Mapping[str, Value]) -> dict[str, Value]:
        try:
            return await super().call(method, arguments)
        except OutcomeUnknown:
            await elapse(1)
            raise


@in_virtual_time
async def test_an_order_during_the_tries_of_an_end_is_not_undone_by_the_next_try() -> None:
    board = BusyLine(lost=2)
    tool = writes(board)
    await told(tool, pin="pump", value="on", for_seconds=5)
    await elapse(5.5)
    assert (await told(tool, pin="pump", value="on"))["value"] == "on"
    await elapse(60)
    assert board.values["pump"] == "on"


@in_virtual_time
async def test_an_end_during_an_order_that_fails_still_comes() -> None:
    @dataclass
    class Lost(FakeBoard):
        is_lost: bool = False

        async def call(self, method: str, arguments: Mapping[str, Value]) -> dict[str, Value]:
            if self.is_lost and arguments["value"] == "on":
                await elapse(1)
                raise CallRefused("unsafe_state", "not now")
            return await super().call(method, arguments)

    board = Lost()
    tool = writes(board)
    await told(tool, pin="pump", value="on", for_seconds=5)
    await elapse(4.5)
    board.is_lost = True
    assert "not now" in await refused(tool, pin="pump", value="on")
    await elapse(1)
    assert board.values["pump"] == "off"


@pytest.mark.parametrize(
    ("value", "for_s", "said"),
    [
        ("on", 0.05, "at least 0.1"),
        ("off", 5.0, "off is the safe value of pump"),
        ("on", 60.0, "pump may be on for 10 s at a time"),
    ],
)
def test_what_an_output_does_not_allow_names_the_limit(value: str, for_s: float, said: str) -> None:
    with pytest.raises(BadArguments, match=said):
        OutputLimits("pump", "off", 10.0).check(value, for_s)


def test_a_limit_is_named_before_anybody_is_asked() -> None:
    tool = writes(FakeBoard(), max_on_ms=10_000)
    with pytest.raises(BadArguments, match="10 s at a time"):
        tool.parse('{"pin": "pump", "value": "on", "for_seconds": 60}')
    assert tool.parse('{"pin": "pump", "value": "on", "for_seconds": 10}')


def test_only_what_has_one_value_to_go_back_to_can_end() -> None:
    strip = Method(17, "pixel_write", "", (Field("pin", "B", pins="pixels"),), lease=True)
    read = Method(18, "gpio_read", "", (PIN,))
    assert can_end(WRITE)
    assert not can_end(strip)
    assert not can_end(read)
    fan = Field("duty", "H", unit="%")
    assert safe_value(BoardPin(0, "fan", "PB0", safe=20), fan) == 20
    assert safe_value(BoardPin(0, "door", "PB0", safe=1), SWITCH) == "on"


@in_virtual_time
async def test_on_the_link_its_lease_is_renewed_until_then_and_no_longer(tmp_path: Path) -> None:
    async with ready(tmp_path) as (link, board):
        tools = BoardTools(link.board)
        tool = next(one for one in tools.tools() if one.name == "board_gpio_write")
        await told(tool, pin="led", value="on", for_seconds=30)
        await elapse(29)
        assert board.outputs == {0: 1}
        await elapse(1.5)
        assert board.outputs == {0: 0}
