import os
from pathlib import Path

from agent.messages import Provenance
from agent.tools.image_info import ImageInfoTool
from tests.fakes.picture_programs import JPEG, png
from tests.fakes.workspace import refused, told, used


async def test_it_tells_numbers_and_lowers_no_trust(tmp_path: Path) -> None:
    (tmp_path / "lamp.jpg").write_bytes(JPEG)
    assert await told(ImageInfoTool(tmp_path), path="./lamp.jpg") == {
        "path": "./lamp.jpg",
        "format": "jpeg",
        "width": 1280,
        "height": 960,
        "size_bytes": len(JPEG),
    }
    assert (await used(ImageInfoTool(tmp_path), path="lamp.jpg")).provenance is Provenance.OWNER


async def test_what_is_no_picture_or_not_in_the_workspace_is_refused(tmp_path: Path) -> None:
    outside = tmp_path / "outside.png"
    outside.write_bytes(png(1, 1))
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "link.png").symlink_to(outside)
    (workspace / "bomb.png").write_bytes(png(60_000, 60_000))
    (workspace / "words.png").write_text("hello")
    os.mkfifo(workspace / "pipe.png")
    tool = ImageInfoTool(workspace)
    for path, why in (
        ("../outside.png", "refused"),
        (str(outside), "refused"),
        ("link.png", "a link"),
        ("pipe.png", "not a plain file"),
        ("none.png", "there is no"),
        ("bomb.png", "never opened"),
        ("words.png", "not a PNG"),
    ):
        assert why in await refused(tool, path=path)
