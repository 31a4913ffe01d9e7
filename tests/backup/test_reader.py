from pathlib import Path

import pytest

from agent.backup.archive import ArchiveStream, Member
from agent.backup.encryption import Keys, encrypt
from agent.backup.manifest import HEADER_NAME
from agent.backup.reader import checked_name, read_backup
from agent.errors import BackupRefused
from tests.backup.conftest import RECIPIENTS, Spoil

HEADER = b'{"format":%d,"version":"1","device":"d","made_at_s":1.0}'


def file_of(path: Path, *members: tuple[str, bytes]) -> Path:
    made = [Member(name, len(content), [content]) for name, content in members]
    with path.open("wb") as file:
        encrypt(ArchiveStream(made).read, file.write, RECIPIENTS)
    return path


def test_a_changed_byte_is_found(made: Path, keys: Keys, spoiled: Spoil) -> None:
    with pytest.raises(BackupRefused):
        read_backup(spoiled(made, made.stat().st_size // 2), keys)


def test_a_backup_that_was_cut_off_is_refused(made: Path, keys: Keys, tmp_path: Path) -> None:
    cut = tmp_path / "cut"
    cut.write_bytes(made.read_bytes()[:-100])
    with pytest.raises(BackupRefused):
        read_backup(cut, keys)


def test_an_archive_of_something_else_is_refused(tmp_path: Path, keys: Keys) -> None:
    with pytest.raises(BackupRefused, match="it is no backup"):
        read_backup(file_of(tmp_path / "x", ("readme", b"hi")), keys)


def test_one_without_a_manifest_is_refused(tmp_path: Path, keys: Keys) -> None:
    with pytest.raises(BackupRefused, match="no manifest"):
        read_backup(file_of(tmp_path / "x", (HEADER_NAME, HEADER % 1)), keys)


def test_one_of_a_later_form_is_refused_at_once(tmp_path: Path, keys: Keys) -> None:
    with pytest.raises(BackupRefused, match="a later version of Barnacle"):
        read_backup(file_of(tmp_path / "x", (HEADER_NAME, HEADER % 2)), keys)


def test_parts_that_are_not_in_the_manifest_are_named(tmp_path: Path, keys: Keys) -> None:
    manifest = b'{"header":' + HEADER % 1 + b',"parts":[]}'
    members = ((HEADER_NAME, HEADER % 1), ("state/a", b"x"), ("manifest.json", manifest))
    found = read_backup(file_of(tmp_path / "x", *members), keys)
    assert found.differences() == {"state/a": "is not in the manifest"}


@pytest.mark.parametrize(
    "name", ["state/../x", "/etc/passwd", "state", "state//x", "elsewhere/x", "state/./x", "../x"]
)
def test_a_name_that_leads_elsewhere_is_refused(name: str, tmp_path: Path, keys: Keys) -> None:
    with pytest.raises(BackupRefused, match="leads nowhere"):
        checked_name(name)
    with pytest.raises(BackupRefused, match="leads nowhere"):
        read_backup(file_of(tmp_path / "x", (HEADER_NAME, HEADER % 1), (name, b"")), keys)
