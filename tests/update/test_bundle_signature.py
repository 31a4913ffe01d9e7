"""Whose updates are believed."""

from pathlib import Path

import pytest

from agent.errors import UpdateRefused
from agent.update.bundle import check_signature
from image.lib import bundle
from tests.fakes.card import make_key


@pytest.fixture
def keys(tmp_path: Path, key: Path) -> Path:
    folder = tmp_path / "update-keys"
    folder.mkdir()
    (folder / "a.pem").write_bytes(bundle.public_part(make_key(tmp_path / "another.pem")))
    (folder / "b.pem").write_bytes(bundle.public_part(key))
    return folder


def test_any_of_the_keys_will_do(keys: Path, key: Path) -> None:
    check_signature(b"content", bundle.sign(b"content", key), keys)


@pytest.mark.parametrize("at", [0, 31, 32, 63])
def test_a_signature_with_another_bit_is_none(keys: Path, key: Path, at: int) -> None:
    signature = bytearray(bundle.sign(b"content", key))
    signature[at] ^= 1
    with pytest.raises(UpdateRefused, match="not signed"):
        check_signature(b"content", bytes(signature), keys)


def test_the_signature_of_something_else_is_none(keys: Path, key: Path) -> None:
    with pytest.raises(UpdateRefused, match="not signed"):
        check_signature(b"content!", bundle.sign(b"content", key), keys)


def test_a_key_that_is_damaged_verifies_nothing(keys: Path, key: Path) -> None:
    (keys / "b.pem").write_text("-----BEGIN PUBLIC KEY-----\n")
    with pytest.raises(UpdateRefused, match="not signed"):
        check_signature(b"content", bundle.sign(b"content", key), keys)


def test_without_openssl_nothing_is_believed(
    keys: Path, key: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    signature = bundle.sign(b"content", key)
    monkeypatch.setenv("PATH", str(keys))
    with pytest.raises(UpdateRefused, match="openssl is not installed"):
        check_signature(b"content", signature, keys)
