"""Marks of files in a person's message, which the agent wrote there and no person said."""

import re

# As the agent writes them behind what a person said
_MARKER = re.compile(
    r"(?:^|\n\n)(?:\[(?:IMAGE|AUDIO|VIDEO|DOCUMENT):([^\[\]\n]+)\]|\[picture:? ([^\[\]\n]+)\]"
    r"|\(The person is told this already)"
)


def separated(text: str) -> tuple[str, tuple[str, ...]]:
    """Return what the person said, and the places of the files that they sent with it."""
    first = _MARKER.search(text)
    if first is None:
        return text, ()
    found = [one[1] for one in _MARKER.finditer(text) if one[1]]
    return text[: first.start()].strip(), tuple(found)
