"""Standing approvals: the owner's "always" to one exact call, with an end.

An approval names the tool and a hash of its canonical arguments; another argument is another call.
Kept in a file that the owner can read, and delete.
"""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from agent.clock import Clock
from agent.storage.documents import open_documents

if TYPE_CHECKING:
    from tinydb import TinyDB

# How long "always" holds: long enough to be useful, short enough to be forgotten safely
STANDING_APPROVAL_S = 30 * 24 * 3600.0


@dataclass(frozen=True, slots=True)
class Standing:
    """One call that the owner said "always" to.

    Args:
        call: its hash.
    """

    call: str
    tool: str
    arguments: str
    until_s: float


def canonical(arguments_json: str) -> str:
    """The same text for the same arguments, whatever their order and spacing.

    Raises:
        ValueError: it is not JSON.
    """
    return json.dumps(
        json.loads(arguments_json or "{}"),
        sort_keys=True,
        separators=(",", ":"),
        ensure_ascii=False,
    )


def call_hash(tool: str, arguments_json: str) -> str:
    """What an approval is bound to."""
    return hashlib.sha256(f"{tool}\0{canonical(arguments_json)}".encode()).hexdigest()


class StandingApprovals:
    """The approvals that outlive a question."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self._path = path
        self._clock = clock
        self._opened: TinyDB | None = None

    def covers(self, tool: str, arguments_json: str) -> bool:
        """Whether the owner said "always" to exactly this call, and it has not ended."""
        from tinydb import where  # noqa: PLC0415 - only where a question came up

        documents = self._documents()
        # Somebody may have taken it out of the file meanwhile
        documents.clear_cache()
        found = documents.search(where("call") == call_hash(tool, arguments_json))
        return any(document["until_s"] > self._clock.wall_s() for document in found)

    def add(self, tool: str, arguments_json: str) -> None:
        from tinydb import where  # noqa: PLC0415 - as above

        call = call_hash(tool, arguments_json)
        document = {
            "call": call,
            "tool": tool,
            "arguments": canonical(arguments_json),
            "until_s": self._clock.wall_s() + STANDING_APPROVAL_S,
        }
        self._documents().upsert(document, where("call") == call)

    def every(self) -> list[Standing]:
        """All that have not ended, those that end first at the top."""
        every = [
            Standing(one["call"], one["tool"], one["arguments"], one["until_s"])
            for one in self._documents().all()
            if one["until_s"] > self._clock.wall_s()
        ]
        return sorted(every, key=lambda one: (one.until_s, one.call))

    def revoke(self, calls: Iterable[str]) -> None:
        """Be asked again about these."""
        from tinydb import where  # noqa: PLC0415 - as above

        self._documents().remove(where("call").one_of(list(calls)))

    def _documents(self) -> "TinyDB":
        if self._opened is None:
            self._opened = open_documents(self._path)
        return self._opened
