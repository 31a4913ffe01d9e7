"""A typo in the configuration, a bad reload, a rotated key: refused by path, or taken up whole."""

import asyncio
import contextlib
import io
import itertools
import typing
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from agent.app.build import assemble, at_work
from agent.app.reload import LOOK_S
from agent.channels.base import Answer
from agent.cli import exits
from agent.cli.main import main
from agent.config import MAX_CONFIG_BYTES, Secret, load
from agent.messages import Outbound
from agent.messaging.dispatcher import Dispatcher
from agent.settings import Paths, Settings
from tests.fakes.channel import LocalChannel, message
from tests.fakes.keyed_service import KeyedService, keyed_service
from tests.test_settings import KEYS, base_of, extremes, set_to, uncommented

# Of every key of the example: what a hand does to it by mistake
WRONG_TYPE = {int: '"many"', float: '"many"', bool: '"yes"', str: "7", Secret: "7"}
CONFIG = """
[agent]
name = "NAME"
autonomy = "AUTONOMY"
[provider]
kind = "openai"
base_url = "URL"
model = "m"
api_key = "KEY"
offline_last = false
[embeddings]
provider = "none"
[memory]
backend = "none"
"""
OLD, NEW = "key-of-yesterday", "key-of-today"


def wrong_type(key: str) -> str:
    return WRONG_TYPE.get(base_of(key), "1979-05-27")


def checked(folder: Path, text: str, capsys: pytest.CaptureFixture[str]) -> str:
    """What `barnacle check` says of a file that it must refuse."""
    path = folder / "x.toml"
    path.write_text(text)
    assert main(["check", str(path)]) == exits.USAGE
    told = capsys.readouterr()
    assert "Traceback" not in told.err
    return told.out + told.err


