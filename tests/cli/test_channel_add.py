"""A platform is set up as its guide says: what a person types is taken by the platform itself."""

import contextlib
import os
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from agent.channels.catalog import NAMES, platform
from agent.channels.platform import Platform
from agent.cli import exits
from agent.cli.main import main
from agent.config import decode
from agent.provision.toml_text import dumps
from agent.settings import Settings
from tests.fakes import (
    bluebubbles_server,
    dingtalk_server,
    discord_server,
    gateway,
    irc_server,
    lark_server,
    mail_server,
    mattermost_server,
    mosquitto,
    ntfy_server,
    prosody,
    qq_server,
    signal_daemon,
    slack_server,
    synapse,
    telegram_server,
    whatsapp_server,
)
from tests.fakes.room import no_alsa, room_in
from tests.fakes.serving_thread import ServingThread

GUIDES = Path(__file__).resolve().parents[2] / "agent" / "channels"
_BLOCK = re.compile(r"```toml\n(.*?)```", re.DOTALL)
_OFF = re.compile(r"^# *(?=[a-z_]+ = )", re.MULTILINE)


@dataclass(frozen=True)
class Console:
    """Where a platform's account was made: what a person copies from there.

    Args:
        typed: by the key that is asked for.
        before: of the table, for what is never asked: that the platform is on this machine.
        beside: other tables of the channels, which the platform needs.
    """

    typed: Mapping[str, str]
    before: Mapping[str, str] = field(default_factory=dict)
    beside: Mapping[str, object] = field(default_factory=dict)


Opened = AbstractContextManager[Console]


def guide_of(name: str) -> str:
    """The platform's page, or its part of the page of all."""
    own = GUIDES / name / "README.md"
    if own.exists():
        return own.read_text(encoding="utf-8")
    page = (GUIDES / "README.md").read_text(encoding="utf-8")
    (part,) = re.findall(
        rf"^## {name}$(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL | re.IGNORECASE
    )
    return str(part)


def shown(name: str) -> tuple[str, dict[str, Any]]:
    """The guide's first configuration with the platform's table: its text, and what it says."""
    for text in _BLOCK.findall(guide_of(name)):
        told = tomllib.loads(text)
        if name in told.get("channels", {}):
            return text, told
    raise AssertionError(f"the guide of {name} shows no [channels.{name}]")


@pytest.mark.parametrize("name", NAMES)
def test_a_guide_shows_a_table_that_is_taken_with_all_that_is_needed(name: str) -> None:
    text, told = shown(name)
    decode(text, Settings, Path("guide.toml"))
    there = told["channels"][name].keys()
    for wanted in platform(name).wanted:
        assert not wanted.is_needed or there & {wanted.key, f"{wanted.key}_file"}


@pytest.mark.parametrize("name", NAMES)
def test_what_a_guide_shows_switched_off_may_be_switched_on(name: str) -> None:
    text, told = shown(name)
    for line in _OFF.finditer(text):
        one = text[line.end() :].partition("\n")[0]
        table = {**told["channels"][name], **tomllib.loads(one)}
        decode(dumps({"channels": {name: table}}), Settings, Path("guide.toml"))


class GuidedPerson:
    """A person who types what the platform's console shows, and has it written."""

    def __init__(self, there: Platform, typed: Mapping[str, str]) -> None:
        self._typed = {wanted.question: typed.get(wanted.key, "") for wanted in there.wanted}
        self._asked: set[str] = set()

    def __call__(self, question: str = "") -> str:
        asked = next((one for one in self._typed if one in question), "")
        # Whoever is asked again has been refused, and has nothing else to type
        assert asked not in self._asked, question
        self._asked.add(asked)
        return self._typed[asked] if asked else "y"


def served(
    opened: Callable[[], AbstractAsyncContextManager[Any]], told: Callable[[Any], Console]
) -> Callable[[Path], Opened]:
    @contextlib.contextmanager
    def opening(_: Path) -> Iterator[Console]:
        with ServingThread(opened()) as thread:
            yield told(thread.served)

    return opening


@contextlib.contextmanager
def irc(folder: Path) -> Iterator[Console]:
    with ServingThread(irc_server.running(folder / "ngircd")) as thread:
        url = f"irc://127.0.0.1:{thread.served.port}"
        yield Console({"url": url, "nick": "barnacle", "channels": "#lab, #garden"})


@contextlib.contextmanager
def voice(folder: Path) -> Iterator[Console]:
    if reason := no_alsa():
        pytest.skip(reason)
    speech = {
        "kind": "wyoming",
        "server": "tcp://127.0.0.1:9",
        "speaker": {"kind": "espeak-ng"},
    }
    with room_in(folder / "room") as room, mock.patch.dict(os.environ, room.environ):
        yield Console({"microphone": "mic", "loudspeaker": "speaker"}, {}, {"speech": speech})


@contextlib.contextmanager
def mqtt(folder: Path) -> Iterator[Console]:
    if reason := mosquitto.unavailable_reason():
        pytest.skip(reason)
    with mosquitto.running(folder, *mosquitto.with_password(folder)) as broker:
        url = f"mqtt://127.0.0.1:{broker.port}"
        yield Console({"url": url, "user": mosquitto.USER, "password": mosquitto.PASSWORD})


