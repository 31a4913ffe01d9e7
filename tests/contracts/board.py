"""What every `Board` does, whatever is behind it: the fake must not drift from the real one."""

from collections.abc import Awaitable, Callable

import pytest

from agent.errors import CallRefused, LinkLost
from agent.link.base import Board, BoardState
from agent.link.frame import METHOD_STATUS
from agent.link.manifest import Manifest


async def check_board(board: Board, unplug: Callable[[], Awaitable[None]]) -> None:
    """Try everything of the seam on a board that is ready and has led, button and a0."""
    _check_description(board)
    await _check_calls(board)
    await _check_refusals(board)
    await board.call("gpio_write", {"pin": "led", "value": "on"})
    await board.release()
    assert await board.call("gpio_read", {"pin": "led"}) == {"value": "off"}
    await unplug()
    await _check_absence(board)


def _check_description(board: Board) -> None:
    assert board.name == "board"
    assert board.status.state is BoardState.READY
    assert board.status.identity is not None
    assert board.manifest is not None
    heard: list[Manifest] = []
    unsubscribe = board.on_manifest(heard.append)
    assert heard == [board.manifest]
    unsubscribe()


async def _check_calls(board: Board) -> None:
    for value in ("on", "off"):
        written = await board.call("gpio_write", {"pin": "led", "value": value})
        assert written == await board.call("gpio_read", {"pin": "led"}) == {"value": value}
    volts = (await board.call("adc_read", {"pin": "a0"}))["value"]
    assert isinstance(volts, float)
    assert 0 <= volts <= 3.3
    degrees = (await board.call("mcu_temperature", {}))["value"]
    assert isinstance(degrees, float)
    assert -40 <= degrees <= 85


async def _check_refusals(board: Board) -> None:
    for method, arguments, code in (
        ("fly", {}, "not_supported"),
        ("gpio_write", {"pin": "led"}, "bad_request"),
        ("gpio_write", {"pin": "led", "value": "blink"}, "bad_request"),
        ("gpio_write", {"pin": "button", "value": "on"}, "bad_pin"),
        ("gpio_read", {"pin": "led", "force": 1}, "bad_request"),
    ):
        with pytest.raises(CallRefused) as refused:
            await board.call(method, arguments)
        assert refused.value.code == code


async def _check_absence(board: Board) -> None:
    assert board.status.state is not BoardState.READY
    assert board.status.trouble
    assert board.manifest is not None
    with pytest.raises(LinkLost):
        await board.call("mcu_temperature", {})
    with pytest.raises(LinkLost):
        await board.exchange(METHOD_STATUS, b"")
    await board.release()
