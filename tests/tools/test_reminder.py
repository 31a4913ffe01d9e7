import json
from collections.abc import Mapping

from agent.errors import BadArguments
from agent.passage import Fact, echo
from agent.tools.base import Forecast, ToolContext
from agent.tools.reminder import ReminderSetArguments, ReminderSetTool
from tests.fakes.timer_run import context


class Kept:
    """Keeps every reminder but one."""

    async def remind(
        self, wanted: ReminderSetArguments, context: ToolContext
    ) -> Mapping[str, Fact]:
        if not wanted.text:
            raise BadArguments("say what")
        return {"text": echo(wanted.text), "for": echo(context.person)}

    async def foresee(self, wanted: ReminderSetArguments) -> Forecast | None:
        return Forecast("On the last day it would have run once.") if wanted.order else None


async def test_a_reminder_is_kept_for_whoever_wants_it() -> None:
    tool = ReminderSetTool(Kept())
    done = await tool.execute(tool.parse('{"text": "tea", "at": "08:00"}'), context("mei"))
    assert json.loads(done.text) == {"reminder": {"text": "tea", "for": "mei"}}
    refused = await tool.execute(tool.parse('{"at": "08:00"}'), context())
    assert (refused.success, refused.text) == (False, "say what")
