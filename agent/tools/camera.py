"""Tool that takes a picture with the Pi's camera, through the system's own program.

Taking one counts as a change: it makes a file and looks into a room, so the owner approves it.
"""

import shutil
from pathlib import Path
from typing import Annotated

from msgspec import Meta

from agent.messages import Effect, ToolResult
from agent.passage import Provenance, own
from agent.security.environment import PATH
from agent.security.shares import NOTHING_PRIVATE
from agent.tools.base import Arguments, Tool, ToolContext
from agent.tools.picture_program import Album, taken

# The second is what the first was called until 2023
PROGRAMS = ("rpicam-still", "libcamera-still")
DEVICES = Path("/dev")
# Long enough for exposure and white balance to settle
_SETTLING_MS = 1500
_QUALITY = 85


class CameraArguments(Arguments, frozen=True):
    """Width of the picture."""

    width: Annotated[int, Meta(ge=320, le=4096, description="pixels; the height is 3/4")] = 1280


class CameraCaptureTool(Tool[CameraArguments]):
    """Takes a still picture into the workspace."""

    reads = Provenance.WEB
    name = "camera_capture"
    description = own("Take a picture with the camera, into the workspace.")
    effect = Effect.WRITE
    shown = NOTHING_PRIVATE
    arguments_type = CameraArguments

    def __init__(self, program: str, album: Album) -> None:
        self._program = program
        self._album = album

    def in_words(self, arguments: CameraArguments) -> str:
        return "take a picture with the camera and keep it in the workspace"

    async def execute(self, arguments: CameraArguments, context: ToolContext) -> ToolResult:
        width = arguments.width // 4 * 4
        argv = (
            *(self._program, "--nopreview", "--timeout", str(_SETTLING_MS)),
            *("--width", str(width), "--height", str(width * 3 // 4)),
            *("--encoding", "jpg", "--quality", str(_QUALITY), "--output", "-"),
        )
        return await taken(self._album, "camera", argv)


def find_camera_program(search: str = PATH) -> str | None:
    found = (shutil.which(name, path=search) for name in PROGRAMS)
    return next(filter(None, found), None)


def trouble_with_camera(devices: Path = DEVICES, search: str = PATH) -> str:
    """Return the reason why no camera can be used; "" if one can."""
    # The kernel makes one for each sensor that has answered; other video devices are always there
    if not any(devices.glob("v4l-subdev*")):
        return "no camera found: check the cable and camera_auto_detect=1 in config.txt"
    if find_camera_program(search) is None:
        return "rpicam-still is missing: install the package rpicam-apps-lite"
    return ""
