"""A start without the data partition: the image leaves it alone where starts have ended early.

Then nothing of before is here but the settings, the credentials and the people.
"""

from pathlib import Path

from agent.printable import printable_line

# Written by the initial RAM disk of the image: the reason in a few words
ASIDE = Path("/run/barnacle-aside")
_MAX_CHARS = 200


def why_aside(path: Path = ASIDE) -> str:
    """Return the reason for leaving the data partition alone; empty where it is in use."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return printable_line(file.read(_MAX_CHARS), _MAX_CHARS).strip() or "nobody says why"
    except OSError:
        return ""


def aside_text(why: str) -> str:
    """Return the sentences for the owner."""
    return (
        f"I started without the data partition: {why}. I know you and my settings, but no memories "
        "and no jobs. I only talk, use no tools, and forget this when I start again. In a quarter "
        "of an hour I start as ever; `barnacle doctor` and the log then say more."
    )
