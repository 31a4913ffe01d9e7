"""Tool that reads format, width, height and size of a picture from its header."""

from pathlib import Path

from agent.messages import Effect, ToolResult
from agent.passage import Passage, Provenance, configured, echo, fields, own
from agent.security.paths import open_beneath
from agent.security.shares import Disclosure
from agent.tools.base import Tool, ToolContext
from agent.tools.files import PathArguments, RelativePath, in_thread, of_file, plain
from agent.tools.picture_header import header_of


class ImageArguments(PathArguments, frozen=True):
    """Path of a picture."""

    path: RelativePath


class ImageInfoTool(Tool[ImageArguments]):
    """Returns format and size of a picture: numbers only, no text from the file."""

    reads = Provenance.TOOL
    name = "image_info"
    description = own("Format, width and height of a picture in the workspace.")
    effect = Effect.READ
    arguments_type = ImageArguments

    def __init__(self, workspace: Path) -> None:
        self._workspace = workspace

    def shows(self, arguments: ImageArguments) -> Disclosure:
        return of_file(plain(arguments.path))

    async def execute(self, arguments: ImageArguments, context: ToolContext) -> ToolResult:
        def look() -> Passage:
            with open_beneath(self._workspace, plain(arguments.path)) as file:
                header = header_of(file)
                size_bytes = file.seek(0, 2)
            return fields(
                {
                    "path": echo(arguments.path),
                    # One of the few that are known, never a word of the file
                    "format": configured(header.kind),
                    "width": header.width,
                    "height": header.height,
                    "size_bytes": size_bytes,
                }
            )

        return await in_thread(look, self.reads)
