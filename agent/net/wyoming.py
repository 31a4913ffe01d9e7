"""Wire of Wyoming: an event is one line of JSON, with further data and sound behind it.

Every length has its limit before anything is read, and an event that has begun has to end in time.
"""

import asyncio
from collections.abc import Mapping
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta, Struct, field

from agent.text.printable import printable_line

# A line holds lengths, or a sentence; 10,000 characters of any script have room in it
MAX_LINE_BYTES = 64 * 1024
MAX_DATA_BYTES = 64 * 1024
# Sound of an event: some seconds of it
MAX_PAYLOAD_BYTES = 1024 * 1024
# An event is written at once; a slow network repeats a lost packet within this
EVENT_TIMEOUT_S = 10.0
# An answer may take 15 minutes, and a client that waits for one says nothing
IDLE_TIMEOUT_S = 1000.0
# Whoever reads no answer for so long has gone
WRITE_TIMEOUT_S = 10.0
_PIECE_BYTES = 16 * 1024
# Of the protocol that the line's form is of
_VERSION = "1.8.0"

T = TypeVar("T")
_Length = Annotated[int, Meta(ge=0)]


class WireRefused(Exception):
    """Bytes that are no event; the text says what is wrong, and repeats nothing of them."""


class WyomingEvent(Struct, frozen=True):
    """Event of either side; `payload` is its sound, where its reader wants that."""

    type: str
    data: Mapping[str, Any] = field(default_factory=dict)
    payload: bytes = b""

    def text(self, name: str) -> str:
        """Return a text of the data; empty if there is none."""
        found = self.data.get(name)
        return found if isinstance(found, str) else ""

    def number(self, name: str) -> int:
        """Return a whole number of the data; 0 if there is none."""
        found = self.data.get(name)
        return found if type(found) is int else 0


class _Head(msgspec.Struct, frozen=True):
    """Line of an event."""

    type: Annotated[str, Meta(max_length=64)]
    data: dict[str, Any] | None = None
    data_length: _Length | None = None
    payload_length: _Length | None = None


async def read_event(
    reader: asyncio.StreamReader,
    *,
    keeps_sound: bool = False,
    is_patient: bool = False,
) -> WyomingEvent | None:
    """Return the next event; None if the other side has gone, or says nothing any more.

    Args:
        keeps_sound: the event has its sound; otherwise that is thrown away while it comes.
        is_patient: it may say nothing for ever.

    Raises:
        WireRefused: it is none.
    """
    try:
        async with asyncio.timeout(None if is_patient else IDLE_TIMEOUT_S):
            first = await reader.readexactly(1)
    except (asyncio.IncompleteReadError, OSError, TimeoutError):
        return None
    try:
        async with asyncio.timeout(EVENT_TIMEOUT_S):
            return await _rest_of(first, reader, keeps_sound=keeps_sound)
    # A kind of OSError, too
    except TimeoutError as err:
        raise WireRefused(f"an event has to be whole within {EVENT_TIMEOUT_S:g} s") from err
    except (asyncio.IncompleteReadError, OSError):
        return None


async def write_event(writer: asyncio.StreamWriter, event: WyomingEvent) -> None:
    """Send an event; whoever does not take it is cut off."""
    data = msgspec.json.encode(event.data) if event.data else b""
    head: dict[str, object] = {"type": event.type, "version": _VERSION}
    if data:
        head["data_length"] = len(data)
    if event.payload:
        head["payload_length"] = len(event.payload)
    try:
        writer.write(msgspec.json.encode(head) + b"\n" + data + event.payload)
        async with asyncio.timeout(WRITE_TIMEOUT_S):
            await writer.drain()
    except (OSError, TimeoutError):
        writer.transport.abort()


async def _rest_of(
    first: bytes, reader: asyncio.StreamReader, *, keeps_sound: bool
) -> WyomingEvent:
    try:
        line = first if first == b"\n" else first + await reader.readuntil(b"\n")
    except asyncio.LimitOverrunError as err:
        raise WireRefused(f"a line is longer than {MAX_LINE_BYTES} bytes") from err
    head = _decoded(line, _Head)
    data = dict(head.data or {})
    if head.data_length:
        _limit("data", head.data_length, MAX_DATA_BYTES)
        data |= _decoded(await reader.readexactly(head.data_length), dict[str, Any])
    payload = b""
    if length := head.payload_length:
        _limit("payload", length, MAX_PAYLOAD_BYTES)
        if keeps_sound:
            payload = await reader.readexactly(length)
        else:
            await _throw_away(reader, length)
    return WyomingEvent(head.type, data, payload)


def _decoded(raw: bytes, shape: type[T]) -> T:
    try:
        return msgspec.json.decode(raw, type=shape)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as err:
        raise WireRefused(f"this is no event: {printable_line(str(err), 200)}") from err


def _limit(what: str, told: int, most: int) -> None:
    if told > most:
        raise WireRefused(f"{what} of an event is longer than {most} bytes")


async def _throw_away(reader: asyncio.StreamReader, length: int) -> None:
    left = length
    while left:
        left -= len(await reader.readexactly(min(left, _PIECE_BYTES)))
