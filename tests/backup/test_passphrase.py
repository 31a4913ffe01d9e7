import io
import os
from pathlib import Path

import pytest

from agent.backup import passphrase
from agent.errors import BackupRefused
from tests.fakes.age_tool import needs_age, with_passphrase

WORDS = "correct horse battery"
# A quick one: the strength of the derivation is no matter here
WORK = 4


def encrypted(content: bytes) -> bytes:
    out = io.BytesIO()
    passphrase.encrypt(io.BytesIO(content).read, out.write, WORDS, WORK)
    return out.getvalue()


def decrypted(content: bytes, words: str = WORDS) -> bytes:
    out = io.BytesIO()
    passphrase.decrypt(io.BytesIO(content).read, out.write, words)
    return out.getvalue()


@pytest.mark.parametrize("size", [0, 1, 65535, 65536, 65537, 131072, 200_000])
def test_what_was_encrypted_comes_back(size: int) -> None:
    content = os.urandom(size)
    assert decrypted(encrypted(content)) == content


def test_a_reader_that_gives_little_at_once_is_read_to_its_end() -> None:
    content = os.urandom(150_000)
    source, out = io.BytesIO(content), io.BytesIO()
    passphrase.encrypt(lambda size: source.read(min(size, 777)), out.write, WORDS, WORK)
    assert decrypted(out.getvalue()) == content


def test_a_wrong_passphrase_is_refused() -> None:
    with pytest.raises(BackupRefused, match="passphrase is wrong"):
        decrypted(encrypted(b"secret"), "another one")


@pytest.mark.parametrize("place", [30, 60, 120, 160, 200, 70_000, -1])
def test_a_changed_byte_is_refused_wherever_it_is(place: int) -> None:
    content = bytearray(encrypted(os.urandom(100_000)))
    content[place] ^= 1
    with pytest.raises(BackupRefused):
        decrypted(bytes(content))


@pytest.mark.parametrize("left", [100, 166, 65_800, 100_000])
def test_a_cut_file_is_refused(left: int) -> None:
    with pytest.raises(BackupRefused):
        decrypted(encrypted(os.urandom(140_000))[:left])


def test_a_piece_that_is_missing_in_the_middle_is_refused() -> None:
    content = encrypted(os.urandom(3 * 65536))
    begin = len(content) - 3 * (65536 + 16)
    with pytest.raises(BackupRefused):
        decrypted(content[:begin] + content[begin + 65536 + 16 :])


def test_a_derivation_that_no_machine_has_memory_for_is_refused() -> None:
    content = encrypted(b"").replace(b" 4\n", b" 40\n", 1)
    with pytest.raises(BackupRefused, match="too much"):
        decrypted(content)


@needs_age
def test_the_age_tool_reads_what_we_wrote(tmp_path: Path) -> None:
    content = os.urandom(140_000)
    (tmp_path / "in.age").write_bytes(encrypted(content))
    words = ["-d", "-o", str(tmp_path / "out"), str(tmp_path / "in.age")]
    assert with_passphrase(words, WORDS, 1) == 0
    assert (tmp_path / "out").read_bytes() == content


@needs_age
def test_we_read_what_the_age_tool_wrote(tmp_path: Path) -> None:
    content = os.urandom(140_000)
    (tmp_path / "in").write_bytes(content)
    words = ["-p", "-o", str(tmp_path / "out.age"), str(tmp_path / "in")]
    assert with_passphrase(words, WORDS, 2) == 0
    assert decrypted((tmp_path / "out.age").read_bytes()) == content