@pytest.mark.parametrize("key", KEYS)
def test_every_key_renamed_mistyped_or_extreme_is_refused_with_its_path(
    key: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    section, _, name = key.rpartition(".")
    renamed = f"{name}q"
    told = checked(tmp_path, set_to(key, f"{renamed} = 1"), capsys)
    assert f"`{section}.{renamed}`: unknown key; did you mean `{name}`?" in told
    for bad in (wrong_type(key), *extremes(base_of(key))):
        text = set_to(key, f"{name} = {bad}")
        where = f"`{key}`:" if len(text) <= MAX_CONFIG_BYTES else "is longer than"
        assert f"x.toml: {where}" in checked(tmp_path, text, capsys)


@pytest.mark.parametrize("key", KEYS)
def test_a_key_that_is_deleted_means_its_default(key: str, tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    path.write_text(set_to(key, ""))
    assert load(path, Settings) == Settings()
    assert uncommented() != path.read_text()


@dataclass
class Running:
    """A whole agent whose configuration a test changes."""

    config: Path
    url: str
    channel: LocalChannel
    dispatcher: Dispatcher
    tasks: asyncio.TaskGroup
    numbers: typing.Iterator[int]

    def write(self, **changed: str) -> None:
        new = self.config.with_suffix(".new")
        new.write_text(config(self.url, **changed))
        new.replace(self.config)

    async def say(self, text: str) -> str:
        """The answer to a message."""
        number = f"{next(self.numbers)}"
        await self.dispatcher.deliver(message(text, number, channel="terminal"), self.tasks)
        return await self._sent(lambda one: one.in_reply_to == number)

    async def told(self, words: str) -> str:
        """What the owner is told of a change, as soon as they are."""
        return await self._sent(lambda one: words in one.text)

    async def _sent(self, is_it: Callable[[Outbound], bool]) -> str:
        while not (found := [one.text for one in self.channel.sent if is_it(one)]):
            self.channel.arrived.clear()
            await self.channel.arrived.wait()
        return found[-1]


def config(url: str, name: str = "Otto", autonomy: str = "supervised", key: str = OLD) -> str:
    values = {"NAME": name, "AUTONOMY": autonomy, "URL": url, "KEY": key}
    text = CONFIG
    for mark, value in values.items():
        text = text.replace(f'"{mark}"', f'"{value}"')
    return text


class Screen(LocalChannel):
    """The owner's own terminal, as far as the agent can tell."""

    name = "terminal"


@contextlib.asynccontextmanager
async def agent(
    folder: Path, service: KeyedService, answer: Answer = Answer.NO
) -> AsyncIterator[Running]:
    assert service.server is not None
    path = folder / "barnacle.toml"
    path.write_text(config(service.server.base_url))
    made = assemble(load(path, Settings), Paths(path, folder / "state"), {}, io.StringIO())
    channel = Screen(answer)
    async with at_work(made, [channel]) as (dispatcher, _, tasks):
        url = service.server.base_url
        yield Running(path, url, channel, dispatcher, tasks, itertools.count())


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent.app.reload.LOOK_S", LOOK_S / 100)


async def test_a_rotated_key_is_used_at_once_and_the_old_one_no_more(tmp_path: Path) -> None:
    async with keyed_service(OLD) as service, agent(tmp_path, service) as running:
        assert await running.say("hello") == "fine"
        # Revoked in the middle of a run: the service says 401
        service.good = {NEW}
        assert "fine" not in await running.say("hello?")
        assert service.refused
        running.write(key=NEW)
        told = await running.told("configuration")
        assert "provider.api_key" in told
        assert NEW not in told
        asked_before = len(service.seen)
        assert await running.say("hello again") == "fine"
        assert set(service.seen[asked_before:]) == {NEW}


@pytest.mark.parametrize("bad", ['[provider]\nkidn = "openai"\n', "[agent", ""])
async def test_a_bad_reload_keeps_what_there_was_and_says_so(tmp_path: Path, bad: str) -> None:
    async with keyed_service(OLD) as service, agent(tmp_path, service) as running:
        assert await running.say("hello") == "fine"
        if bad:
            running.config.write_text(bad)
        else:
            running.config.unlink()
        told = await running.told("I keep using the previous one")
        assert str(running.config) in told
        if "kidn" in bad:
            assert "did you mean `kind`?" in told
        assert await running.say("hello") == "fine"
        assert set(service.seen) == {OLD}


async def test_a_reload_during_a_turn_lets_it_end(tmp_path: Path) -> None:
    async with keyed_service(OLD, NEW) as service, agent(tmp_path, service) as running:
        saying = asyncio.create_task(running.say("hello"))
        running.write(name="Anna", key=NEW)
        assert await running.told("provider.api_key")
        assert await saying == "fine"
        assert await running.say("hello") == "fine"
        assert service.seen[-1] == NEW


async def test_limits_tighten_by_reload_and_loosen_only_with_a_yes(tmp_path: Path) -> None:
    async with keyed_service(OLD) as service, agent(tmp_path, service) as running:
        running.write(autonomy="readonly")
        assert "Active now: agent.autonomy" in await running.told("configuration")
        running.write(autonomy="full")
        told = await running.told("not approved")
        assert "agent.autonomy" in told
        (question,) = running.channel.questions
        assert '"full"' in question.arguments_json


async def test_with_the_owners_yes_they_do(tmp_path: Path) -> None:
    async with keyed_service(OLD) as service, agent(tmp_path, service, Answer.YES) as running:
        running.write(autonomy="full")
        assert "Active now: agent.autonomy" in await running.told("configuration")
        assert len(running.channel.questions) == 1


def test_the_start_refuses_what_check_refuses(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    path = tmp_path / "x.toml"
    path.write_text('[board]\nprot = "/dev/ttyACM0"\n')
    assert main(["run", "--config", str(path)]) == exits.USAGE
    said = capsys.readouterr().err
    assert "`board.prot`: unknown key; did you mean `port`?" in said
    assert said.startswith(f"barnacle: {path}")
    # Nothing was begun
    assert not (tmp_path / ".local").exists()
