"""The newest lines of the log, in memory: for who may see them and has no journal at hand."""

import logging
from collections import deque

from msgspec import Struct

from agent.system.logs import Redact, TextFormatter

MOST_LINES = 300
# With it the whole is no more than 150 KB
MOST_CHARS = 500


class LogLine(Struct, frozen=True):
    """One record of the log; `text` has no secrets and no line breaks."""

    at_s: float
    level: int
    text: str


class RecentLog(logging.Handler):
    """Keeps the newest records of the whole process from its making to `close`."""

    def __init__(self, redact: Redact) -> None:
        super().__init__()
        self._lines: deque[LogLine] = deque(maxlen=MOST_LINES)
        self.setFormatter(TextFormatter(redact))
        logging.getLogger().addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        # The line says its subsystem itself
        text = self.format(record).removeprefix(f"{record.name}: ")[:MOST_CHARS]
        self._lines.append(LogLine(record.created, record.levelno, text))

    def lines(self, least: int = logging.NOTSET) -> list[LogLine]:
        """Return those of at least that level, the newest first."""
        # Other threads write records too: a copy is made at once
        return [line for line in reversed(tuple(self._lines)) if line.level >= least]

    def close(self) -> None:
        logging.getLogger().removeHandler(self)
        super().close()
