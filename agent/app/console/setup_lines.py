"""Lines between the agent and the program that asks the questions of a first start: JSON, typed.

From the program come `SetupLine`s; to it go the surroundings, once, and then answers as strings.
"""

import enum
import tomllib
from pathlib import Path

import msgspec

# What is asked, or an answer: the longest is a key
MAX_LINE_BYTES = 64 * 1024
# Root's end of the way, on a card alone
SOCKET = Path("/run/barnacle-first-start.sock")
# Tables that say that somebody has been asked already
_ANSWERED = ("provider", "channels")


class SetupEnd(enum.Enum):
    """End of the questions."""

    # Everything is written
    KEPT = "kept"
    # Nothing was changed, as was wished
    LEFT = "left"
    # Nothing was changed; what was said last is why
    REFUSED = "refused"


class SetupLine(msgspec.Struct, frozen=True, omit_defaults=True):
    """One thing said or asked, or the end.

    Args:
        usual: what an empty answer stands for.
        is_choice: the answer is y or n.
        is_last: a yes writes everything; `about` names the tables.
    """

    said: str = ""
    asked: str = ""
    usual: str = ""
    is_secret: bool = False
    is_choice: bool = False
    is_last: bool = False
    about: tuple[str, ...] = ()
    ended: SetupEnd | None = None


def is_first(config: Path | None) -> bool:
    """Return true if nobody has said yet which service and platforms there are; reads the file."""
    if config is None:
        return True
    try:
        table = tomllib.loads(config.read_text("utf-8-sig"))
    except FileNotFoundError:
        return True
    except (OSError, ValueError):
        # Somebody has, and made a mistake
        return False
    return not any(name in table for name in _ANSWERED)
