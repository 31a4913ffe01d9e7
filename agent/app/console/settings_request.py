"""Request for a change of the configuration, and its answer, as one JSON object each.

They go between the agent and the program that writes the file.
"""

import enum
import hashlib
from typing import Annotated

import msgspec

from agent.config import MAX_CONFIG_BYTES, MAX_TEXT_CHARS

# A form of the longest section, or a diff of the whole file
MAX_BYTES = 4 * MAX_CONFIG_BYTES

_Name = Annotated[str, msgspec.Meta(max_length=100)]
_Typed = Annotated[str, msgspec.Meta(max_length=MAX_CONFIG_BYTES)]


class ChangeVerdict(enum.Enum):
    """Verdict on a change."""

    # Nothing would be another
    UNCHANGED = "unchanged"
    # It is wrong; the problems say where
    REFUSED = "refused"
    # The file is not the one that was shown
    CHANGED_MEANWHILE = "changed_meanwhile"
    # It could be written as the diff shows
    PLANNED = "planned"
    # It opens something, and the word for it was not typed
    CONFIRM = "confirm"
    # It is written
    TAKEN = "taken"


class Opening(enum.Enum):
    """Opening that a change may make, and that is asked about once more."""

    # Somebody else may reach the device: an address to listen at, a platform, a browser
    WAYS_IN = "ways_in"
    # Programs and code that run on the machine
    PROGRAMS = "programs"
    # Acts without a question
    LIMITS = "limits"
    # Pins of this machine that do more, for longer or unasked
    PINS = "pins"
    # Places that it reaches, or sends keys and words to
    REACH = "reach"
    # Files, tools and readings for more than the owner
    SHARED = "shared"
    # Readers of the backups
    BACKUPS = "backups"


class SettingsRequest(msgspec.Struct, frozen=True):
    """Values of one section, as they were typed.

    Args:
        seen: hash of the file that the form was made from.
        values: by their keys; a key that is missing stays as it is.
        dropped: secrets that are taken away.
        is_removed: the whole section goes.
        is_final: write it; otherwise only say what would become of it.
        confirmed: the word that was typed for a change that opens something.
    """

    where: tuple[_Name, ...]
    seen: _Name
    values: dict[_Name, _Typed]
    dropped: tuple[_Name, ...] = ()
    is_removed: bool = False
    is_final: bool = False
    confirmed: Annotated[str, msgspec.Meta(max_length=MAX_TEXT_CHARS)] = ""


class SettingsErrand(msgspec.Struct, frozen=True):
    """Request for the program, with what the agent was told of secrets by its environment.

    A program's own environment can be read by other programs of its user.
    """

    request: SettingsRequest
    environ: dict[str, str]


class SettingsProblem(msgspec.Struct, frozen=True):
    """Sentence about one key of the section; about the whole file if the key is empty."""

    key: str
    text: str


class SettingsAnswer(msgspec.Struct, frozen=True):
    """Answer to a request.

    Args:
        diff: lines of the file that change, secrets hidden.
        secrets: keys of those that get another value.
        openings: each is asked about once more.
    """

    verdict: ChangeVerdict
    problems: tuple[SettingsProblem, ...] = ()
    diff: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    openings: tuple[Opening, ...] = ()


def hash_of(content: bytes) -> str:
    """Return the hash by which a file is known to be the one that was shown."""
    return hashlib.sha256(content).hexdigest()
