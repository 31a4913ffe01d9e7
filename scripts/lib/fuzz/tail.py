"""The end of a board's record, read as it grows."""

import json
from pathlib import Path
from typing import Any


class Tail:
    """Tail of a record: the lines since the last reading."""

    def __init__(self, record: Path) -> None:
        self._record = record
        self._offset = 0
        self.read()

    def read(self) -> list[dict[str, Any]]:
        with self._record.open("rb") as file:
            file.seek(self._offset)
            lines = file.read().splitlines(keepends=True)
        whole = [line for line in lines if line.endswith(b"\n")]
        self._offset += sum(map(len, whole))
        return [json.loads(line) for line in whole]
