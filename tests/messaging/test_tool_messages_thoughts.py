from pathlib import Path

from agent.messaging.tool_messages import MAX_THOUGHT_CHARS
from agent.providers.base import ChatResponse
from agent.turn import history as turn_history
from agent.turn.settings import AgentSettings
from tests.fakes.channel import FakeChannel, message
from tests.fakes.dispatching import running
from tests.fakes.provider import ScriptedProvider
from tests.waits import wait_until

SHOWN = AgentSettings(show_thoughts=True)


def thinking(thoughts: str) -> ScriptedProvider:
    return ScriptedProvider(ChatResponse("It is noon.", thoughts=thoughts))


async def told(tmp_path: Path, thoughts: str, settings: AgentSettings, count: int) -> list[str]:
    channel = FakeChannel()
    async with running(tmp_path, thinking(thoughts), channel) as agent:
        agent.adopt(settings)
        await agent.say("what time is it?")
        said = await channel.wait_for(count)
        await wait_until(agent.is_idle)
        history = await agent.journal.transact(
            lambda db: turn_history.history(db, message("x").conversation)
        )
        assert "the sun" not in repr(history)
        return said


async def test_thoughts_are_told_before_the_answer_and_kept_nowhere(tmp_path: Path) -> None:
    said = await told(tmp_path, "Look at the sun.\nIt is high.", SHOWN, 2)
    assert said == ["```\nLook at the sun.\nIt is high.\n```", "It is noon."]


async def test_by_default_nobody_is_told(tmp_path: Path) -> None:
    assert await told(tmp_path, "Look at the sun.", AgentSettings(), 1) == ["It is noon."]


async def test_pages_of_thoughts_are_cut_and_end_no_block(tmp_path: Path) -> None:
    said = await told(tmp_path, "``` " + "so " * 5000, SHOWN, 2)
    assert len(said[0]) <= MAX_THOUGHT_CHARS + 10
    assert said[0].count("```") == 2
