import enum
import json
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from agent.tools.base import Arguments, NoArguments
from agent.tools.files import FileListTool, FileReadTool, FileWriteTool
from agent.tools.schema import parameters_of


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Point(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where."""

    x: float
    y: float = 0.0


class Rich(Arguments, frozen=True):
    """Everything a tool may want."""

    pin: Literal["led", "fan"]
    at: Point
    colour: Colour = Colour.RED
    level: Annotated[int, Meta(ge=0, le=100, description="in percent")] = 50
    path: list[Point] = msgspec.field(default_factory=list)
    label: str | None = None


def every_key(schema: object) -> set[str]:
    if isinstance(schema, list):
        return set().union(*map(every_key, schema))
    if not isinstance(schema, dict):
        return set()
    return set(schema).union(*map(every_key, schema.values()))


def test_nothing_is_a_closed_empty_object() -> None:
    assert parameters_of(NoArguments) == {
        "type": "object",
        "properties": {},
        "required": [],
        "additionalProperties": False,
    }


def test_a_rich_schema_stands_alone() -> None:
    schema = parameters_of(Rich)
    assert not {"$ref", "$defs", "title", "definitions"} & every_key(schema)
    assert schema["required"] == ["pin", "at"]
    assert schema["additionalProperties"] is False


def test_types_ranges_choices_and_descriptions_are_kept() -> None:
    properties = parameters_of(Rich)["properties"]
    assert isinstance(properties, dict)
    assert properties["pin"]["enum"] == ["fan", "led"]
    assert properties["colour"] == {"enum": ["blue", "red"], "default": "red"}
    level = properties["level"]
    assert (level["minimum"], level["maximum"], level["default"]) == (0, 100, 50)
    assert level["description"] == "in percent"
    assert properties["at"]["properties"]["x"] == {"type": "number"}
    assert properties["path"]["items"]["additionalProperties"] is False


def test_a_field_that_is_called_title_is_kept() -> None:
    class Book(Arguments, frozen=True):
        title: str

    properties = parameters_of(Book)["properties"]
    assert isinstance(properties, dict)
    assert set(properties) == {"title"}


def test_it_is_the_same_bytes_every_time_and_short() -> None:
    for tool in (FileReadTool, FileWriteTool, FileListTool):
        first = json.dumps(parameters_of(tool.arguments_type))
        assert first == json.dumps(parameters_of(tool.arguments_type))
        assert len(first) < 700
