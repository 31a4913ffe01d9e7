import io
import tarfile

import pytest

from agent.backup.archive import ArchiveStream, Member, members_of
from agent.errors import BackupRefused

LONG = "state/workspace/" + "ä" * 150


def archive(*members: Member) -> bytes:
    stream, held = ArchiveStream(members), b""
    while piece := stream.read(1000):
        held += piece
    return held


def member(name: str, *pieces: bytes, size: int | None = None) -> Member:
    return Member(name, sum(map(len, pieces)) if size is None else size, pieces)


def test_python_and_we_read_the_same_files() -> None:
    data = archive(member("a", b"one"), member(LONG, b"x" * 600, b"y"), member("empty"))
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        assert tar.getnames() == ["a", LONG, "empty"]
    found = {info.name: content.read() for info, content in members_of(io.BytesIO(data).read)}
    assert found == {"a": b"one", LONG: b"x" * 600 + b"y", "empty": b""}


@pytest.mark.parametrize("size", [2, 4])
def test_a_file_that_changes_while_it_is_read_is_refused(size: int) -> None:
    with pytest.raises(BackupRefused, match="changed its size"):
        archive(member("a", b"one", size=size))


def test_what_is_no_plain_file_is_refused() -> None:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        link = tarfile.TarInfo("state/link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(link)
    with pytest.raises(BackupRefused, match="no plain file"):
        list(members_of(io.BytesIO(out.getvalue()).read))


def test_garbage_is_refused() -> None:
    with pytest.raises(BackupRefused, match="damaged"):
        list(members_of(io.BytesIO(b"x" * 2000).read))
