"""The header of an update: whatever comes, it is understood or refused, and never held whole."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import UpdateRefused
from agent.update.bundle import (
    MAGIC,
    MAX_MANIFEST_BYTES,
    SIGNATURE_BYTES,
    Stream,
    manifest_of,
    order,
    read_header,
)
from tests.fakes.card import in_pieces

PART = {"size_bytes": 1, "sha256": "0" * 64}
NAMES = ("vmlinuz", "initrd.img", "cmdline.txt", "system")
GOOD: dict[str, Any] = {
    "version": "0.2.0",
    "built_s": 1,
    "architecture": "arm64",
    "needs": "0.1.0",
    "parts": [{"name": name} | PART for name in NAMES],
}


def header(signed: bytes, signature: bytes = b"s" * SIGNATURE_BYTES) -> bytes:
    return MAGIC + len(signed).to_bytes(4, "big") + signature + signed


@given(st.binary(max_size=300), st.integers(1, 50))
def test_a_header_is_read_however_it_is_cut(signed: bytes, piece_bytes: int) -> None:
    async def read() -> tuple[tuple[bytes, bytes], bytes]:
        stream = Stream(in_pieces(header(signed) + b"rest", piece_bytes))
        return await read_header(stream), await stream.exactly(4)

    assert asyncio.run(read()) == ((MAGIC + signed, b"s" * SIGNATURE_BYTES), b"rest")


@given(st.binary(max_size=200), st.booleans())
def test_anything_else_is_refused_and_nothing_worse(content: bytes, is_after_magic: bool) -> None:  # noqa: FBT001 - hypothesis gives it
    given_bytes = MAGIC + content if is_after_magic else content

    async def read() -> bytes:
        return (await read_header(Stream(in_pieces(given_bytes, 64))))[0]

    try:
        signed = asyncio.run(read())
    except UpdateRefused:
        return
    assert signed.startswith(MAGIC)


async def test_a_list_that_is_too_long_is_refused_before_it_is_read() -> None:
    async def endless() -> AsyncIterator[bytes]:
        yield MAGIC + (MAX_MANIFEST_BYTES + 1).to_bytes(4, "big")
        raise AssertionError("asked for more")

    with pytest.raises(UpdateRefused, match="too long"):
        await read_header(Stream(endless()))


def test_a_good_list_is_understood_also_with_fields_of_later_versions() -> None:
    manifest = manifest_of(MAGIC + msgspec.json.encode(GOOD | {"colour": "blue"}))
    assert [part.name for part in manifest.boot_files] == [*NAMES[:-1]]
    assert manifest.size_bytes == 4


@pytest.mark.parametrize(
    "change",
    [
        {"version": "1.0-rc1"},
        {"version": "1." + "9" * 5000},
        {"built_s": "now"},
        {"needs": ""},
        {"parts": GOOD["parts"][:-1]},
        {"parts": [*GOOD["parts"], {"name": "system"} | PART]},
        {"parts": [{"name": "../../config.txt"} | PART]},
        {"parts": [{"name": "VMLINUZ"} | PART]},
        {"parts": [{"name": "x"} | PART | {"size_bytes": -1}]},
        {"parts": [{"name": "x"} | PART | {"size_bytes": 2**60}]},
        {"parts": [{"name": "x"} | PART | {"sha256": "0"}]},
        {"parts": [{"name": f"x{number}"} | PART for number in range(100)]},
    ],
)
def test_a_list_that_cannot_be_is_refused_even_though_it_is_signed(
    change: dict[str, object],
) -> None:
    with pytest.raises(UpdateRefused, match="list of parts"):
        manifest_of(MAGIC + msgspec.json.encode(GOOD | change))


@pytest.mark.parametrize("content", [b"", b"null", b"\xff\xfe", b"[" * 5000])
def test_what_is_no_list_is_refused(content: bytes) -> None:
    with pytest.raises(UpdateRefused, match="cannot read"):
        manifest_of(MAGIC + content)


@given(st.lists(st.integers(0, 999), min_size=2, max_size=4))
def test_zeros_at_the_end_make_no_other_version(numbers: list[int]) -> None:
    text = ".".join(map(str, numbers))
    assert order(text, 1) == order(f"{text}.0", 1) < order(text, 2)


@pytest.mark.parametrize(
    "change",
    [
        {"version": "0.2.0\n"},
        {"needs": "0.1.0\n"},
        {"parts": [{"name": f"{name}\n"} | PART for name in NAMES]},
        {"parts": [{"name": name} | PART | {"sha256": f"{'0' * 64}\n"} for name in NAMES]},
        {"parts": [*GOOD["parts"], {"name": "vmlinuz\n"} | PART]},
    ],
    ids=["version", "needs", "names", "hashes", "one more"],
)
def test_a_line_end_behind_a_name_is_refused(change: dict[str, Any]) -> None:
    """A slot with a kernel of such a name does not start, whoever has signed it."""
    with pytest.raises(UpdateRefused):
        manifest_of(MAGIC + msgspec.json.encode(GOOD | change))
