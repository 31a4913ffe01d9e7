"""Approvals of the owner: a yes for one act, and an "always" for a narrow kind of act.

A yes is spent by the act that it was given for, and by no other. An "always" is kept with its end
in a file that the owner can read, and delete; what cannot be read in it approves nothing.
"""

import contextlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from agent.errors import BarnacleError
from agent.messages import Provenance
from agent.storage.documents import changing, open_documents
from agent.system.clock import Clock

if TYPE_CHECKING:
    from tinydb import TinyDB

# How long "always" holds: long enough to be useful, short enough to be forgotten safely
STANDING_APPROVAL_S = 30 * 24 * 3600.0
# An act follows its yes at once; later than this the world has moved on
GRANT_S = 120.0
_DAY_S = 24 * 3600


class ApprovalVoid(BarnacleError):
    """The yes is void: the act differs, it came too late, or it was used."""


class StandingApproval(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of call that the owner always allows, as the file keeps it.

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


class _Grant(Struct, frozen=True):
    act: str
    until_s: float


class Grants:
    """Yeses that wait for their act."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._open: dict[str, _Grant] = {}

    def give(self, question_id: str, act: str) -> None:
        """Record a yes for the act with this hash."""
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
            raise ApprovalVoid("this approval was already used, or never given")
        if self._clock.monotonic_s() >= grant.until_s:
            raise ApprovalVoid(f"this approval is older than {GRANT_S:.0f} s")
        if grant.act != act:
            raise ApprovalVoid(
                "a file, the folder or the environment has changed since the approval: ask again"
            )


class StandingApprovals:
    """Approvals that outlive their question."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self.clock = clock
        self._path = path

    def covers(self, calls: Iterable[str], trust: Provenance) -> bool:
        """Return true if a valid "always" covers one of these calls at this trust."""
        wanted = {*calls}
        return any(one.call in wanted and one.trust <= trust for one in self._every())

    def knows(self, tool: str, arguments: str) -> bool:
        """Return true if an "always" exists for these words, whatever they meant then."""
        return any((one.tool, one.arguments) == (tool, arguments) for one in self._every())

    def add(self, standing: StandingApproval) -> None:
        from tinydb import where  # noqa: PLC0415 - only where a question came up

        with changing(self._path) as documents:
            documents.upsert(msgspec.to_builtins(standing), where("call") == standing.call)

    def every(self) -> list[StandingApproval]:
        """Return all valid approvals, those that end first at the top."""
        return sorted(self._every(), key=lambda one: (one.until_s, one.call))

    def revoke(self, calls: Iterable[str]) -> None:
        """Revoke the approvals of these calls."""
        from tinydb import where  # noqa: PLC0415 - as above

        with changing(self._path) as documents:
            documents.remove(where("call").one_of(list(calls)))

    def end_s(self) -> float:
        """Return the end of an approval that is given now."""
        return self.clock.wall_s() + STANDING_APPROVAL_S

    def _every(self) -> Iterator[StandingApproval]:
        now_s = self.clock.wall_s()
        for document in self._documents().all():
            with contextlib.suppress(msgspec.ValidationError):
                one = msgspec.convert(document, StandingApproval)
                # A clock that was set back gives no "always" a longer life
                if now_s < one.until_s <= now_s + STANDING_APPROVAL_S:
                    yield one

    def _documents(self) -> "TinyDB":
        # Anew each time: somebody may have taken one out of the file meanwhile
        return open_documents(self._path)


def span() -> str:
    """Return the length of an "always" in words."""
    return f"{STANDING_APPROVAL_S / _DAY_S:.0f} days"
