from agent.tools.base import AnyTool
from agent.tools.registry import Registry
from tests.fakes.tools import BrokenTool, CountingTool, PageTool


def test_specs_are_sorted_so_that_a_prompt_stays_the_same() -> None:
    registry = Registry([PageTool(), CountingTool()], [lambda: [BrokenTool()]])
    assert [spec.name for spec in registry.specs()] == ["broken", "lamp", "page"]


def test_tools_come_and_go_with_their_source() -> None:
    plugged: list[AnyTool] = []
    registry = Registry([], [lambda: plugged])
    assert registry.find("lamp") is None
    plugged.append(CountingTool())
    assert registry.find("lamp") is plugged[0]
    plugged[0] = CountingTool()
    assert registry.find("lamp") is plugged[0]
    assert registry.specs()[0] is registry.specs()[0]


def test_a_source_cannot_take_the_place_of_a_fixed_tool() -> None:
    fixed = CountingTool()
    registry = Registry([fixed], [lambda: [CountingTool()]])
    assert registry.find("lamp") is fixed
