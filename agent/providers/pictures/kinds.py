"""Picture formats that models take, recognised by their first bytes: names can lie."""

import base64

from agent.messages import Image

KINDS = "PNG, JPEG, WebP or GIF"
_BEGINNINGS = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)
# A WebP has its length between the two
_RIFF, _WEBP, _WEBP_AT = b"RIFF", b"WEBP", 8


def image_of(content: bytes, max_bytes: int) -> Image | str:
    """Return the picture, or why it is none; slow for a large one."""
    if len(content) > max_bytes:
        return f"it is larger than {max_bytes // 1024 // 1024} MB"
    kind = _kind_of(content)
    if kind is None:
        return f"it is not a {KINDS} picture"
    return Image(kind, base64.b64encode(content).decode())


def _kind_of(content: bytes) -> str | None:
    if content.startswith(_RIFF) and content[_WEBP_AT:].startswith(_WEBP):
        return "image/webp"
    return next((kind for begun, kind in _BEGINNINGS if content.startswith(begun)), None)
