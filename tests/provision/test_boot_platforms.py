"""A platform said on the card: its secrets leave it and become credentials that the agent finds."""

import tomllib
from collections.abc import Mapping
from pathlib import Path

import pytest

from agent.channels.catalog import NAMES, platform
from agent.channels.platform import Platform
from agent.channels.settings import ChannelsSettings
from agent.config import decode
from agent.provision.credentials import CREDENTIALS
from agent.provision.toml_text import Table, dumps
from tests.fakes.cassette_player import BESIDE
from tests.provision.conftest import Machine

# What is no word of letters and digits; anything else may be such a word
SHAPES: Mapping[tuple[str, str], object] = {
    ("telegram", "token"): "123456789:AAFakeTokenOfABotThatIsNone",
    ("discord", "token"): "hiddenDiscord.part.end",
    ("slack", "token"): "xoxb-1-hiddenSlack",
    ("slack", "app_token"): "xapp-1-hiddenSlack",
    ("signal", "account"): "+4915112345678",
    ("email", "address"): "barnacle@example.org",
    ("email", "imap"): "imaps://imap.example.org",
    ("email", "smtp"): "submissions://smtp.example.org",
    ("imessage", "base_url"): "http://mac.local:1234",
    ("irc", "url"): "ircs://irc.example.org",
    ("irc", "channels"): ["#lab"],
    ("mattermost", "base_url"): "https://chat.example.org",
    ("matrix", "base_url"): "https://matrix.example.org",
    ("lark", "base_url"): "https://open.feishu.cn",
    ("ntfy", "base_url"): "https://ntfy.example.org",
    ("mqtt", "url"): "mqtts://broker.example.org",
    ("qq", "app_id"): "1020304050",
    ("dingtalk", "client_id"): "dinghidden",
    ("dingtalk", "base_url"): "https://api.dingtalk.io",
    ("webhook", "reply_url"): "https://example.org/answers",
    ("webhook", "secret"): "whsec_aGlkZGVuSGlkZGVuSGlkZGVuSGlkZGVuSGlkZGVu",
    ("whatsapp", "phone_number_id"): "123456789012345",
    ("xmpp", "address"): "barnacle@example.org",
    ("xmpp", "rooms"): ["lab@rooms.example.org"],
}
# Of two ways in a card says one
OTHER_WAY = {("slack", "signing_secret"), ("matrix", "token")}
THERE = [platform(name) for name in NAMES if platform(name).wanted]


def _secrets(there: Platform) -> dict[str, str]:
    """Every secret that its table may say, by its key."""
    keys = [place[2] for place in CREDENTIALS if place[:2] == ("channels", there.name)]
    chosen = [str(key) for key in keys if (there.name, key) not in OTHER_WAY]
    return {key: str(_value(there.name, key)) for key in chosen}


def _value(name: str, key: str) -> object:
    return SHAPES.get((name, key), f"hidden{name}{key.replace('_', '')}")


def _card(there: Platform) -> Table:
    keys = [one.key for one in there.wanted if (there.name, one.key) not in OTHER_WAY]
    asked = {key: _value(there.name, key) for key in keys}
    told = {**asked, **_secrets(there)}
    return {"gateway": {}, "channels": {there.name: told, **BESIDE.get(there.name, {})}}


def _table(there: Platform) -> Table:
    channels = _card(there)["channels"]
    assert isinstance(channels, dict)
    return dict(channels[there.name])


def _handed_over(machine: Machine, folder: Path) -> dict[str, str]:
    """What a service is told, when systemd has put the credentials where it takes them from."""
    folder.mkdir()
    if machine.credstore.exists():
        for path in machine.credstore.glob("barnacle.*"):
            (folder / path.name).write_bytes(path.read_bytes())
    return {"CREDENTIALS_DIRECTORY": str(folder)}


@pytest.mark.parametrize("there", THERE, ids=lambda there: there.name)
def test_its_secrets_leave_the_card_and_the_agent_finds_them(
    machine: Machine, there: Platform, tmp_path: Path
) -> None:
    machine.write(dumps(_card(there)))
    assert machine.start(), machine.errors()
    secrets = _secrets(there)
    assert not [one for one in secrets.values() if one in machine.read()]
    # Not where the agent's group may read either
    assert not [one for one in secrets.values() if one in machine.config.read_text()]
    kept = tomllib.loads(machine.config.read_text())
    channels = decode(dumps(kept["channels"]), ChannelsSettings, machine.config)
    found = there.secrets(channels, _handed_over(machine, tmp_path / "handed"))
    assert {one.reveal() for one in found if one} == set(secrets.values())
    assert machine.start()
    assert {*secrets.values()} <= {text.decode().strip() for text in machine.kept().values()}


@pytest.mark.parametrize("there", THERE, ids=lambda there: there.name)
def test_what_it_needs_and_is_not_said_is_named(machine: Machine, there: Platform) -> None:
    for wanted in there.wanted:
        if not wanted.is_needed or getattr(_empty(there), wanted.key):
            continue
        told = _table(there)
        del told[wanted.key]
        machine.write(dumps({"gateway": {}, "channels": {there.name: told}}))
        assert not machine.start()
        assert f"channels.{there.name}: {wanted.key} is missing" in machine.errors()
        assert "hidden" not in machine.errors()


@pytest.mark.parametrize("there", THERE, ids=lambda there: there.name)
def test_what_it_can_do_without_may_be_left_out(machine: Machine, there: Platform) -> None:
    needed = [one.key for one in there.wanted if one.is_needed]
    told = {key: value for key, value in _table(there).items() if key in needed}
    channels = {there.name: told, **BESIDE.get(there.name, {})}
    machine.write(dumps({"gateway": {}, "channels": channels}))
    machine.start()
    # One of two ways in has to be said all the same
    others = [key for name, key in OTHER_WAY if name == there.name]
    assert not machine.errors() or others, machine.errors()


@pytest.mark.parametrize("there", [one for one in THERE if one.is_pushed], ids=lambda one: one.name)
def test_what_comes_in_by_the_gateway_wants_one(machine: Machine, there: Platform) -> None:
    card = _card(there)
    del card["gateway"]
    machine.write(dumps(card))
    assert not machine.start()
    assert "add a [gateway] table" in machine.errors()


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        ('[matrix]\nuser = "barnacle"', "channels.matrix has a user and no password"),
        ("[matrix]", "channels.matrix has no login"),
        ('[slack]\ntoken = "xoxb-1"', "channels.slack has no app_token"),
        (
            '[mqtt]\nurl = "mqtts://127.0.0.1"\nca_file = "/nowhere"',
            "cannot use channels.mqtt.ca_file /nowhere",
        ),
    ],
)
def test_what_no_single_key_tells_is_told_before_the_agent_would_not_start(
    machine: Machine, table: str, problem: str
) -> None:
    machine.write(table.replace("[", "[channels."))
    assert not machine.start()
    assert problem in machine.errors()
    # In the words of the file, and not of a shell that nobody has there
    assert "BARNACLE_" not in machine.errors()


def _empty(there: Platform) -> object:
    channels = decode(f"[{there.name}]", ChannelsSettings, Path("channels"))
    return getattr(channels, there.name)
