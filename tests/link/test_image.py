from pathlib import Path

import pytest
from msgspec import structs

from agent.link.image import BadImage, carried_for, offer, read_image
from firmware.host import image as host
from tests.fakes.updatable_board import IDENTITY

SIMULATED = structs.replace(IDENTITY, board="simulated", build=1)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "simulated.fw").write_bytes(host.image("simulated"))
    (tmp_path / "broken.fw").write_bytes(b"\0" * 40)
    return tmp_path


def test_an_image_says_what_it_is(folder: Path) -> None:
    image = read_image(folder / "simulated.fw")
    assert image.about.board == "simulated"
    assert image.about.version == host.firmware_version()
    assert f"build {image.about.build}" in image.shown


def test_the_same_files_make_the_same_image(folder: Path) -> None:
    assert host.image("simulated") == (folder / "simulated.fw").read_bytes()


NO_IMAGES = [b"", b"\1\0", b"\0\0", b"\xff" * 100, b"{}", b"\1\0\5\0\0\0\12about.json....."]


@pytest.mark.parametrize("content", NO_IMAGES)
def test_what_is_no_image_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.fw").write_bytes(content)
    with pytest.raises(BadImage, match="not a firmware image"):
        read_image(tmp_path / "a.fw")


def test_a_missing_or_endless_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadImage, match="No such file"):
        read_image(tmp_path / "none.fw")
    (tmp_path / "long.fw").write_bytes(bytes(512 * 1024 + 1))
    with pytest.raises(BadImage, match="too large"):
        read_image(tmp_path / "long.fw")


def test_the_carried_image_of_that_board_is_found(folder: Path) -> None:
    assert carried_for(SIMULATED, folder) is not None
    assert carried_for(IDENTITY, folder) is None


def test_another_build_is_offered_and_the_same_or_an_older_one_is_not(folder: Path) -> None:
    assert "barnacle board update" in offer(SIMULATED, folder)
    image = carried_for(SIMULATED, folder)
    assert image is not None
    assert offer(structs.replace(SIMULATED, build=image.about.build), folder) == ""
    assert offer(structs.replace(SIMULATED, firmware="9.0.0"), folder) == ""
    assert offer(IDENTITY, folder) == ""
