"""Lines of a stream, each of them an event: what Ollama and programs send."""

from agent.errors import TransientProviderError
from agent.providers.sse import MAX_EVENT_BYTES


class LineSplitter:
    """Splits one stream; an instance serves one answer."""

    def __init__(self) -> None:
        # Pieces of the line that has not ended yet: joined once, so that a drip stays cheap
        self._line: list[bytes] = []
        self._held_bytes = 0

    def feed(self, piece: bytes) -> list[str]:
        """Return every line that `piece` completed; blank ones are skipped.

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
        """Return the line whose end never came; it may be cut anywhere."""
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
