"""Texts about a restore for the owner."""

import time
from collections.abc import Sequence

from agent.backup.aftermath import RestoreNote

# A screen of a telephone or two; the rest is counted
_MOST_LINES = 20


def day_time(at_s: float) -> str:
    """Return a local time for a person."""
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(at_s))


def restore_text(note: RestoreNote, approvals: Sequence[str]) -> str:
    """Return the one message about a restore."""
    made = day_time(note.made_at_s)
    parts = [f"I was restored from the backup of {note.device} of {made}."]
    if note.closed:
        parts.append(f"These {len(note.closed)} things were open then and are not repeated:")
        parts.append(_listed(note.closed))
    else:
        parts.append("Nothing was open then.")
    if approvals:
        parts.append(
            f"These {len(approvals)} approvals of then have no effect until you confirm them "
            "(`barnacle backup confirm`, or my question):"
        )
        parts.append(_listed(approvals))
    if note.people:
        parts.append("These people have access again; `barnacle revoke NAME` ends it:")
        parts.append(_listed(note.people))
    parts += [f"Not restored: {sentence}" for sentence in note.left]
    if note.kept:
        parts.append(f"What was on this device before is in {note.kept}.")
    parts.append(
        f"This is restore {note.epoch}. Do not run the old card beside me: both would answer."
    )
    return "\n".join(parts)


def _listed(lines: Sequence[str]) -> str:
    shown = [f"- {line}" for line in lines[:_MOST_LINES]]
    if (more := len(lines) - _MOST_LINES) > 0:
        shown.append(f"- and {more} more")
    return "\n".join(shown)
