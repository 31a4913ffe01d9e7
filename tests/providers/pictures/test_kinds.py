import base64

import pytest

from agent.messages import Image
from agent.providers.pictures.kinds import image_of

PNG = b"\x89PNG\r\n\x1a\n and more"


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (PNG, "image/png"),
        (b"\xff\xd8\xff\xe0 and more", "image/jpeg"),
        (b"GIF89a and more", "image/gif"),
        (b"GIF87a and more", "image/gif"),
        (b"RIFF\x10\x00\x00\x00WEBPVP8 ", "image/webp"),
    ],
)
def test_a_picture_is_known_by_how_it_begins(content: bytes, kind: str) -> None:
    found = image_of(content, 1000)
    assert found == Image(kind, base64.b64encode(content).decode())


@pytest.mark.parametrize(
    "content", [b"", b"GIF", b"<svg/>", b"RIFF\x10\x00\x00\x00WAVE", b"root:x:0:0", b" \x89PNG"]
)
def test_anything_else_is_none(content: bytes) -> None:
    assert image_of(content, 1000) == "it is not a PNG, JPEG, WebP or GIF picture"


def test_one_that_is_too_large_is_not_sent() -> None:
    assert image_of(PNG.ljust(1024 * 1024 + 1), 1024 * 1024) == "it is larger than 1 MB"
