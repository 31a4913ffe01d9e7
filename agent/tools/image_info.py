"""What a picture in the workspace is: format, width, height and size, from its header alone."""

from pathlib import Path

from agent.messages import Effect, ToolResult
from agent.security.paths import open_beneath
from agent.tools.base import Arguments, Tool, ToolContext
from agent.tools.files import RelativePath, in_thread, plain
from agent.tools.picture_header import header_of


class ImageArguments(Arguments, frozen=True):
    """Which picture."""

    path: RelativePath


class ImageInfoTool(Tool[ImageArguments]):
    """Tells format and size of a picture: numbers, never a word that somebody wrote into it."""

    name = "image_info"
    description = "Format, width and height of a picture in the workspace."
    effect = Effect.READ
    arguments_type = ImageArguments

    def __init__(self, workspace: Path) -> None:
        self._workspace = workspace

    async def execute(self, arguments: ImageArguments, context: ToolContext) -> ToolResult:
        def look() -> dict[str, object]:
            with open_beneath(self._workspace, plain(arguments.path)) as file:
                header = header_of(file)
                size_bytes = file.seek(0, 2)
            return {
                "path": arguments.path,
                "format": header.kind,
                "width": header.width,
                "height": header.height,
                "size_bytes": size_bytes,
            }

        # No words from outside are in it, so nothing lowers the trust of the turn
        return await in_thread(look, None)
