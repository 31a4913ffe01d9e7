"""Cassettes of real platforms, replayed: the channel understands what it understood then."""

from pathlib import Path

import msgspec
import pytest

from agent.channels.catalog import NAMES, platform
from agent.channels.settings import ChannelsSettings
from tests.fakes.cassette_player import lines_of, replayed

FOLDER = Path(__file__).with_name("cassettes")
CASSETTES = sorted(FOLDER.glob("*.jsonl"))
# Made up: a cassette holds no key, and its player asks for none
TABLES: dict[str, dict[str, object]] = {
    "telegram": {"token": "1:x"},
    "discord": {"token": "x"},
    "slack": {"token": "x", "app_token": "x"},
    "lark": {"app_id": "x", "app_secret": "x"},
    "dingtalk": {"client_id": "x", "client_secret": "x"},
    "qq": {"app_id": "1", "app_secret": "x"},
    "mattermost": {"base_url": "http://127.0.0.1:1", "token": "x"},
    "ntfy": {"topic": "x"},
}


@pytest.mark.parametrize("cassette", CASSETTES, ids=lambda path: path.stem)
async def test_a_real_platforms_messages_are_understood(cassette: Path, tmp_path: Path) -> None:
    name = cassette.stem.partition("-")[0]
    channels = msgspec.convert({name: TABLES[name]}, ChannelsSettings)
    lines = lines_of(cassette)
    heard = await replayed(platform(name), channels, lines, tmp_path)
    told = [line["heard"] for line in lines if "heard" in line]
    assert [(one.text, one.sender, one.reply_target) for one in heard] == [
        (one["text"], one["sender"], one["target"]) for one in told
    ]


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
