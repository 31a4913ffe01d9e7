import io
import os
from pathlib import Path

import pytest

from agent.backup.encryption import Keys, Recipients, decrypt, encrypt, identities_of, make_key
from agent.errors import BackupRefused, StorageFull
from tests.fakes.age_tool import decrypt_with_key, encrypt_to_key, needs_age

CONTENT = os.urandom(200_000)
_, PUBLIC = make_key()


def encrypted(content: bytes, public: str) -> bytes:
    out = io.BytesIO()
    encrypt(io.BytesIO(content).read, out.write, Recipients(keys=(public,)))
    return out.getvalue()


def decrypted(content: bytes, keys: Keys) -> bytes:
    out = io.BytesIO()
    decrypt(io.BytesIO(content).read, out.write, keys)
    return out.getvalue()


def test_what_was_encrypted_to_a_key_comes_back() -> None:
    secret, public = make_key()
    assert decrypted(encrypted(CONTENT, public), Keys(identities=(secret,))) == CONTENT


def test_another_key_does_not_open_it() -> None:
    with pytest.raises(BackupRefused, match="for another one"):
        decrypted(encrypted(CONTENT, make_key()[1]), Keys(identities=(make_key()[0],)))


@pytest.mark.parametrize("place", [-1, -100_000])
def test_a_changed_byte_is_refused(place: int) -> None:
    secret, public = make_key()
    content = bytearray(encrypted(CONTENT, public))
    content[place] ^= 1
    with pytest.raises(BackupRefused, match="was changed"):
        decrypted(bytes(content), Keys(identities=(secret,)))


def test_a_cut_file_is_refused() -> None:
    secret, public = make_key()
    with pytest.raises(BackupRefused, match="too early"):
        decrypted(encrypted(CONTENT, public)[:-5], Keys(identities=(secret,)))


def test_the_missing_sort_of_secret_is_named() -> None:
    to_key, to_words = encrypted(b"x", make_key()[1]), io.BytesIO()
    encrypt(io.BytesIO(b"x").read, to_words.write, Recipients("a long passphrase"))
    with pytest.raises(BackupRefused, match="give the file of the secret key"):
        decrypted(to_key, Keys("a passphrase"))
    with pytest.raises(BackupRefused, match="encrypted to a passphrase"):
        decrypted(to_words.getvalue(), Keys(identities=(make_key()[0],)))


def test_something_else_is_no_backup() -> None:
    with pytest.raises(BackupRefused, match="it is no backup"):
        decrypted(b"PK\x03\x04" * 100, Keys("x"))


class FilledDisk:
    """A disk that takes so many pieces, and then no more."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.taken = 0

    def write(self, _data: bytes) -> None:
        if self.taken == self._most:
            raise StorageFull("no room")
        self.taken += 1


@pytest.mark.parametrize(
    "recipients", [Recipients(keys=(PUBLIC,)), Recipients("a long passphrase")]
)
@pytest.mark.parametrize("size", [1, 8000, 65536, 200_000])
def test_an_error_of_any_write_stays_what_it_is(recipients: Recipients, size: int) -> None:
    """Also of the last one, which the library makes when all is over."""
    disk = FilledDisk(1_000_000)
    encrypt(io.BytesIO(CONTENT[:size]).read, disk.write, recipients)
    assert disk.taken
    for most in range(disk.taken):
        with pytest.raises(StorageFull, match="no room"):
            encrypt(io.BytesIO(CONTENT[:size]).read, FilledDisk(most).write, recipients)


@pytest.mark.parametrize(
    ("recipients", "says"),
    [
        (Recipients("short"), "fewer than 12"),
        (Recipients(), "nobody could open"),
        (Recipients("a long passphrase", ("age1x",)), "not for both"),
        (Recipients(keys=("age1x",)), "is no public key"),
        (Recipients(keys=("ssh-ed25519 x",)), "is no public key"),
    ],
)
def test_what_nothing_can_be_encrypted_to_is_refused(recipients: Recipients, says: str) -> None:
    with pytest.raises(BackupRefused, match=says):
        recipients.check()


def test_a_file_of_keys_is_read_as_age_keygen_writes_it() -> None:
    secret, public = make_key()
    assert identities_of(f"# created: today\n# public key: {public}\n{secret}\n") == (secret,)
    with pytest.raises(BackupRefused, match="holds no secret key"):
        identities_of(public)


@needs_age
def test_the_age_tool_reads_what_we_wrote(tmp_path: Path) -> None:
    secret, public = make_key()
    (tmp_path / "key.txt").write_text(f"{secret}\n")
    (tmp_path / "file.age").write_bytes(encrypted(CONTENT, public))
    assert decrypt_with_key(tmp_path / "file.age", tmp_path / "key.txt") == CONTENT


@needs_age
def test_we_read_what_the_age_tool_wrote() -> None:
    secret, public = make_key()
    assert decrypted(encrypt_to_key(CONTENT, public), Keys(identities=(secret,))) == CONTENT
