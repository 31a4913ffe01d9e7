"""Open pages, each with its stream of events: few of one browser, and not too many of all.

A browser has six connections to one host. If streams held them all, nothing that is pressed on any
of its pages would leave it, not even STOP.
"""

import contextlib
from collections.abc import Iterator

from agent.console.live import PageStream

# Two connections are left for pages, parts and what is pressed
MOST_OF_ONE = 4
MOST = 64


class OpenPages:
    """Streams by the session of their browser, the oldest first."""

    def __init__(self) -> None:
        self._of: dict[str, dict[PageStream, None]] = {}

    @property
    def count(self) -> int:
        return sum(map(len, self._of.values()))

    @contextlib.contextmanager
    def holding(self, session: str, stream: PageStream) -> Iterator[None]:
        """Count a stream; one too many of a browser ends its oldest, which may come again."""
        own = self._of.setdefault(session, {})
        own[stream] = None
        for oldest in list(own)[:-MOST_OF_ONE]:
            oldest.rest()
        try:
            yield
        finally:
            del own[stream]
            if not own and self._of.get(session) is own:
                del self._of[session]
