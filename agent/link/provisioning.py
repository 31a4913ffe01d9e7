"""Reading the configuration that a board keeps, and giving it another one, whole or not at all."""

import struct

from agent.errors import CallRefused, WrongDevice
from agent.link import frame as wire
from agent.link.configuration import hash_of_wire
from agent.link.connection import Connection
from agent.link.session import Request

# One piece is copied in memory
PIECE_DEADLINE_MS = 1_000
# A file is written on flash that is erased first
COMMIT_DEADLINE_MS = 4_000
# With offset and header it fits a frame
PIECE_BYTES = 200
_TOTAL_FORMAT = "<I"


async def fetch_configuration(connection: Connection, wanted_hash: bytes) -> bytes:
    """Return the configuration that the board has stored.

    Raises:
        WrongDevice: what it sends is not what it announced.
        LinkLost, OutcomeUnknown: the session ended.
    """
    stored = bytearray()
    total = 1
    while len(stored) < total:
        total, piece = await _piece(connection, len(stored))
        if total > wire.CONFIG_LIMIT_BYTES or not piece:
            raise WrongDevice("the configuration on the board has no end")
        stored += piece
    if hash_of_wire(bytes(stored)) != wanted_hash:
        raise WrongDevice("the configuration on the board is not the one it announced")
    return bytes(stored)


async def upload(connection: Connection, configuration: bytes) -> None:
    """Send it and have it put in place; an interrupted one leaves the old one.

    Raises:
        CallRefused: the board does not take it; the text names the entry.
        LinkLost, OutcomeUnknown: the session ended; the next greeting tells which one is in force.
    """
    digest = hash_of_wire(configuration)
    begin = struct.pack(wire.CONFIG_BEGIN_FORMAT, len(configuration), digest)
    await connection.call(Request(wire.METHOD_CONFIG_BEGIN, begin, PIECE_DEADLINE_MS))
    for at in range(0, len(configuration), PIECE_BYTES):
        piece = struct.pack(wire.CONFIG_OFFSET_FORMAT, at) + configuration[at : at + PIECE_BYTES]
        await connection.call(Request(wire.METHOD_CONFIG_WRITE, piece, PIECE_DEADLINE_MS))
    await connection.call(Request(wire.METHOD_CONFIG_COMMIT, digest, COMMIT_DEADLINE_MS))


async def _piece(connection: Connection, offset: int) -> tuple[int, bytes]:
    arguments = struct.pack(wire.CONFIG_OFFSET_FORMAT, offset)
    try:
        answer = await connection.call(
            Request(wire.METHOD_CONFIG_READ, arguments, PIECE_DEADLINE_MS)
        )
        (total,) = struct.unpack_from(_TOTAL_FORMAT, answer)
    except (CallRefused, struct.error) as err:
        raise WrongDevice(f"the configuration on the board cannot be read: {err}") from err
    return total, answer[struct.calcsize(_TOTAL_FORMAT) :]
