"""Tool that takes a picture of the screen: grim under Wayland, scrot under X11.

Taking one counts as a change: it makes a file and may show private things, so the owner approves
it.
"""

import shutil
from collections.abc import Mapping

from msgspec import Struct

from agent.messages import Effect, ToolResult
from agent.passage import Provenance, own
from agent.security.environment import PATH
from agent.security.shares import NOTHING_PRIVATE
from agent.tools.base import NoArguments, Tool, ToolContext
from agent.tools.picture_program import Album, taken

# What tells a program of the screen; nothing else of our environment is passed on
_PASSED = ("WAYLAND_DISPLAY", "XDG_RUNTIME_DIR", "DISPLAY", "XAUTHORITY")
# Nothing but a PNG, on standard output
_TO_OUTPUT = {"grim": ("-t", "png", "-"), "scrot": ("--silent", "-")}


class Display(Struct, frozen=True):
    """A screen and its capture program; `trouble` says why none works."""

    argv: tuple[str, ...] = ()
    passed: Mapping[str, str] | None = None
    trouble: str = ""


class ScreenshotTool(Tool[NoArguments]):
    """Takes a picture of the whole screen into the workspace."""

    reads = Provenance.WEB
    name = "screenshot"
    description = own("Take a picture of the screen, into the workspace.")
    effect = Effect.WRITE
    shown = NOTHING_PRIVATE
    arguments_type = NoArguments

    def __init__(self, display: Display, album: Album) -> None:
        self._display = display
        self._album = album

    def in_words(self, arguments: NoArguments) -> str:
        return "take a picture of the whole screen and keep it in the workspace"

    async def execute(self, arguments: NoArguments, context: ToolContext) -> ToolResult:
        return await taken(self._album, "screen", self._display.argv, self._display.passed)


def find_display(environ: Mapping[str, str], search: str = PATH) -> Display:
    """Return this session's screen and the program that captures it."""
    if environ.get("WAYLAND_DISPLAY"):
        name = "grim"
    elif environ.get("DISPLAY"):
        name = "scrot"
    else:
        return Display(trouble="no screen: neither WAYLAND_DISPLAY nor DISPLAY is set")
    program = shutil.which(name, path=search)
    if program is None:
        return Display(trouble=f"{name} is missing: install the package {name}")
    passed = {name: environ[name] for name in _PASSED if environ.get(name)}
    return Display((program, *_TO_OUTPUT[name]), passed)
