from pathlib import Path

import pytest

from agent.channels.settings import ChannelsSettings, ImessageSettings
from agent.clock import SystemClock
from agent.errors import ConfigRefused
from agent.http import HttpClient
from agent.platforms.base import Reach
from agent.platforms.catalog import platform
from agent.reaching import open_channels
from agent.settings import Paths, Settings


async def test_who_configures_it_is_told_why_not_and_what_instead(tmp_path: Path) -> None:
    channels = ChannelsSettings(imessage=ImessageSettings())
    reach = Reach(Paths(None, tmp_path), {}, HttpClient(), SystemClock())
    with pytest.raises(ConfigRefused, match=r"a Mac with its own program alone.*over Signal"):
        open_channels(Settings(channels=channels), reach)
    with pytest.raises(ConfigRefused, match="Take the table out"):
        await platform("imessage").identify(channels, reach)
    assert list(platform("imessage").secrets(channels, {})) == []
