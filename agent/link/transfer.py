"""Transfer of a board's manifest and configuration in pieces."""

import struct
import zlib

from agent.errors import CallRefused, WrongDevice
from agent.link import frame as wire
from agent.link.configuration import hash_of_wire
from agent.link.connection import BoardConnection
from agent.link.frame import METHOD_MANIFEST
from agent.link.manifest_cache import MAX_MANIFEST_BYTES, hash_of
from agent.link.session import Request

# One chunk is read from flash and sent: 20 ms at 115200 baud
CHUNK_DEADLINE_MS = 1_000
# Compressed; the board itself has less than this to spare
MAX_PACKED_BYTES = 16 * 1024
_OFFSET_FORMAT = "<I"


async def fetch_manifest(connection: BoardConnection, manifest_hash: bytes) -> bytes:
    """The uncompressed manifest.

    Raises:
        WrongDevice: what the board sends is not what it announced.
        LinkLost, OutcomeUnknown: the session ended.
    """
    packed = bytearray()
    total = MAX_PACKED_BYTES
    while len(packed) < total:
        total, chunk = await _chunk(connection, len(packed))
        if total > MAX_PACKED_BYTES or not chunk:
            raise WrongDevice("the board's manifest has no end")
        packed += chunk
    raw = _inflate(bytes(packed[:total]))
    if hash_of(raw) != manifest_hash:
        raise WrongDevice("the board's manifest does not match its announced hash")
    return raw


async def _chunk(connection: BoardConnection, offset: int) -> tuple[int, bytes]:
    arguments = struct.pack(_OFFSET_FORMAT, offset)
    try:
        answer = await connection.call(Request(METHOD_MANIFEST, arguments, CHUNK_DEADLINE_MS))
        (total,) = struct.unpack_from(_TOTAL_FORMAT, answer)
    except (CallRefused, struct.error) as err:
        raise WrongDevice(f"the board does not send its manifest: {err}") from err
    return total, answer[struct.calcsize(_TOTAL_FORMAT) :]


def _inflate(packed: bytes) -> bytes:
    inflater = zlib.decompressobj()
    try:
        raw = inflater.decompress(packed, MAX_MANIFEST_BYTES)
    except zlib.error as err:
        raise WrongDevice("the board's manifest is damaged") from err
    if not inflater.eof:
        raise WrongDevice("the board's manifest is truncated or too long")
    return raw


# One piece is copied in memory
PIECE_DEADLINE_MS = 1_000
# A file is written on flash that is erased first
COMMIT_DEADLINE_MS = 4_000
# With offset and header it fits a frame
PIECE_BYTES = 200
_TOTAL_FORMAT = "<I"


async def fetch_configuration(connection: BoardConnection, wanted_hash: bytes) -> bytes:
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
        raise WrongDevice("the configuration on the board does not match its announced hash")
    return bytes(stored)


async def upload(connection: BoardConnection, configuration: bytes) -> None:
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


async def _piece(connection: BoardConnection, offset: int) -> tuple[int, bytes]:
    arguments = struct.pack(wire.CONFIG_OFFSET_FORMAT, offset)
    try:
        answer = await connection.call(
            Request(wire.METHOD_CONFIG_READ, arguments, PIECE_DEADLINE_MS)
        )
        (total,) = struct.unpack_from(_TOTAL_FORMAT, answer)
    except (CallRefused, struct.error) as err:
        raise WrongDevice(f"cannot read the configuration on the board: {err}") from err
    return total, answer[struct.calcsize(_TOTAL_FORMAT) :]
