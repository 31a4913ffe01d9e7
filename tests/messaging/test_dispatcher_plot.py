"""`/plot`: a picture goes where files can go, and a line of text where not."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from agent.channels.base import Abilities
from agent.messages import Inbound
from tests.fakes.channel import FakeChannel
from tests.fakes.dispatching import running
from tests.fakes.provider import ScriptedProvider
from tests.waits import wait_until

PNG = b"\x89PNG and more"


class PictureChannel(FakeChannel):
    """Takes files."""

    abilities = Abilities(takes_files=True)


@pytest.mark.parametrize("channel", [PictureChannel(), FakeChannel()])
async def test_a_plot_is_a_picture_only_where_files_can_go(
    tmp_path: Path, channel: FakeChannel
) -> None:
    asked: list[str] = []
    async with running(tmp_path, ScriptedProvider(), channel) as agent:
        workspace = Path(agent.dispatcher._conversations.workspace)
        (workspace / "pictures").mkdir(parents=True)
        (workspace / "pictures" / "room.png").write_bytes(PNG)

        async def plot(message: Inbound, *, takes_files: bool) -> str:
            asked.append(message.text)
            return "[IMAGE:pictures/room.png]\nroom: 20 to 22" if takes_files else "room: ▁█"

        agent.dispatcher._desk = replace(agent.dispatcher._desk, plot=plot)
        await agent.say("/plot temperature 24h")
        await wait_until(lambda: channel.sent)
    assert asked == ["/plot temperature 24h"]
    (sent,) = channel.sent
    if channel.abilities.takes_files:
        assert (sent.text, len(sent.files)) == ("room: 20 to 22", 1)
        assert sent.files[0].media_type == "image/png"
    else:
        assert (sent.text, sent.files) == ("room: ▁█", ())


async def test_an_agent_that_records_nothing_says_so(tmp_path: Path) -> None:
    channel = FakeChannel()
    async with running(tmp_path, ScriptedProvider(), channel) as agent:
        await agent.say("/plot temperature")
        assert await channel.wait_for(1) == ["Nothing is recorded here."]
