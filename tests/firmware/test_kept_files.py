"""What was made of the firmware's files is taken from the folder, and never what is another's."""

from pathlib import Path

import pytest

from firmware.host import kept_files
from firmware.host.bundle import BundledFile
from firmware.host.kept_files import kept

FILES = [BundledFile("main.py", b"import node"), BundledFile("node/pins.py", b"PINS = 3")]


class Maker:
    """Makes a file of every file, and counts how often it was asked."""

    times = 0

    def make(self, files: list[BundledFile]) -> list[BundledFile]:
        self.times += 1
        return [BundledFile(one.target, one.content.upper()) for one in files]


@pytest.fixture
def maker() -> Maker:
    return Maker()


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(kept_files, "FOLDER", tmp_path / "made")
    return tmp_path / "made"


def test_the_second_time_nothing_is_made(maker: Maker) -> None:
    first = kept("loud", FILES, maker.make)
    assert first == maker.make(FILES)
    assert kept("loud", FILES, maker.make) == first
    assert maker.times == 2


@pytest.mark.parametrize(
    ("way", "files"),
    [
        ("quiet", FILES),
        ("loud", FILES[::-1]),
        ("loud", [BundledFile("main.pyi", b"mport node"), FILES[1]]),
        ("loud", [FILES[0], BundledFile("node/pins.py", b"PINS = 4")]),
    ],
)
def test_whatever_is_different_is_made(maker: Maker, way: str, files: list[BundledFile]) -> None:
    kept("loud", FILES, maker.make)
    assert kept(way, files, maker.make) == maker.make(files)
    assert maker.times == 3


def test_another_program_makes_it_anew(maker: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    kept("loud", FILES, maker.make)
    monkeypatch.setattr(kept_files, "_makers", lambda: b"changed")
    kept("loud", FILES, maker.make)
    assert maker.times == 2


@pytest.mark.parametrize("left", [0, 1, 50, -1])
def test_what_was_cut_short_is_made_anew(maker: Maker, folder: Path, left: int) -> None:
    first = kept("loud", FILES, maker.make)
    (file,) = folder.iterdir()
    file.write_bytes(file.read_bytes()[:left])
    assert kept("loud", FILES, maker.make) == first
    assert maker.times == 2
    assert kept("loud", FILES, maker.make) == first
    assert maker.times == 2


def test_a_folder_that_cannot_be_written_holds_up_nobody(maker: Maker, folder: Path) -> None:
    folder.write_text("in the way")
    assert kept("loud", FILES, maker.make) == maker.make(FILES)


def test_the_oldest_go(maker: Maker, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_files, "MOST", 2)
    for way in ("one", "two", "three", "four"):
        kept(way, FILES, maker.make)
    assert len(list(folder.iterdir())) == 2
