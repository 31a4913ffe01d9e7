"""Newline-delimited JSON: each line as soon as it is whole, none held beyond a limit."""

from agent.errors import TransientProviderError
from agent.providers.sse import MAX_EVENT_BYTES


class LineSplitter:
    """Splits one stream; an instance serves one answer."""

    def __init__(self) -> None:
        # Pieces of the line that has not ended yet: joined once, so that a drip stays cheap
        self._line: list[bytes] = []
        self._held_bytes = 0

    def feed(self, piece: bytes) -> list[str]:
        """Every line that `piece` completed; blank ones are none.

        Raises:
            TransientProviderError: a line is larger than allowed.
        """
        events: list[str] = []
        *complete, rest = piece.split(b"\n")
        for part in complete:
            self._hold(part)
            events += self.close()
        self._hold(rest)
        return events

    def close(self) -> list[str]:
        """The line whose end never came; it may be cut anywhere."""
        line = b"".join(self._line).strip()
        self._line.clear()
        self._held_bytes = 0
        return [line.decode(errors="replace")] if line else []

    def _hold(self, piece: bytes) -> None:
        self._held_bytes += len(piece)
        if self._held_bytes > MAX_EVENT_BYTES:
            raise TransientProviderError(
                f"the service sent a line of more than {MAX_EVENT_BYTES // 1024} KB"
            )
        if piece:
            self._line.append(piece)