@contextlib.contextmanager
def email(_: Path) -> Iterator[Console]:
    server = mail_server.shared()
    yield Console(
        {
            "address": "barnacle@example.org",
            "imap": f"imap://127.0.0.1:{server.imap}",
            "smtp": f"submission://127.0.0.1:{server.smtp}",
            "password": mail_server.PASSWORD,
            "authserv_id": mail_server.VOUCHES,
        }
    )


@contextlib.contextmanager
def xmpp(_: Path) -> Iterator[Console]:
    server = prosody.shared()
    here = {"server": f"xmpp://127.0.0.1:{server.port}", "ca_file": str(server.certificate)}
    yield Console({"address": server.account("barnacle"), "password": prosody.PASSWORD}, here)


@contextlib.contextmanager
def matrix(_: Path) -> Iterator[Console]:
    server = synapse.shared()
    account = server.account("barnacle")
    url = f"http://127.0.0.1:{server.port}"
    yield Console({"base_url": url, "user": account.id, "password": "password"})


@contextlib.contextmanager
def webhook(_: Path) -> Iterator[Console]:
    yield Console({"reply_url": "http://127.0.0.1:9/answers", "secret": gateway.SECRET})


CONSOLES: Mapping[str, Callable[[Path], Opened]] = {
    "telegram": served(
        telegram_server.running,
        lambda one: Console({"token": one.token}, {"base_url": one.base_url}),
    ),
    "signal": served(
        lambda: signal_daemon.running(signal_daemon.SignalDaemon()),
        lambda one: Console({}, {"base_url": one.url}),
    ),
    "dingtalk": served(
        dingtalk_server.running,
        lambda one: Console(
            {
                "client_id": dingtalk_server.CLIENT_ID,
                "client_secret": dingtalk_server.SECRET,
                "base_url": one.url,
            }
        ),
    ),
    "discord": served(
        discord_server.running,
        lambda one: Console({"token": discord_server.TOKEN}, {"base_url": one.url}),
    ),
    "slack": served(
        slack_server.running,
        lambda one: Console(
            {"token": slack_server.BOT_TOKEN, "app_token": slack_server.APP_TOKEN},
            {"base_url": one.url},
        ),
    ),
    "mattermost": served(
        mattermost_server.running,
        lambda one: Console({"base_url": one.url, "token": mattermost_server.TOKEN}),
    ),
    "email": email,
    "imessage": served(
        lambda: bluebubbles_server.running(bluebubbles_server.BlueBubblesServer()),
        lambda one: Console({"base_url": one.url, "password": bluebubbles_server.PASSWORD}),
    ),
    "irc": irc,
    "matrix": matrix,
    "lark": served(
        lark_server.running,
        lambda one: Console(
            {
                "app_id": lark_server.APP_ID,
                "app_secret": lark_server.SECRET,
                "base_url": one.url,
            }
        ),
    ),
    "qq": served(
        qq_server.running,
        lambda one: Console(
            {"app_id": qq_server.APP_ID, "app_secret": qq_server.SECRET},
            {"base_url": one.url, "auth_url": one.url},
        ),
    ),
    "webhook": webhook,
    "whatsapp": served(
        whatsapp_server.running,
        lambda one: Console(
            {
                "phone_number_id": whatsapp_server.NUMBER_ID,
                "token": whatsapp_server.TOKEN,
                "app_secret": whatsapp_server.APP_SECRET,
            },
            {"base_url": one.url},
        ),
    ),
    "mqtt": mqtt,
    "ntfy": served(
        lambda: ntfy_server.running(ntfy_server.NtfyServer(is_closed=True)),
        lambda one: Console(
            {"base_url": one.url, "topic": "greenhouse-4711", "token": ntfy_server.TOKEN}
        ),
    ),
    "voice": voice,
    "xmpp": xmpp,
}


@pytest.mark.parametrize("name", NAMES)
def test_what_the_console_shows_is_typed_and_taken(
    name: str,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    config = home / ".config/barnacle/barnacle.toml"
    config.parent.mkdir(parents=True)
    with CONSOLES[name](home) as console:
        if console.before or console.beside:
            table = {name: dict(console.before)} if console.before else {}
            config.write_text(dumps({"channels": {**table, **console.beside}}))
            config.chmod(0o600)
        for place in ("sys.stdin.isatty", "sys.stdout.isatty"):
            monkeypatch.setattr(place, lambda: True)
        person = GuidedPerson(platform(name), console.typed)
        for place in ("builtins.input", "getpass.getpass"):
            monkeypatch.setattr(place, person)
        assert main(["channel", "add", name]) == exits.OK
        said = capsys.readouterr().out
        assert "Written." in said
        for wanted in platform(name).wanted:
            said = said.replace(wanted.how, "")
        for wanted in platform(name).wanted:
            assert not wanted.is_secret or console.typed.get(wanted.key, "-") not in said
        assert main(["channel", "test", name]) == exits.OK
    assert capsys.readouterr().out.startswith("ok ")
    table = tomllib.loads(config.read_text())["channels"][name]
    assert console.typed.keys() <= table.keys()
