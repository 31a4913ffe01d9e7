"""The table of rules on a board: what stands in each slot, how it is doing, and changing it.

The board is the only one that knows; nothing of it is kept here.
"""

import enum
import struct

from msgspec import Struct

from agent.errors import CallRefused
from agent.link import frame as wire
from agent.link.base import Board

_LIST, _GET, _PUT, _DELETE, _PAUSE = range(5)
_ANY_SLOT = 255
_LIST_HEADER_BYTES = 2


class SlotState(enum.Enum):
    """State of a rule on the board."""

    # There is none
    EMPTY = 0
    # It is looked at, with or without the agent
    ACTIVE = 1
    # It rests until it is resumed
    PAUSED = 2
    # A pin that it names is not configured any more
    GONE = 3
    # A limit of its output does not allow it any more
    FORBIDDEN = 4
    # Something that only newer firmware knows
    UNKNOWN = 255


class Durability(enum.Enum):
    """Durability of the rules across a reset of the board."""

    STORED = 0
    # The board has nowhere to keep them
    IN_RAM = 1
    # What was stored before the last reset was damaged and is not used
    DAMAGED = 2
    # They are stored as soon as every output is safe
    WAITING = 3
    # The flash did not take them
    FAILED = 4
    # Something that only newer firmware knows
    UNKNOWN = 255


class ReflexSlot(Struct, frozen=True):
    """A rule on the board: `raw` as on the wire, `refusal` the name of the last refusal's code."""

    number: int
    state: SlotState
    fired: int
    refused: int
    refusal: str
    wait_s: int
    raw: bytes


class ReflexSlots(Struct, frozen=True):
    """All rules of a board at one moment."""

    keeping: Durability
    slots: tuple[ReflexSlot, ...]


async def read(board: Board) -> ReflexSlots:
    """Every rule that the board has.

    Raises:
        LinkError: it cannot be asked.
    """
    answer = await board.exchange(wire.METHOD_REFLEX, bytes([_LIST]))
    try:
        keeping, count = answer[:_LIST_HEADER_BYTES]
        states = [
            struct.unpack_from(
                wire.REFLEX_STATE_FORMAT,
                answer,
                _LIST_HEADER_BYTES + number * wire.REFLEX_STATE_BYTES,
            )
            for number in range(count)
        ]
    except (ValueError, struct.error) as err:
        raise CallRefused("io", "the board's answer is too short for a list of reflexes") from err
    slots = [
        _slot(number, state, await _get(board, number))
        for number, state in enumerate(states)
        if state[0] != SlotState.EMPTY.value
    ]
    return ReflexSlots(_keeping(keeping), tuple(slots))


async def put(board: Board, raw: bytes) -> None:
    """Give the board another rule, in a slot that is free.

    Raises:
        LinkError: the board did not take it, or it is not known whether it did.
    """
    await board.exchange(wire.METHOD_REFLEX, bytes([_PUT, _ANY_SLOT]) + raw)


async def delete(board: Board, number: int) -> None:
    """Take a rule away; what it holds goes safe.

    Raises:
        LinkError: it is still there, or it is not known whether it is.
    """
    await board.exchange(wire.METHOD_REFLEX, bytes([_DELETE, number]))


async def enable(board: Board, number: int, *, is_enabled: bool) -> None:
    """Let a rule rest, or act again; what a resting one holds goes safe.

    Raises:
        LinkError: it is as it was, or it is not known how it is.
    """
    await board.exchange(wire.METHOD_REFLEX, bytes([_PAUSE, number, is_enabled]))


async def _get(board: Board, number: int) -> bytes:
    return await board.exchange(wire.METHOD_REFLEX, bytes([_GET, number]))


def _slot(number: int, state: tuple[int, ...], raw: bytes) -> ReflexSlot:
    value, fired, refused, code, wait_s = state
    known = value in {one.value for one in SlotState}
    refusal = wire.CODES[code] if code < len(wire.CODES) else f"code {code}"
    return ReflexSlot(
        number,
        SlotState(value) if known else SlotState.UNKNOWN,
        fired,
        refused,
        "" if code == wire.OK else refusal,
        wait_s,
        raw,
    )


def _keeping(value: int) -> Durability:
    known = value in {one.value for one in Durability}
    return Durability(value) if known else Durability.UNKNOWN
