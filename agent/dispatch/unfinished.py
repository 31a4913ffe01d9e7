"""Certain part of a text that still grows: what may become a leaving is held back.

What `leavings` takes out of a whole text is never shown of a part of it. What was held back for
nothing is shown a few words later.
"""

_NOTES = ("[used tool", "[tool call", "[tool result", "[tool use")


def certain(text: str) -> int:
    """Return how many of its characters nothing that follows can take away."""
    line = text.rfind("\n") + 1
    begun = text[line:].lstrip(" \t")[: max(map(len, _NOTES))].lower()
    may_be_note = bool(begun) and any(
        begun.startswith(note) or note.startswith(begun) for note in _NOTES
    )
    return line if may_be_note else len(text)
