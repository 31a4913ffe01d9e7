"""Which tools of servers the owner has approved, each as it was then; kept for people to read."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from agent.storage.documents import open_documents
from agent.tools.mcp.offer import Offer

if TYPE_CHECKING:
    from tinydb import TinyDB


@dataclass(frozen=True, slots=True)
class Pin:
    """A tool as the owner has read it; `is_held` says that its server has changed it since."""

    offer: Offer
    is_held: bool = False


class Pins:
    """The approved tools; looked up anew whenever the file is another one."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: tuple[object, ...] = ()
        self._pins: tuple[Pin, ...] = ()

    def every(self) -> tuple[Pin, ...]:
        """The same objects for as long as nothing was changed."""
        try:
            found = self._path.stat()
        except OSError:
            self._seen, self._pins = (), ()
            return ()
        seen = (found.st_ino, found.st_mtime_ns, found.st_size)
        if seen != self._seen:
            documents = self._documents().all()
            self._seen, self._pins = seen, tuple(map(_pin, documents))
        return self._pins

    def of(self, server: str) -> dict[str, Pin]:
        """Of one server, by the names it has for them."""
        return {pin.offer.tool: pin for pin in self.every() if pin.offer.server == server}

    def approve(self, offers: Sequence[Offer]) -> None:
        """What was approved before under the same name no longer counts."""
        for offer in offers:
            self._forget(offer.server, offer.tool)
            self._documents().insert(_document(offer))

    def hold(self, pins: Sequence[Pin]) -> None:
        """Keep these from being used until the owner agrees again."""
        from tinydb import where  # noqa: PLC0415 - only where something changes

        for pin in pins:
            is_meant = (where("server") == pin.offer.server) & (where("tool") == pin.offer.tool)
            self._documents().update({"held": True}, is_meant)

    def revoke(self, server: str, tool: str = "") -> int:
        """How many were approved: of one tool, or of the whole server."""
        return self._forget(server, tool) if self._path.exists() else 0

    def _forget(self, server: str, tool: str) -> int:
        from tinydb import where  # noqa: PLC0415 - only where the owner decides

        is_meant = where("server") == server
        if tool:
            is_meant &= where("tool") == tool
        return len(self._documents().remove(is_meant))

    def _documents(self) -> "TinyDB":
        return open_documents(self._path)


def _document(offer: Offer) -> dict[str, object]:
    return {
        "server": offer.server,
        "tool": offer.tool,
        "name": offer.name,
        "description": offer.description,
        "schema": json.dumps(offer.schema, ensure_ascii=False),
        "digest": offer.digest,
        "held": False,
    }


def _pin(document: dict[str, object]) -> Pin:
    told = {key: str(document[key]) for key in ("server", "tool", "name", "description", "digest")}
    offer = Offer(**told, schema=json.loads(str(document["schema"])))
    return Pin(offer, bool(document["held"]))
