"""Server-sent events: the data of each event, however the bytes were cut on their way.

As in the HTML standard, with `data:` with and without a space, comments, and any line ending;
what is not UTF-8 is replaced. No event is ever held beyond `MAX_EVENT_BYTES`.
"""

import re

from agent.errors import TransientProviderError

# A chunk of a completion takes a few hundred bytes; a whole tool call fits many times
MAX_EVENT_BYTES = 256 * 1024

# Bytes, not text: U+2028 and its like inside data end no line
_LINE_END = re.compile(rb"\r\n|\r|\n")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class SseParser:
    """Splits one stream; an instance serves one answer."""

    def __init__(self) -> None:
        # Pieces of the line that has not ended yet: joined once, so that a drip stays cheap
        self._line: list[bytes] = []
        self._data: list[bytes] = []
        self._held_bytes = 0
        self._ended_with_cr = False
        self._is_first_line = True

    def feed(self, piece: bytes) -> list[str]:
        """The data of every event that `piece` completed.

        Raises:
            TransientProviderError: an event is larger than allowed.
        """
        if self._ended_with_cr and piece.startswith(b"\n"):
            piece = piece[1:]
            self._ended_with_cr = False
        if not piece:
            return []
        self._ended_with_cr = piece.endswith(b"\r")
        events: list[str] = []
        *complete, rest = _LINE_END.split(piece)
        for part in complete:
            self._hold(self._line, part)
            self._end_line(events)
        self._hold(self._line, rest)
        return events

    def close(self) -> list[str]:
        """The event whose closing blank line never came; its data may be cut anywhere."""
        events: list[str] = []
        self._end_line(events)
        self._end_event(events)
        return events

    def _end_line(self, events: list[str]) -> None:
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
        if name == b"data":
            # With its line end: an event of nothing but empty lines has a size too
            self._hold(self._data, value.removeprefix(b" ") + b"\n")

    def _end_event(self, events: list[str]) -> None:
        if self._data:
            data = b"".join(self._data)
            self._held_bytes -= len(data)
            events.append(data[:-1].decode(errors="replace"))
            self._data.clear()

    def _hold(self, pieces: list[bytes], piece: bytes) -> None:
        self._held_bytes += len(piece)
        if self._held_bytes > MAX_EVENT_BYTES:
            raise TransientProviderError(
                f"the service sent an event of more than {MAX_EVENT_BYTES // 1024} KB"
            )
        pieces.append(piece)
