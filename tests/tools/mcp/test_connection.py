import asyncio
import json

import msgspec
import pytest
from mcp import MCPError
from mcp_types import (
    BlobResourceContents,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
    Tool,
)

from agent.tools.mcp import connection
from agent.tools.mcp.lines import (
    MAX_DEFINITION_BYTES,
    MAX_LINE_BYTES,
    MAX_TOOLS,
    MAX_TROUBLE_CHARS,
    BridgeAnswer,
    ReplyRequest,
    ServerQuestion,
    ServerSetup,
)
from tests.waits import wait_until

TEXT = TextContent(type="text", text="sun")
IMAGE = ImageContent(type="image", data="AAAA", mime_type="image/png")
NOTE = EmbeddedResource(
    type="resource", resource=TextResourceContents(uri="note://1", text="water it")
)
BLOB = EmbeddedResource(type="resource", resource=BlobResourceContents(uri="note://2", blob="AA"))
LINK = ResourceLink(type="resource_link", name="n", uri="https://example.org/a")


@pytest.mark.parametrize(
    ("blocks", "structured", "text"),
    [
        ([TEXT, NOTE], None, "sun\nwater it"),
        ([IMAGE, BLOB], None, "[image, left out]\n[resource, left out]"),
        ([LINK], None, "[a link: https://example.org/a]"),
        ([], {"ort": "Köln"}, '{"ort": "Köln"}'),
        ([TEXT], {"ort": "Köln"}, "sun"),
        ([], None, ""),
    ],
)
def test_what_can_be_read_of_a_result_is_told(
    blocks: list[ContentBlock], structured: dict[str, object] | None, text: str
) -> None:
    result = CallToolResult(content=blocks, structured_content=structured)
    assert "\n".join(connection.texts(result)) == text


def test_a_tool_is_told_with_all_that_a_model_or_a_person_may_go_by() -> None:
    tool = Tool(name="a", description="x", input_schema={"type": "object"}, _meta={"t": 1})
    told = json.loads(connection._offered(tool).definition_json)
    assert told == {"name": "a", "description": "x", "inputSchema": {"type": "object"}}
    long = Tool(name="a" * 500, description="x" * MAX_DEFINITION_BYTES, input_schema={})
    offered = connection._offered(long)
    assert (len(offered.name), offered.definition_json) == (128, "")


def test_the_longest_listing_fits_into_a_line() -> None:
    lengths = range(MAX_DEFINITION_BYTES // 8, MAX_DEFINITION_BYTES // 2, 10)
    made = (Tool(name="a", description='"' * n, input_schema={}) for n in lengths)
    taken = [one for tool in made if (one := connection._offered(tool)).definition_json]
    listing = BridgeAnswer("a#1", tools=(taken[-1],) * MAX_TOOLS)
    assert len(msgspec.json.encode(listing)) < MAX_LINE_BYTES


def test_what_goes_wrong_is_one_short_line() -> None:
    inner = MCPError(code=1, message="no\x1b[31m \u202ewater " * 100)
    said = connection.sentence(ExceptionGroup("many", [ExceptionGroup("more", [inner])]))
    assert said.isprintable()
    assert len(said) == MAX_TROUBLE_CHARS
    assert connection.sentence(FileNotFoundError(2, "No such file", "/opt/x")) == (
        "/opt/x: No such file"
    )


def test_a_schema_that_no_service_takes_is_told_with_its_place() -> None:
    schema = {"type": "object", "properties": {"place": {"type": "strin"}}}
    offered = connection._offered(Tool(name="a", input_schema=schema))
    assert offered.trouble.startswith("in properties.place.type, 'strin' is not")
    fine = Tool(name="a", input_schema={"type": "object", "anyOf": [{"required": ["x"]}]})
    assert connection._offered(fine).trouble == ""


async def test_a_reply_to_a_question_that_was_taken_back_answers_no_other() -> None:
    said: list[BridgeAnswer] = []
    server = connection.ServerConnection("a#1", ServerSetup(), said.append)
    first = asyncio.ensure_future(server._put(ServerQuestion("May I water?")))
    await wait_until(lambda: len(said) == 1)
    # As the SDK does when the server cancels its request
    first.cancel()
    second = asyncio.ensure_future(server._put(ServerQuestion("May I delete the garden?")))
    await wait_until(lambda: len(said) == 2)
    asked = [one.question for one in said]
    for question, action in zip(asked, ("accept", "decline"), strict=True):
        assert question is not None
        server.take(ReplyRequest("a#1", action, number=question.number))
    assert (await second).action == "decline"
