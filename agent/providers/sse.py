"""The data of each server-sent event of a model service."""

from agent.errors import NetworkError, TransientProviderError
from agent.net import sse

# A chunk of a completion takes a few hundred bytes; a whole tool call fits many times
MAX_EVENT_BYTES = 256 * 1024


class ServiceSseParser:
    """Splits one stream; an instance serves one answer."""

    def __init__(self) -> None:
        # llama.cpp of 2025 has a field for them; gateways pass one on as its service sent it
        self._parser = sse.SseDecoder(MAX_EVENT_BYTES, reads_errors=True)

    def feed(self, piece: bytes) -> list[str]:
        """Return the data of every event that `piece` completed.

        Raises:
            TransientProviderError: an event is larger than allowed.
        """
        try:
            return [event.data for event in self._parser.feed(piece)]
        except NetworkError as err:
            raise TransientProviderError(str(err)) from err

    def close(self) -> list[str]:
        """Return the event whose closing blank line never came; its data may be cut anywhere."""
        return [event.data for event in self._parser.close()]
