"""What was built from the firmware's files is taken from the cache, and never what is another's."""

from pathlib import Path

import pytest

from firmware.host import build_cache
from firmware.host.build_cache import cached
from firmware.host.bundle import BundledFile

FILES = [BundledFile("main.py", b"import node"), BundledFile("node/pins.py", b"PINS = 3")]


class Builder:
    """Builds a file of every file, and counts how often it was asked."""

    times = 0

    def build(self, files: list[BundledFile]) -> list[BundledFile]:
        self.times += 1
        return [BundledFile(one.target, one.content.upper()) for one in files]


@pytest.fixture
def builder() -> Builder:
    return Builder()


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(build_cache, "FOLDER", tmp_path / "cache")
    return tmp_path / "cache"


def test_the_second_time_nothing_is_built(builder: Builder) -> None:
    first = cached("loud", FILES, builder.build)
    assert first == builder.build(FILES)
    assert cached("loud", FILES, builder.build) == first
    assert builder.times == 2


@pytest.mark.parametrize(
    ("way", "files"),
    [
        ("quiet", FILES),
        ("loud", FILES[::-1]),
        ("loud", [BundledFile("main.pyi", b"mport node"), FILES[1]]),
        ("loud", [FILES[0], BundledFile("node/pins.py", b"PINS = 4")]),
    ],
)
def test_whatever_is_different_is_built(
    builder: Builder, way: str, files: list[BundledFile]
) -> None:
    cached("loud", FILES, builder.build)
    assert cached(way, files, builder.build) == builder.build(files)
    assert builder.times == 3


def test_another_program_builds_it_anew(builder: Builder, monkeypatch: pytest.MonkeyPatch) -> None:
    cached("loud", FILES, builder.build)
    monkeypatch.setattr(build_cache, "_builders", lambda: b"changed")
    cached("loud", FILES, builder.build)
    assert builder.times == 2


@pytest.mark.parametrize("left", [0, 1, 50, -1])
def test_what_was_cut_short_is_built_anew(builder: Builder, folder: Path, left: int) -> None:
    first = cached("loud", FILES, builder.build)
    (file,) = folder.iterdir()
    file.write_bytes(file.read_bytes()[:left])
    assert cached("loud", FILES, builder.build) == first
    assert builder.times == 2
    assert cached("loud", FILES, builder.build) == first
    assert builder.times == 2


def test_a_folder_that_cannot_be_written_holds_up_nobody(builder: Builder, folder: Path) -> None:
    folder.write_text("in the way")
    assert cached("loud", FILES, builder.build) == builder.build(FILES)


def test_the_oldest_go(builder: Builder, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build_cache, "MOST", 2)
    for way in ("one", "two", "three", "four"):
        cached(way, FILES, builder.build)
    assert len(list(folder.iterdir())) == 2
