"""Locks of a board's outputs at their safe values: their reason, and their release."""

import logging
import struct
from collections.abc import Callable

from agent.errors import CallRefused, LinkError
from agent.link import frame as wire
from agent.link.connection import BoardConnection
from agent.link.session import Request
from agent.passage import echo
from agent.security.estop import HOW_TO_CLEAR
from agent.system.clock import Clock

_log = logging.getLogger(__name__)

# Nothing is moved and nothing is measured for it
DEADLINE_MS = 1_000
# A stop that did not arrive is sent again this often
STOP_AGAIN_S = 0.2
# By the number in `status`
_REASONS = {
    wire.REASON_ESTOP: "an emergency stop",
    wire.REASON_WATCHDOG: "a reset by its watchdog",
    wire.REASON_FAULT: "a fault in its firmware",
}


async def lock_reason(connection: BoardConnection) -> int:
    """Return the lock's reason as a number of the wire format; 0 if there is no lock.

    Raises:
        LinkError: it cannot be asked.
    """
    answer = await connection.call(Request(wire.METHOD_STATUS, b"", DEADLINE_MS, urgent=True))
    try:
        *_, found = struct.unpack_from(wire.STATUS_FORMAT, answer)
    except struct.error:
        # Firmware that locks nothing beyond a session says no reason
        return wire.REASON_NONE
    return int(found)


async def settled(
    connection: BoardConnection, clock: Clock, is_stopped: Callable[[], bool]
) -> str | None:
    """Return the lock in a sentence, "" for none; None where it cannot be asked.

    While a stop is set, not before the board has heard of it: nothing answers a stop, and a noisy
    line or a board that writes its flash swallows it.
    """
    while True:
        try:
            found = await lock_reason(connection)
        except LinkError as err:
            if isinstance(err, CallRefused) or not is_stopped():
                _log.info("link: cannot tell if outputs are locked (error=%s)", err)
                return None
        else:
            if found == wire.REASON_ESTOP or not is_stopped():
                return lock_sentence(found) if found else ""
        connection.stop()
        await clock.sleep(STOP_AGAIN_S)


async def clear_lock(connection: BoardConnection) -> str:
    """Release the outputs; half a sentence that says what held them.

    Raises:
        LinkError: they are still locked.
    """
    found = await lock_reason(connection)
    if found == wire.REASON_NONE:
        return "nothing was locked"
    arguments = bytes([found])
    answer = await connection.call(Request(wire.METHOD_CLEAR, arguments, DEADLINE_MS, urgent=True))
    if answer[:1] == bytes([wire.STATE_SAFE]):
        raise CallRefused("unsafe_state", echo("it was locked again at once"))
    return f"released after {lock_words(found)}"


def lock_words(found: int) -> str:
    """Return the reason in words."""
    return _REASONS.get(found, "a reason that only newer firmware knows")


def lock_sentence(found: int) -> str:
    """Return what a person should know of a lock, and how it is released."""
    return f"its outputs are locked after {lock_words(found)}: {HOW_TO_CLEAR}"
