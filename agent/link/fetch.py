"""Reading the manifest from a board, chunk by chunk, verified by the hash of the greeting."""

import struct
import zlib

from agent.errors import CallRefused, WrongDevice
from agent.link.connection import Connection
from agent.link.frame import METHOD_MANIFEST
from agent.link.manifest_cache import MAX_MANIFEST_BYTES, hash_of
from agent.link.session import Request

# One chunk is read from flash and sent: 20 ms at 115200 baud
CHUNK_DEADLINE_MS = 1_000
# Compressed; the board itself has less than this to spare
MAX_PACKED_BYTES = 16 * 1024
_OFFSET_FORMAT = "<I"
_TOTAL_FORMAT = "<I"


async def fetch_manifest(connection: Connection, manifest_hash: bytes) -> bytes:
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
            raise WrongDevice("the board's description of itself has no end")
        packed += chunk
    raw = _inflate(bytes(packed[:total]))
    if hash_of(raw) != manifest_hash:
        raise WrongDevice("the board's description of itself is not the one it announced")
    return raw


async def _chunk(connection: Connection, offset: int) -> tuple[int, bytes]:
    arguments = struct.pack(_OFFSET_FORMAT, offset)
    try:
        answer = await connection.call(Request(METHOD_MANIFEST, arguments, CHUNK_DEADLINE_MS))
        (total,) = struct.unpack_from(_TOTAL_FORMAT, answer)
    except (CallRefused, struct.error) as err:
        raise WrongDevice(f"the board does not describe itself: {err}") from err
    return total, answer[struct.calcsize(_TOTAL_FORMAT) :]


def _inflate(packed: bytes) -> bytes:
    inflater = zlib.decompressobj()
    try:
        raw = inflater.decompress(packed, MAX_MANIFEST_BYTES)
    except zlib.error as err:
        raise WrongDevice("the board's description of itself is damaged") from err
    if not inflater.eof:
        raise WrongDevice("the board's description of itself is cut off or too long")
    return raw
