"""Tools and resources that the Model Context Protocol's own suite asks a server for, by its names.

They are tools of the agent like any other: in its registry, behind its gate. One that has to have
a say of its client, or to be told of, changes something, as that is what the owner is asked about.
"""

import io
import json
import wave
from collections.abc import Mapping
from pathlib import Path

from PIL import Image

from agent.errors import BarnacleError
from agent.gateway.assistants.mcp.offer import Offer, OfferedResource
from agent.messages import Effect, Provenance, ToolResult, ToolSpec
from agent.passage import outside
from agent.security.paths import write_beneath
from agent.security.shares import NOTHING_PRIVATE
from agent.tools.base import AnyTool, Arguments, NoArguments, Tool, ToolContext
from tests.fakes.said import words

_ADDRESS = {"type": "object", "properties": {"street": {"type": "string"}}}
# Whatever the dialect has that a server may lose on the way
_SCHEMA: Mapping[str, object] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {"address": {"$anchor": "addressDef", **_ADDRESS}},
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}


class SaidArguments(Arguments, frozen=True):
    """Message that the suite sends along."""

    message: str


class TemplateArguments(Arguments, frozen=True):
    """Part of an address."""

    id: str


class SuiteTool(Tool[NoArguments]):
    """Says something, and makes files."""

    reads = Provenance.TOOL
    shown = NOTHING_PRIVATE
    arguments_type = NoArguments

    def __init__(
        self,
        workspace: Path,
        name: str,
        says: str = "made",
        *,
        effect: Effect = Effect.READ,
        **files: bytes,
    ) -> None:
        self.name = name
        self.description = words(f"Does what the suite calls {name}.")
        self.effect = effect
        self._workspace = workspace
        self._says = says
        self._files = {one.replace("_", "."): content for one, content in files.items()}

    async def execute(self, arguments: NoArguments, context: ToolContext) -> ToolResult:
        for path, content in self._files.items():
            write_beneath(self._workspace, path, content)
        return ToolResult.done(outside(self._says, Provenance.TOOL, self.name), tuple(self._files))


class AskedTool(SuiteTool):
    """Asks somebody."""

    arguments_type = SaidArguments  # type: ignore[assignment]  # only its own are parsed


class BrokenTool(SuiteTool):
    """Fails."""

    async def execute(self, arguments: NoArguments, context: ToolContext) -> ToolResult:
        raise BarnacleError("This tool intentionally returns an error for testing")


class SchemaTool(SuiteTool):
    """Has a schema with all that JSON Schema has."""

    def spec(self) -> ToolSpec:
        return ToolSpec(self.name, self.description, _SCHEMA, self.effect)


class TemplateTool(Tool[TemplateArguments]):
    """Reads what a template of an address stands for."""

    reads = Provenance.TOOL
    shown = NOTHING_PRIVATE
    arguments_type = TemplateArguments
    name = "test_template_data"
    description = words("Reads the data of an id.")
    effect = Effect.READ

    async def execute(self, arguments: TemplateArguments, context: ToolContext) -> ToolResult:
        told = {
            "id": arguments.id,
            "templateTest": True,
            "data": f"Data for ID: {arguments.id}",
        }
        return ToolResult.done(outside(json.dumps(told), Provenance.TOOL, self.name))


def suite_tools(workspace: Path) -> tuple[AnyTool, ...]:
    """Return the tools; what they make goes to the workspace."""
    text, data = b"This is an embedded resource content.", b'{"test":"data","value":123}'
    return (
        SuiteTool(workspace, "test_simple_text", "This is a simple text response for testing."),
        SuiteTool(workspace, "test_image_content", red_png=_picture()),
        SuiteTool(workspace, "test_audio_content", tone_wav=_sound()),
        SuiteTool(workspace, "test_embedded_resource", note_txt=text),
        SuiteTool(
            workspace,
            "test_multiple_content_types",
            "Multiple content types test:",
            red_png=_picture(),
            mixed_json=data,
        ),
        BrokenTool(workspace, "test_error_handling"),
        SuiteTool(workspace, "test_tool_with_progress", effect=Effect.WRITE),
        AskedTool(workspace, "test_elicitation", effect=Effect.WRITE),
        SchemaTool(workspace, "json_schema_2020_12_tool"),
        SuiteTool(
            workspace, "test_static_text", "This is the content of the static text resource."
        ),
        SuiteTool(workspace, "test_static_binary", static_png=_picture()),
        TemplateTool(),
    )


SUITE_OFFER = Offer(
    ("test_", "json_schema_"),
    (
        OfferedResource(
            "test://static-text", "text", "A text", "test_static_text", "{}", "text/plain"
        ),
        OfferedResource(
            "test://static-binary", "binary", "A picture", "test_static_binary", "{}", "image/png"
        ),
        OfferedResource("test://template/{id}/data", "data", "Data of an id", TemplateTool.name),
    ),
)


def _picture() -> bytes:
    made = io.BytesIO()
    Image.new("RGB", (1, 1), "red").save(made, "PNG")
    return made.getvalue()


def _sound() -> bytes:
    made = io.BytesIO()
    with wave.open(made, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(8000)
        sound.writeframes(b"\0\0" * 80)
    return made.getvalue()
