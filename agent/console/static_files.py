"""Files that every page needs: read once, compressed once, sent by name.

A name is a key of a table, never a path: there is nothing to climb out of.
"""

import gzip
import hashlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from msgspec import Struct
from starlette.responses import Response

from agent.console.guards import RequestHead

_FOLDER = Path(__file__).with_name("static")
_VENDOR = _FOLDER / "vendor"
_YEAR_S = 365 * 86_400
# What is sent under each name, in this order: one request where several files belong together
_PARTS: Mapping[str, tuple[Path, ...]] = {
    "console.css": (_FOLDER / "console.css",),
    "console.js": (_VENDOR / "htmx.min.js", _FOLDER / "console.js"),
    "plot.css": (_VENDOR / "uPlot.min.css",),
    "plot.js": (_VENDOR / "uPlot.iife.min.js", _FOLDER / "plot.js"),
    "icon.svg": (_FOLDER / "icon.svg",),
}
_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


class StaticFile(Struct, frozen=True):
    """A file as it is sent; `tag` changes with its content."""

    media_type: str
    tag: str
    packed: bytes

    @property
    def plain(self) -> bytes:
        return gzip.decompress(self.packed)


@cache
def static_file(name: str) -> StaticFile | None:
    """Return the file of that name; None if there is none."""
    parts = _PARTS.get(name)
    if parts is None:
        return None
    content = b"\n".join(part.read_bytes() for part in parts)
    tag = hashlib.sha256(content).hexdigest()[:12]
    packed = gzip.compress(content, 9, mtime=0)
    return StaticFile(_TYPES[Path(name).suffix], tag, packed)


def address(name: str) -> str:
    """Return the address of a file, which is another one when it has changed."""
    found = static_file(name)
    assert found is not None, name
    return f"/static/{name}?v={found.tag}"


def static_response(head: RequestHead, name: str) -> Response:
    """Return the file of that name as an answer, compressed where the browser takes it so."""
    found = static_file(name)
    if found is None or head.method == "POST":
        return Response("404", 404, media_type="text/plain")
    is_packed = "gzip" in (head.one(b"accept-encoding") or "")
    response = Response(found.packed if is_packed else found.plain)
    response.headers["content-type"] = found.media_type
    response.headers["vary"] = "accept-encoding"
    if is_packed:
        response.headers["content-encoding"] = "gzip"
    response.headers["cache-control"] = f"public, max-age={_YEAR_S}, immutable"
    return response
