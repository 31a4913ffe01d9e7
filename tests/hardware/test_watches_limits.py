"""Limits of watches on the wire: the board's own subscription and the alarm mean the same."""

import asyncio
import struct
from collections.abc import Sequence

import pytest

from agent.hardware.alarm import Alarm
from agent.link import frame as wire
from agent.link.events import BoardEvent, BoardSubscription, _packed
from agent.link.manifest import Field
from agent.link.readings import BoardReading
from agent.link.settings import WatchSettings
from agent.messages import Provenance
from tests.firmware.node_on_cpython import node_module


def told(wanted: WatchSettings, scale: float, raws: Sequence[int]) -> list[int]:
    """Return what the owner is told of, of the board's numbers, by its own firmware."""
    alarm = Alarm("limit", wanted, Provenance.OWNER)
    reading = BoardReading(1, 0, "a0", Field("value", "i", scale=scale))
    packed = _packed(0, BoardSubscription(alarm.watch, asyncio.Event()), reading)
    _, _, mode, _, low, high, *_ = struct.unpack(wire.SUBSCRIBE_FORMAT, packed)
    heard = []
    with node_module("subscription") as module:
        board = module.Subscription(0, 1, 0, mode)
        board.low, board.high = low, high
        board.begin(8, raws[0], 0)
        for at_ms, raw in enumerate(raws):
            if board.look(raw, at_ms):
                event = BoardEvent("a0", round(raw * scale, 6), "", 0.0, 0.0, at_ms, 0)
                heard += [raw] if alarm.takes(event, float(at_ms)) else []
    return heard


@pytest.mark.parametrize(
    ("limit", "scale", "raws"),
    [
        # Frost, by a thermometer with steps of 0.01 °C
        (0.0, 0.01, [300, -10, -1, 0, 1, 300, -10]),
        (0.2, 0.01, [300, 15, 20, 21, 300, 15]),
        # Whole percents
        (20.0, 1.0, [30, 19, 20, 21, 30, 19]),
        # What the board cannot say exactly
        (20.4, 1.0, [30, 20, 21, 30, 20]),
        (20.6, 1.0, [30, 20, 21, 22, 30, 20]),
    ],
)
def test_what_falls_below_its_limit_again_is_told_again(
    limit: float, scale: float, raws: list[int]
) -> None:
    assert told(WatchSettings(pin="a0", below=limit), scale, raws) == [raws[1], raws[-1]]


@pytest.mark.parametrize(
    ("limit", "scale", "raws"),
    [
        (0.0, 0.01, [-300, 10, 0, -1, -300, 10]),
        (0.5, 0.1, [-3, 6, 5, 4, -3, 6]),
        (50.25, 0.1, [400, 503, 502, 400, 503]),
        (30.4, 1.0, [25, 30, 31, 29, 32]),
        (30.4, 1.0, [25, 32, 31, 30, 29, 32]),
    ],
)
def test_what_rises_above_its_limit_again_is_told_again(
    limit: float, scale: float, raws: list[int]
) -> None:
    beyond = [raw for raw in raws if raw * scale > limit]
    assert told(WatchSettings(pin="a0", above=limit), scale, raws) == [beyond[0], raws[-1]]


@pytest.mark.parametrize(("limit", "low", "high"), [(0.29, 29, 30), (4.35, 435, 444)])
def test_a_limit_that_the_board_can_say_is_taken_as_it_is(
    limit: float, low: int, high: int
) -> None:
    assert told(WatchSettings(pin="a0", below=limit), 0.01, [high, low]) == [low]
    assert told(WatchSettings(pin="a0", below=limit), 0.01, [high, low + 1]) == []
