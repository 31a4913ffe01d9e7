import io
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.tools.picture_header import MAX_SEGMENTS, NoPicture, PictureHeader, header_of
from tests.fakes.picture_programs import JPEG, png

GIF = b"GIF89a" + struct.pack("<HH", 320, 200) + b"\0" * 8
BMP = b"BM" + b"\0" * 12 + struct.pack("<Iii", 40, 640, -480)
BMP_OS2 = b"BM" + b"\0" * 12 + struct.pack("<IHH", 12, 64, 48)
WEBP = b"RIFF\0\0\0\0WEBP"
LOSSY = WEBP + b"VP8 \0\0\0\0\0\0\0\x9d\x01\x2a" + struct.pack("<HH", 0x4000 | 100, 50)
LOSSLESS = WEBP + b"VP8L\0\0\0\0\x2f" + struct.pack("<I", 99 | 49 << 14)
EXTENDED = WEBP + b"VP8X" + b"\0" * 8 + (99).to_bytes(3, "little") + (49).to_bytes(3, "little")


def told(content: bytes) -> PictureHeader:
    return header_of(io.BytesIO(content))


def refused(content: bytes) -> str:
    with pytest.raises(NoPicture) as caught:
        told(content)
    return str(caught.value)


@pytest.mark.parametrize(
    ("content", "header"),
    [
        (png(4000, 3000), PictureHeader("png", 4000, 3000)),
        (JPEG, PictureHeader("jpeg", 1280, 960)),
        (GIF, PictureHeader("gif", 320, 200)),
        (BMP, PictureHeader("bmp", 640, 480)),
        (BMP_OS2, PictureHeader("bmp", 64, 48)),
        (LOSSY, PictureHeader("webp", 100, 50)),
        (LOSSLESS, PictureHeader("webp", 100, 50)),
        (EXTENDED, PictureHeader("webp", 100, 50)),
    ],
)
def test_format_and_size_are_in_the_header(content: bytes, header: PictureHeader) -> None:
    assert told(content) == header


def test_a_size_behind_long_segments_is_found() -> None:
    segment = b"\xff\xe1\xff\xff" + b"\xff\xc0" * 32766 + b"\0"
    assert told(JPEG[:2] + segment * 3 + b"\xff\xff" + JPEG[2:]) == PictureHeader("jpeg", 1280, 960)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "not a PNG"),
        (b"<svg width='5'/>", "not a PNG"),
        (png(100_000, 100_000), "10000 x|100000 x 100000 pixels"),
        (png(0, 5), "no size"),
        (BMP.replace(struct.pack("<i", 640), struct.pack("<i", -5)), "no size"),
        (GIF[:7], "ends too early"),
        (JPEG[:12], "ends too early"),
        (b"\xff\xd8\xff\xda" + b"\0" * 64, "it has no size"),
        (b"\xff\xd8\xff\xe0\0\x02nothing", "does not begin"),
        (b"\xff\xd8" + b"\xff" * 200, "too many fill bytes"),
        (b"\xff\xd8" + b"\xff\xe0\0\0" * (MAX_SEGMENTS + 1) + JPEG[2:], "it has no size"),
        (WEBP + b"VP9 " + b"\0" * 20, "an unknown form"),
    ],
)
def test_what_is_damaged_or_a_bomb_is_refused_in_words(content: bytes, why: str) -> None:
    assert any(one in refused(content) for one in why.split("|"))


@given(
    st.sampled_from([png(9, 9), JPEG, GIF, BMP, LOSSY, LOSSLESS, EXTENDED]),
    st.integers(0, 40),
    st.binary(max_size=60),
)
def test_whatever_is_in_it_there_is_a_size_or_a_sentence(
    start: bytes, kept: int, rest: bytes
) -> None:
    try:
        header = told(start[:kept] + rest)
    except NoPicture as err:
        assert str(err).isprintable()  # noqa: PT017 - a size is fine too
    else:
        assert header.width > 0
