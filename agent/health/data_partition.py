"""Start without the data partition: the image skips it after several early ends.

Then nothing of before is here but the settings, the credentials and the people.
"""

from pathlib import Path

from agent.text.printable import printable_line

# Written by the initial RAM disk of the image: the reason in a few words
ASIDE = Path("/run/barnacle-aside")
_MAX_CHARS = 200


def why_unused(path: Path = ASIDE) -> str:
    """Return the reason for leaving the data partition alone; empty where it is in use."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return (
                printable_line(file.read(_MAX_CHARS), _MAX_CHARS).strip() or "no reason is recorded"
            )
    except OSError:
        return ""


def unused_text(why: str) -> str:
    """Return the sentences for the owner."""
    return (
        f"I started without the data partition: {why}. I know you and my settings, "
        "but no memories and no jobs. I only talk, use no tools, and forget this "
        "conversation at the next start. In a quarter of an hour I restart normally; "
        "after that, `barnacle doctor` and the log say more."
    )


def unkept_text(why: str) -> str:
    """Return the refusal of what would be gone with the next start."""
    return (
        f"the data partition is not in use in this start ({why}), and nothing can be stored: try "
        "again after the next start, which comes by itself in a quarter of an hour"
    )
