"""Owners of workspace files and other data: the device's owner, except for what is shared.

A folder belongs to whom the table says, with everything beneath it; the longest folder that fits
decides. A search through a folder shows all that is beneath it, so its strictest part decides.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from agent.security.access import Circle, Holding
from agent.security.paths import HERE
from agent.security.received import RECEIVED, owner_of

_CIRCLES = {"household": Circle.HOUSEHOLD, "everybody": Circle.EVERYBODY}
# The workspace itself, for people
_WHOLE = "the workspace"


class Disclosure(Struct, frozen=True):
    """Data that a call of a tool shows.

    Args:
        files: by their paths in the workspace.
        trees: folders of the workspace with all that is beneath them.
        others: what is no file.
        readings: values of sensors and pins.
        of_asker: what is the asking person's own.
        taints: private data may come back, though the call by itself shows nobody else's.
        rehearses: what readings of the past say may come back, but only to whom they may be shown.
    """

    files: tuple[str, ...] = ()
    trees: tuple[str, ...] = ()
    others: tuple[Holding, ...] = ()
    readings: bool = False
    of_asker: str = ""
    taints: bool = False
    rehearses: bool = False


# Nothing but what everybody may know, such as the time, or what the asker said themselves
NOTHING_PRIVATE = Disclosure()
# Passed on by something that is asked about by itself
PASSED_ON = Disclosure(taints=True)
READINGS = Disclosure(readings=True)
REHEARSED = Disclosure(rehearses=True)


def owners(what: str) -> Disclosure:
    """Return the disclosure of owner data that is no file."""
    return Disclosure(others=(Holding(what),))


def households(what: str) -> Disclosure:
    return Disclosure(others=(Holding(what, Circle.HOUSEHOLD, ""),))


class Shares(Struct, frozen=True):
    """Sharing rules of the owner.

    Args:
        folders: each with "household", "everybody", or the name of a person.
        readings: for whom values of sensors and pins are.
    """

    folders: Mapping[str, str] = field(default_factory=dict)
    readings: Circle = Circle.EVERYBODY

    def holdings(self, shown: Disclosure, person: str) -> Sequence[Holding]:
        """Return each part of the data with its owner, for a turn of this person."""
        held = [self.of_file(path) for path in shown.files]
        held += [self.of_tree(folder) for folder in shown.trees]
        held += shown.others
        if shown.readings:
            held.append(Holding("readings", self.readings))
        if shown.of_asker:
            held.append(Holding(shown.of_asker, Circle.PERSON, person))
        return held

    def holds_private(self, shown: Disclosure, person: str) -> bool:
        """Return true if something that is not everybody's may come back."""
        told = replace(shown, readings=shown.readings or shown.rehearses)
        return shown.taints or is_private(self.holdings(told, person))

    def of_file(self, path: str) -> Holding:
        above = max((one for one in self.folders if _is_beneath(path, one)), key=len, default="")
        sent_by = owner_of(path)
        if sent_by and len(above) < len(f"{RECEIVED}/{sent_by}"):
            # Whoever sent a file has it, unless the owner says more of this very folder
            return Holding(path, person=sent_by, by_folder=True)
        return self._holding(path, above or None)

    def of_tree(self, folder: str) -> Holding:
        """Return the strictest share of the folder and of everything beneath it."""
        here = self.of_file(folder)
        within = [
            self._holding(inner, inner)
            for inner in self.folders
            if inner != folder and _is_beneath(inner, folder)
        ]
        strictest = min([here, *within], key=lambda one: one.circle)
        return replace(strictest, what=_WHOLE if folder == HERE else folder)

    def _holding(self, path: str, folder: str | None) -> Holding:
        if folder is None:
            return Holding(path)
        whose = self.folders[folder]
        circle = _CIRCLES.get(whose)
        return Holding(path, circle, "") if circle is not None else Holding(path, person=whose)


NOTHING_SHARED = Shares()


def is_private(holdings: Sequence[Holding]) -> bool:
    return any(one.circle is not Circle.EVERYBODY for one in holdings)


def _is_beneath(path: str, folder: str) -> bool:
    return folder in {HERE, path} or path.startswith(f"{folder}/")
