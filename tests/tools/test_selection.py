import json

from agent.messages import ChatMessage, ToolCall
from agent.tools.registry import Registry
from agent.tools.search import TOOL_SEARCH
from agent.tools.selection import MAX_FOUND_KEPT, MAX_SHOWN_BYTES, Division, ToolSelection
from tests.fakes.many_tools import PADDING, NamedTool, crowded
from tests.fakes.said import tool_said, user_said
from tests.fakes.tools import CountingTool, PageTool


def told(tool: str, text: str, *, is_error: bool = False) -> ChatMessage:
    return tool_said(ToolCall("1", tool, "{}"), text, is_error=is_error)


def search_found(*names: str) -> ChatMessage:
    tools = [{"name": name, "description": "words"} for name in names]
    return told(TOOL_SEARCH, json.dumps({"tools": tools}))


def shown(*messages: ChatMessage) -> list[str]:
    return names_of(ToolSelection(crowded()).divide(messages))


def names_of(division: Division) -> list[str]:
    return [spec.name for spec in division.shown]


def test_a_few_tools_are_all_shown_and_need_no_search() -> None:
    division = ToolSelection(Registry([PageTool(), CountingTool()])).divide([])
    assert names_of(division) == ["lamp", "page"]
    assert division.waiting == ()


def test_of_many_only_what_is_always_needed_is_shown() -> None:
    division = ToolSelection(crowded()).divide([])
    always = ["board_gpio_read", "board_gpio_write", "board_info", "time_now", TOOL_SEARCH]
    assert names_of(division) == [*always, "watch_add"]
    everything = {spec.name for spec in crowded().specs()}
    waiting = {spec.name for spec in division.waiting}
    assert waiting == everything - set(names_of(division))


def test_the_search_names_what_waits() -> None:
    division = ToolSelection(crowded()).divide([])
    (search,) = [spec for spec in division.shown if spec.name == TOOL_SEARCH]
    assert "reflex_add" in search.description
    assert "board_info" not in search.description


def test_the_search_says_the_same_before_and_after_something_was_found() -> None:
    shelf = ToolSelection(crowded())
    before, after = shelf.divide([]), shelf.divide([search_found("reflex_add")])
    assert [s for s in before.shown if s.name == TOOL_SEARCH] == [
        s for s in after.shown if s.name == TOOL_SEARCH
    ]


def test_what_was_found_is_shown_from_then_on() -> None:
    assert "reflex_add" in shown(search_found("reflex_add"), user_said("go on"))
    assert "reflex_add" not in shown(user_said("begin anew"))


def test_what_was_called_without_a_search_is_shown_from_then_on() -> None:
    assert "board_i2c_scan" in shown(told("board_i2c_scan", '{"addresses":[]}'))


def test_what_was_named_instead_of_an_unknown_tool_is_shown() -> None:
    error = 'error: {"error":"unknown_tool","nearest":["reflex_add"]}'
    assert "reflex_add" in shown(told("reflex_make", error, is_error=True))


def test_other_results_show_nothing_whatever_they_say() -> None:
    assert "reflex_add" not in shown(told("time_now", '{"tools":[{"name":"reflex_add"}]}'))
    assert "reflex_add" not in shown(told(TOOL_SEARCH, "no JSON at all"))
    assert "xyzzy" not in shown(search_found("xyzzy"))


def test_the_order_is_that_of_the_names_however_they_were_found() -> None:
    one = shown(search_found("reflex_add"), search_found("board_i2c_scan"))
    other = shown(search_found("board_i2c_scan"), search_found("reflex_add"))
    assert one == other == sorted(one)


def test_only_the_latest_finds_are_kept() -> None:
    many = [NamedTool(f"tool_{n:02}", f"words{PADDING}") for n in range(MAX_FOUND_KEPT + 4)]
    found = [search_found(tool.name) for tool in many]
    names = names_of(ToolSelection(Registry(many)).divide([*found, search_found("tool_00")]))
    assert len(names) == MAX_FOUND_KEPT + 1
    assert "tool_00" in names
    assert "tool_01" not in names


def test_always_shown_tools_that_do_not_fit_wait_too() -> None:
    large = NamedTool("board_info", "x" * MAX_SHOWN_BYTES)
    division = ToolSelection(Registry([large, NamedTool("time_now", "The time.")])).divide([])
    assert names_of(division) == ["time_now", TOOL_SEARCH]


def test_every_tool_can_be_had_by_its_name() -> None:
    shelf = ToolSelection(crowded())
    for name in (TOOL_SEARCH, "reflex_add", "board_info"):
        tool = shelf.find(name)
        assert tool is not None
        assert tool.name == name
    assert shelf.find("xyzzy") is None


def test_what_comes_and_goes_with_the_hardware_is_followed() -> None:
    plugged = [NamedTool("board_info", f"The board.{PADDING}")]
    shelf = ToolSelection(
        Registry([NamedTool("time_now", "x" * MAX_SHOWN_BYTES)], [lambda: plugged])
    )
    assert names_of(shelf.divide([])) == ["board_info", TOOL_SEARCH]
    plugged[0] = NamedTool("board_info", f"Another board.{PADDING}")
    assert "Another" in shelf.divide([]).shown[0].description
    plugged.clear()
    assert names_of(shelf.divide([])) == [TOOL_SEARCH]
