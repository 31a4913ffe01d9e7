"""Server-sent events: the data of each event, however the bytes were cut on their way.

As in the HTML standard, with `data:` with and without a space, comments, ids, and any line ending;
what is not UTF-8 is replaced. No event is ever held beyond the limit that a reader sets.
"""

import re

from msgspec import Struct

from agent.errors import NetworkError

# Longer than any server's numbering; what is longer is not remembered
MAX_ID_BYTES = 256

# Bytes, not text: U+2028 and its like inside data end no line
_LINE_END = re.compile(rb"\r\n|\r|\n")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class SseEvent(Struct, frozen=True):
    """Event of a server, with the id to resume after; empty if it has none."""

    data: str
    event_id: str = ""


class SseDecoder:
    """Splits one stream; an instance serves one answer.

    Args:
        reads_errors: an error is data, also where a server sends it in a field of its own or bare.
    """

    def __init__(self, max_event_bytes: int, *, reads_errors: bool = False) -> None:
        self._max_event_bytes = max_event_bytes
        self._reads_errors = reads_errors
        # Pieces of the line that has not ended yet: joined once, so that a drip stays cheap
        self._line: list[bytes] = []
        self._data: list[bytes] = []
        self._id = ""
        self._held_bytes = 0
        self._ended_with_cr = False
        self._is_first_line = True

    def feed(self, piece: bytes) -> list[SseEvent]:
        """Every event that `piece` completed.

        Raises:
            NetworkError: an event is larger than allowed.
        """
        if self._ended_with_cr and piece.startswith(b"\n"):
            piece = piece[1:]
            self._ended_with_cr = False
        if not piece:
            return []
        self._ended_with_cr = piece.endswith(b"\r")
        events: list[SseEvent] = []
        *complete, rest = _LINE_END.split(piece)
        for part in complete:
            self._hold(self._line, part)
            self._end_line(events)
        self._hold(self._line, rest)
        return events

    def close(self) -> list[SseEvent]:
        """The event whose closing blank line never came; its data may be cut anywhere."""
        events: list[SseEvent] = []
        self._end_line(events)
        self._end_event(events)
        return events

    def _end_line(self, events: list[SseEvent]) -> None:
        line = b"".join(self._line)
        self._held_bytes -= len(line)
        self._line.clear()
        if self._is_first_line:
            line = line.removeprefix(_BYTE_ORDER_MARK)
            self._is_first_line = False
        if not line:
            self._end_event(events)
            return
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            # With its line end: an event of nothing but empty lines has a size too
            self._hold(self._data, value + b"\n")
        elif name == b"error" and self._reads_errors:
            self._hold(self._data, b'{"error":' + value + b"}\n")
        elif self._reads_errors and name.replace(b" ", b"") == b'{"error"':
            self._hold(self._data, line + b"\n")
        elif name == b"id" and len(value) <= MAX_ID_BYTES and b"\0" not in value:
            self._id = value.decode(errors="replace")

    def _end_event(self, events: list[SseEvent]) -> None:
        if self._data:
            data = b"".join(self._data)
            self._held_bytes -= len(data)
            events.append(SseEvent(data[:-1].decode(errors="replace"), self._id))
            self._data.clear()

    def _hold(self, pieces: list[bytes], piece: bytes) -> None:
        self._held_bytes += len(piece)
        if self._held_bytes > self._max_event_bytes:
            size = self._max_event_bytes // 1024
            raise NetworkError(f"the service sent an event of more than {size} KB")
        pieces.append(piece)
