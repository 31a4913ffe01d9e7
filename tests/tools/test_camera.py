from pathlib import Path

import pytest

from agent.errors import BadArguments
from agent.messages import Effect
from agent.tools.camera import CameraCaptureTool, find_camera_program, trouble_with_camera
from agent.tools.picture_program import Album
from tests.canaries import secret
from tests.fakes.clock import SteppedClock
from tests.fakes.picture_programs import JPEG, install
from tests.fakes.workspace import told


def camera(tmp_path: Path, behaviour: str = "working") -> CameraCaptureTool:
    program = find_camera_program(install(tmp_path / "bin", "rpicam-still", behaviour))
    assert program is not None
    return CameraCaptureTool(program, Album(tmp_path / "workspace", SteppedClock()))


async def test_a_picture_comes_into_the_workspace_with_its_marker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", secret("provider"))
    fields = await told(camera(tmp_path), width=1281)
    path = str(fields["path"])
    assert (tmp_path / "workspace" / path).read_bytes() == JPEG
    assert fields["shown_by"] == f"[IMAGE:{path}]"
    assert (fields["width"], fields["height"]) == (1280, 960)
    argv = (tmp_path / "bin" / "rpicam-still.argv").read_text()
    assert "--width 1280 --height 960" in argv
    assert argv.endswith("--output -\n")
    assert "canary" not in (tmp_path / "bin" / "rpicam-still.env").read_text()


def test_it_changes_something_and_says_so(tmp_path: Path) -> None:
    tool = camera(tmp_path)
    assert tool.effect is Effect.WRITE
    assert "camera" in tool.in_words(tool.parse("{}"))


def test_other_sizes_and_paths_are_refused(tmp_path: Path) -> None:
    for arguments in ('{"width":0}', '{"width":9999}', '{"path":"/etc/passwd"}'):
        with pytest.raises(BadArguments):
            camera(tmp_path).parse(arguments)


def test_it_says_what_is_missing(tmp_path: Path) -> None:
    devices, programs = tmp_path / "dev", tmp_path / "bin"
    devices.mkdir()
    (devices / "video10").touch()
    assert "no camera found" in trouble_with_camera(devices, str(programs))
    (devices / "v4l-subdev0").touch()
    assert "install the package" in trouble_with_camera(devices, str(programs))
    install(programs, "libcamera-still", "working")
    assert trouble_with_camera(devices, str(programs)) == ""
