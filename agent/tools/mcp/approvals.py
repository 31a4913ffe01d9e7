"""Store of the approved tools of servers, each as it was approved; readable by people."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from agent.storage.documents import changing, open_documents
from agent.tools.mcp.offer import ToolOffer

if TYPE_CHECKING:
    from tinydb import TinyDB


class ApprovedTool(Struct, frozen=True):
    """An approved tool; `is_held` means that its server has changed it since."""

    offer: ToolOffer
    is_held: bool = False


class _Kept(Struct, frozen=True):
    """A document as it is written."""

    server: str
    tool: str
    name: str
    description: str
    schema: str
    digest: str
    held: bool
    # Earlier versions did not keep it
    repeats: bool = False


class ApprovedTools:
    """Approved tools; read again when the file changes."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: tuple[object, ...] = ()
        self._pins: tuple[ApprovedTool, ...] = ()

    def every(self) -> tuple[ApprovedTool, ...]:
        """Return all pins; the same objects until something changes."""
        try:
            found = self._path.stat()
        except OSError:
            self._seen, self._pins = (), ()
            return ()
        seen = (found.st_ino, found.st_mtime_ns, found.st_size)
        if seen != self._seen:
            found_pins = map(_pin, self._documents().all())
            self._seen, self._pins = seen, tuple(pin for pin in found_pins if pin is not None)
        return self._pins

    def of(self, server: str) -> dict[str, ApprovedTool]:
        """Return the pins of one server by the server's tool names."""
        return {pin.offer.tool: pin for pin in self.every() if pin.offer.server == server}

    def approve(self, offers: Sequence[ToolOffer]) -> None:
        """Approve tools; an earlier approval of the same name ends."""
        with changing(self._path) as documents:
            for offer in offers:
                _forget(documents, offer.server, offer.tool)
                documents.insert(_document(offer))

    def hold(self, pins: Sequence[ApprovedTool]) -> None:
        """Keep these tools unused until the owner approves them again."""
        from tinydb import where  # noqa: PLC0415 - only where something changes

        with changing(self._path) as documents:
            for pin in pins:
                is_meant = (where("server") == pin.offer.server) & (where("tool") == pin.offer.tool)
                documents.update({"held": True}, is_meant)

    def revoke(self, server: str, tool: str = "") -> int:
        """Revoke one tool or the whole server; return how many approvals ended."""
        if not self._path.exists():
            return 0
        with changing(self._path) as documents:
            return _forget(documents, server, tool)

    def _documents(self) -> "TinyDB":
        return open_documents(self._path)


def _forget(documents: "TinyDB", server: str, tool: str) -> int:
    from tinydb import where  # noqa: PLC0415 - only where the owner decides

    is_meant = where("server") == server
    if tool:
        is_meant &= where("tool") == tool
    return len(documents.remove(is_meant))


def _document(offer: ToolOffer) -> dict[str, object]:
    return {
        "server": offer.server,
        "tool": offer.tool,
        "name": offer.name,
        "description": offer.description,
        "schema": json.dumps(offer.schema, ensure_ascii=False),
        "digest": offer.digest,
        "held": False,
        "repeats": offer.repeats,
    }


def _pin(document: Mapping[str, object]) -> ApprovedTool | None:
    """Return the pin; None where a slip of whoever has edited the file approves nothing."""
    try:
        kept = msgspec.convert(document, _Kept)
        schema = msgspec.json.decode(kept.schema, type=dict[str, object])
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None
    # As every offer has them, and every call looks at them
    fields = schema.get("properties")
    if not isinstance(fields, dict) or not all(isinstance(one, dict) for one in fields.values()):
        return None
    about = (kept.server, kept.tool, kept.name, kept.description, schema, kept.digest)
    offer = ToolOffer(*about, repeats=kept.repeats)
    return ApprovedTool(offer, kept.held)
