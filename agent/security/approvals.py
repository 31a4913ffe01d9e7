"""Approvals of the owner: a yes for one act, once and soon; an "always" for a narrow kind of act.

A yes is spent by the act that it was given for, and by no other. An "always" is kept with its end
in a file that the owner can read, and delete; what cannot be read in it approves nothing.
"""

import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from agent.clock import Clock
from agent.errors import BarnacleError
from agent.messages import Provenance
from agent.storage.documents import open_documents

if TYPE_CHECKING:
    from tinydb import TinyDB

# How long "always" holds: long enough to be useful, short enough to be forgotten safely
STANDING_APPROVAL_S = 30 * 24 * 3600.0
# An act follows its yes at once; later than this the world has moved on
GRANT_S = 120.0
_DAY_S = 24 * 3600


class ApprovalVoid(BarnacleError):
    """A yes that counts no more: the act is another, it came too late, or it was used."""


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of call that the owner said "always" to, as it stands in the file.

    Args:
        call: the hash of what is the same in all of these calls.
        arguments: the same to read; `words` says it in a sentence.
        trust: the lowest trust of a turn that it holds for.
    """

    call: str
    tool: str
    arguments: str
    until_s: float
    words: str = ""
    trust: int = Provenance.OWNER


@dataclass(frozen=True, slots=True)
class _Grant:
    act: str
    until_s: float


class Grants:
    """Yeses on their way to the act that they are for."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._open: dict[str, _Grant] = {}

    def give(self, question_id: str, act: str) -> None:
        """The question was answered with yes, for the act with this hash."""
        now_s = self._clock.monotonic_s()
        self._open = {name: one for name, one in self._open.items() if one.until_s > now_s}
        self._open[question_id] = _Grant(act, now_s + GRANT_S)

    def spend(self, question_id: str, act: str) -> None:
        """Use a yes for an act that happens now.

        Raises:
            ApprovalVoid: there is none for it.
        """
        grant = self._open.pop(question_id, None)
        if grant is None:
            raise ApprovalVoid("the yes to this was used already, or never given")
        if self._clock.monotonic_s() >= grant.until_s:
            raise ApprovalVoid(f"the yes to this is older than {GRANT_S:.0f} s")
        if grant.act != act:
            raise ApprovalVoid(
                "what it works on has changed since the yes was given: a file, the folder or the "
                "environment; it has to be asked again"
            )


class StandingApprovals:
    """The approvals that outlive a question."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self.clock = clock
        self._path = path
        self._opened: TinyDB | None = None

    def covers(self, calls: Iterable[str], trust: Provenance) -> bool:
        """Whether the owner said "always" to one of these in such a turn, and it has not ended."""
        wanted = {*calls}
        return any(one.call in wanted and one.trust <= trust for one in self._every())

    def knows(self, tool: str, arguments: str) -> bool:
        """Return whether the owner said "always" to these words, whatever they meant then."""
        return any((one.tool, one.arguments) == (tool, arguments) for one in self._every())

    def add(self, standing: Standing) -> None:
        from tinydb import where  # noqa: PLC0415 - only where a question came up

        self._documents().upsert(msgspec.to_builtins(standing), where("call") == standing.call)

    def every(self) -> list[Standing]:
        """All that have not ended, those that end first at the top."""
        return sorted(self._every(), key=lambda one: (one.until_s, one.call))

    def revoke(self, calls: Iterable[str]) -> None:
        """Be asked again about these."""
        from tinydb import where  # noqa: PLC0415 - as above

        self._documents().remove(where("call").one_of(list(calls)))

    def end_s(self) -> float:
        """When what is approved now ends."""
        return self.clock.wall_s() + STANDING_APPROVAL_S

    def _every(self) -> Iterator[Standing]:
        documents = self._documents()
        # Somebody may have taken it out of the file meanwhile
        documents.clear_cache()
        now_s = self.clock.wall_s()
        for document in documents.all():
            with contextlib.suppress(msgspec.ValidationError):
                one = msgspec.convert(document, Standing)
                # A clock that was set back gives no "always" a longer life
                if now_s < one.until_s <= now_s + STANDING_APPROVAL_S:
                    yield one

    def _documents(self) -> "TinyDB":
        if self._opened is None:
            self._opened = open_documents(self._path)
        return self._opened


def span() -> str:
    """How long an "always" holds, in words."""
    return f"{STANDING_APPROVAL_S / _DAY_S:.0f} days"
