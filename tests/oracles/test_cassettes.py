"""Cassettes of real platforms, replayed: the channel understands what it understood then."""

from pathlib import Path

import pytest

from agent.channels.catalog import NAMES, platform
from agent.channels.platform import PlatformContext
from agent.channels.record.recording import RecordingPaths
from agent.net.http import HttpClient
from agent.system.clock import SystemClock
from tests.fakes.cassette_player import channels_of, lines_of, replayed

FOLDER = Path(__file__).with_name("cassettes")
CASSETTES = sorted(FOLDER.glob("*.jsonl"))
_NONE_YET = pytest.mark.skip(reason="nobody with an account has recorded a cassette yet")


@pytest.mark.parametrize(
    "cassette",
    [pytest.param(path, id=path.stem) for path in CASSETTES]
    or [pytest.param(FOLDER, id="none", marks=_NONE_YET)],
)
async def test_a_real_platforms_messages_are_understood(cassette: Path, tmp_path: Path) -> None:
    name = cassette.stem.partition("-")[0]
    lines = lines_of(cassette)
    heard = await replayed(platform(name), channels_of(name, lines), lines, tmp_path)
    told = [line["heard"] for line in lines if "heard" in line]
    assert [(one.text, one.sender, one.reply_target) for one in heard] == [
        (one["text"], one["sender"], one["target"]) for one in told
    ]


@pytest.mark.parametrize("name", [one for one in NAMES if not platform(one).is_confirmed])
async def test_the_first_cassette_of_a_platform_can_be_played(name: str, tmp_path: Path) -> None:
    http = HttpClient()
    reach = PlatformContext(RecordingPaths(tmp_path), {}, http, SystemClock())
    channel = platform(name).open(channels_of(name, []), reach)
    await channel.aclose()
    await http.aclose()


@pytest.mark.parametrize("name", NAMES)
def test_a_platform_is_confirmed_once_a_cassette_of_it_is_here(name: str) -> None:
    there = [one for one in CASSETTES if one.stem.partition("-")[0] == name]
    assert platform(name).is_confirmed or not there


@pytest.mark.parametrize("name", [one for one in NAMES if not platform(one).is_confirmed])
def test_the_guide_says_that_a_platform_is_unconfirmed(name: str) -> None:
    guides = FOLDER.parents[2] / "agent" / "channels"
    own = guides / name / "README.md"
    guide = (own if own.exists() else guides / "README.md").read_text(encoding="utf-8")
    if own.exists():
        assert "*Unconfirmed:*" in guide
    else:
        section = guide.lower().partition(f"\n## {name}")[2].partition("\n## ")[0]
        assert "*unconfirmed:*" in section
