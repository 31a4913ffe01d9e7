import json
from pathlib import Path

import pytest

from agent.blank.carried import checked_dfu
from agent.blank.dfu import FOLDER, Element
from image.lib import blank_boards
from tests.fakes.dfu_file import dfu_file

PIECES = (Element(0x08000000, b"micropython"),)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "micropython.dfu"
    path.write_bytes(dfu_file(PIECES))
    return path


def test_a_file_lies_on_the_card_with_hash_and_licence(tmp_path: Path, file: Path) -> None:
    root = tmp_path / "root"
    files = blank_boards.checked([f"pyboard_v11={file}"])
    (line,) = blank_boards.put(files, root)
    folder = root / FOLDER.relative_to("/")
    path, elements = checked_dfu("pyboard_v11", folder)
    assert (path.read_bytes(), elements) == (file.read_bytes(), PIECES)
    assert "MIT License" in (folder / "LICENCE.txt").read_text()
    assert line.startswith("pyboard_v11: ")
    assert {one.stat().st_mode & 0o777 for one in folder.iterdir()} == {0o644}


def test_without_files_the_folder_is_empty_but_there(tmp_path: Path) -> None:
    assert blank_boards.put({}, tmp_path) == []
    folder = tmp_path / FOLDER.relative_to("/")
    assert [one.name for one in folder.iterdir()] == ["boards.json"]
    assert json.loads((folder / "boards.json").read_text()) == {}


def test_what_is_no_file_for_a_board_is_refused_before_the_work(tmp_path: Path, file: Path) -> None:
    for wanted, why in (
        ("toaster={}", "a name is nucleo_f401re"),
        ("pyboard_v11", "NAME=FILE"),
        ("simulated={}", "a name is"),
    ):
        with pytest.raises(OSError, match=why):
            blank_boards.checked([wanted.format(file)])
    file.write_bytes(b":10000000")
    with pytest.raises(OSError, match="no DfuSe file"):
        blank_boards.checked([f"pyboard_v11={file}"])
    with pytest.raises(FileNotFoundError):
        blank_boards.checked([f"pyboard_v11={tmp_path / 'none'}"])
