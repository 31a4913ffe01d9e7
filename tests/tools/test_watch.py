import json
from collections.abc import Mapping, Sequence

import pytest

from agent.errors import BadArguments
from agent.link.settings import WatchSettings
from agent.messages import Effect, Provenance, ToolResult
from agent.passage import Fact, echo
from agent.tools.base import AnyTool, Forecast, ToolContext
from agent.tools.watch import WatchAddTool, WatchListTool, WatchRemoveTool

CONTEXT = ToolContext("c", "owner", Provenance.OWNER)


class KeptWatches:
    """Keeps whatever it is given but what is called `full`."""

    def __init__(self, prefix: str = "") -> None:
        self.prefix = prefix
        self.kept: dict[str, WatchSettings] = {}

    async def add(self, name: str, wanted: WatchSettings, trust: Provenance) -> None:
        if name == "full":
            raise BadArguments("remove one first")
        self.kept[name] = wanted

    async def foresee(self, name: str, wanted: WatchSettings, language: str) -> Forecast | None:
        return None

    async def remove(self, name: str) -> bool:
        if name == "full":
            raise BadArguments("it stands in the configuration")
        return self.kept.pop(name, None) is not None

    def listed(self) -> Sequence[Mapping[str, Fact]]:
        return [{"name": echo(name)} for name in self.kept]


@pytest.fixture
def watches() -> KeptWatches:
    return KeptWatches()


async def use(tool: AnyTool, **arguments: object) -> ToolResult:
    return await tool.execute(tool.parse(json.dumps(arguments)), CONTEXT)


async def test_a_watch_is_added_listed_and_removed(watches: KeptWatches) -> None:
    added = await use(
        WatchAddTool(watches), name="humid", pin="climate.humidity", above=60, say="Air it!"
    )
    assert json.loads(added.text) == {"watching": "humid"}
    assert watches.kept["humid"] == WatchSettings(pin="climate.humidity", above=60, say="Air it!")
    listed = await use(WatchListTool(watches))
    assert json.loads(listed.text) == {"watches": [{"name": "humid"}]}
    assert (await use(WatchRemoveTool(watches), name="humid")).success
    assert not (await use(WatchRemoveTool(watches), name="humid")).success


async def test_what_makes_no_sense_is_said_and_not_kept(watches: KeptWatches) -> None:
    both = await use(WatchAddTool(watches), name="x", pin="a0", above=1, below=2)
    assert not both.success
    assert "use only one of above, below and becomes" in both.text
    assert not (await use(WatchAddTool(watches), name="full", pin="a0")).success
    assert not (await use(WatchRemoveTool(watches), name="full")).success
    assert watches.kept == {}


def test_only_looking_is_reading(watches: KeptWatches) -> None:
    tools = (WatchAddTool(watches), WatchListTool(watches), WatchRemoveTool(watches))
    assert [tool.effect for tool in tools] == [Effect.WRITE, Effect.READ, Effect.WRITE]


def test_tools_of_another_board_bear_its_name() -> None:
    watches = KeptWatches("garden_")
    tools = (WatchAddTool(watches), WatchListTool(watches), WatchRemoveTool(watches))
    assert [tool.name for tool in tools] == [
        "garden_watch_add",
        "garden_watch_list",
        "garden_watch_remove",
    ]
