import json

import pytest

from agent.messages import Effect, Provenance, ToolSpec
from agent.tools.base import ToolContext
from agent.tools.search import MAX_FOUND, MAX_NAMES_BYTES, ToolSearchTool, best, nearest
from tests.fakes.many_tools import WORDS
from tests.fakes.said import spec_of

SPECS = [spec_of(name, words, {}, Effect.READ) for name, words in WORDS.items()]
CONTEXT = ToolContext("terminal_owner", "owner", Provenance.OWNER)


async def search(query: str, specs: list[ToolSpec]) -> dict[str, object]:
    tool = ToolSearchTool(lambda: specs)
    result = await tool.execute(tool.parse(json.dumps({"query": query})), CONTEXT)
    assert (result.success, result.provenance) == (True, Provenance.OWNER)
    found: dict[str, object] = json.loads(result.text)
    return found


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("reflex_add", "reflex_add"),
        ("turn a servo", "board_servo_write"),
        ("which addresses answer on the i2c bus", "board_i2c_scan"),
        ("notify me when it is too dry", "watch_add"),
        ("who told you that, source of a memory", "memory_source"),
        ("servos", "board_servo_write"),
        ("Winkel des Stellmotors", "board_servo_write"),
        ("eine Regel, die das Board selbst ausführt", "reflex_add"),
        ("sag mir Bescheid, wenn", "watch_add"),
        ("avísame cuando suba", "watch_add"),
        ("voltaje de la batería", "board_supply_read"),
        ("舵机角度", "board_servo_write"),
        ("忘记这件事", "memory_forget"),
        ("数据手册", "datasheet_search"),
        ("ピクセルの色", "board_pixels_write"),
        ("パルスを数える", "board_counter_read"),
        ("자동 규칙", "reflex_add"),
        ("서보 각도", "board_servo_write"),
    ],
)
def test_a_tool_is_found_by_what_it_does_in_six_languages(query: str, expected: str) -> None:
    assert best(query, SPECS, 1)[0].name == expected


def test_a_tool_is_found_by_the_pins_it_takes() -> None:
    pin = {"enum": ["pump", "lamp"], "description": "pump (the well)"}
    schema = {"properties": {"pin": pin, "whatever": True}}
    takes = spec_of("board_flow", "Something else.", schema, Effect.READ)
    assert best("the well", [*SPECS, takes], 1) == [takes]
    assert best("pump", [*SPECS, takes], 1) == [takes]


async def test_a_search_tells_a_few_tools_and_what_they_do() -> None:
    tools = (await search("board", SPECS))["tools"]
    assert isinstance(tools, list)
    assert 0 < len(tools) <= MAX_FOUND
    assert set(tools[0]) == {"name", "description"}


async def test_a_search_for_nothing_that_exists_tells_what_there_is() -> None:
    found = await search("xyzzy", SPECS)
    assert found["tools"] == []
    assert "board_servo_write" in str(found["there_are"])


async def test_a_search_without_tools_finds_none() -> None:
    assert (await search("anything", []))["tools"] == []


def test_the_names_of_very_many_tools_are_cut_short() -> None:
    many = [spec_of(f"tool_number_{n}", "", {}, Effect.READ) for n in range(200)]
    told = ToolSearchTool(lambda: many).spec_naming(many).description
    assert "more." in told
    assert len(told) < MAX_NAMES_BYTES + 200


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("board_gpio_wrte", "board_gpio_write"),
        ("servo", "board_servo_write"),
        ("remove_watch", "watch_remove"),
    ],
)
def test_a_name_that_does_not_exist_has_nearest_ones(name: str, meant: str) -> None:
    assert meant in nearest(name, SPECS)


def test_a_name_like_no_other_has_no_nearest() -> None:
    assert nearest("xyzzy", SPECS) == []
