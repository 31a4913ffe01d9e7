import os
from pathlib import Path

import pytest

from agent.messages import Image
from agent.providers.pictures.provider import PictureFiles
from tests.providers.pictures.test_kinds import PNG


@pytest.fixture
def files(tmp_path: Path) -> PictureFiles:
    for name in ("mine", "inbox", "elsewhere"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "lamp.jpg").write_bytes(PNG + name.encode())
    return PictureFiles(tmp_path / "mine", tmp_path / "inbox", 1000)


async def test_a_path_is_beneath_the_workspace(files: PictureFiles, tmp_path: Path) -> None:
    by_name = await files.load("lamp.jpg")
    assert isinstance(by_name, Image)
    assert await files.load(f"{tmp_path}/mine/lamp.jpg") == by_name


async def test_what_was_received_is_named_by_its_whole_path(
    files: PictureFiles, tmp_path: Path
) -> None:
    received = await files.load(f"{tmp_path}/inbox/lamp.jpg")
    assert isinstance(received, Image)
    assert received != await files.load("lamp.jpg")


async def test_its_kind_is_told_by_its_content(files: PictureFiles) -> None:
    found = await files.load("lamp.jpg")
    assert isinstance(found, Image)
    assert found.media_type == "image/png"


@pytest.mark.parametrize(
    "reference",
    [
        *("../elsewhere/lamp.jpg", "/etc/passwd", "{root}/elsewhere/lamp.jpg", "missing.png", "."),
        *("{root}/mine/../elsewhere/lamp.jpg", "link.png", "pipe.png", "folder", "a\x00b"),
        *("~/lamp.jpg", "", "/", "text.png", "large.png", "{root}/inbox", "a" * 1000, "x/" * 40),
    ],
)
async def test_nothing_else_is_ever_shown(
    files: PictureFiles, tmp_path: Path, reference: str
) -> None:
    workspace = tmp_path / "mine"
    (workspace / "link.png").symlink_to(tmp_path / "elsewhere" / "lamp.jpg")
    (workspace / "folder").mkdir()
    (workspace / "text.png").write_text("no picture")
    (workspace / "large.png").write_bytes(PNG.ljust(1001))
    os.mkfifo(workspace / "pipe.png")
    told = await files.load(reference.format(root=tmp_path))
    assert isinstance(told, str)
    assert told
