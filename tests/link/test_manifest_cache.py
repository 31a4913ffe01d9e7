import os
from pathlib import Path

from agent.link.manifest_cache import MAX_KEPT, ManifestCache, hash_of


def test_what_was_put_is_there_for_the_next_start(tmp_path: Path) -> None:
    ManifestCache(tmp_path / "boards").put(b"manifest")
    cache = ManifestCache(tmp_path / "boards")
    assert cache.get(hash_of(b"manifest")) == b"manifest"
    assert cache.last() == b"manifest"


def test_the_last_is_the_one_put_last(tmp_path: Path) -> None:
    cache = ManifestCache(tmp_path)
    for raw in (b"one", b"two", b"one"):
        cache.put(raw)
    assert cache.last() == b"one"


def test_an_empty_folder_knows_nothing(tmp_path: Path) -> None:
    cache = ManifestCache(tmp_path / "missing")
    assert cache.last() is None
    assert cache.get(bytes(8)) is None


def test_a_damaged_manifest_is_none(tmp_path: Path) -> None:
    cache = ManifestCache(tmp_path)
    cache.put(b"manifest")
    (path,) = tmp_path.glob("*.json")
    path.write_bytes(b"manifesT")
    assert cache.get(hash_of(b"manifest")) is None
    assert cache.last() is None
    cache.put(b"manifest")
    assert cache.last() == b"manifest"


def test_a_damaged_pointer_is_none(tmp_path: Path) -> None:
    cache = ManifestCache(tmp_path)
    cache.put(b"manifest")
    for rubbish in (b"", b"\xff\xfe", b"../../../etc/passwd", b"zz" * 8):
        (tmp_path / "last").write_bytes(rubbish)
        assert cache.last() is None


def test_the_oldest_are_forgotten(tmp_path: Path) -> None:
    cache = ManifestCache(tmp_path)
    for number in range(MAX_KEPT + 3):
        cache.put(bytes([number]))
        os.utime(tmp_path / f"{hash_of(bytes([number])).hex()}.json", (number, number))
    cache.put(b"newest")
    assert len(list(tmp_path.glob("*.json"))) == MAX_KEPT
    assert cache.last() == b"newest"
    assert cache.get(hash_of(b"\0")) is None


def test_a_folder_that_cannot_be_made_is_no_reason_to_stop(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    cache = ManifestCache(tmp_path / "file" / "boards")
    cache.put(b"manifest")
    assert cache.last() is None
