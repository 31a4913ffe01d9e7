import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from agent.app.build import Agent, assemble
from agent.app.channels import AgentState, open_channels, secrets
from agent.channels.mqtt.own_mirror import UpdateState
from agent.channels.platform import COMMANDS, PlatformContext
from agent.channels.settings import ChannelsSettings, TelegramSettings
from agent.channels.speech_settings import SpeechSettings
from agent.config import Secret
from agent.embeddings.settings import EmbeddingsSettings
from agent.errors import ConfigRefused
from agent.link.settings import BoardSettings, WatchSettings
from agent.net.http import HttpClient
from agent.settings import Paths, Settings
from agent.system.clock import SystemClock
from agent.update.records import Trial, UpdateOutcome, UpdateRecords, sentence_of
from tests.fakes.lent_agent import quiet_log
from tests.fakes.owner import ListeningOwner
from tests.waits import stays

TOKEN = "123456:AAE-a_token-of-the-tests"


def configured(**telegram: object) -> Settings:
    wanted = msgspec.structs.replace(TelegramSettings(), **telegram)
    return Settings(channels=ChannelsSettings(telegram=wanted))


def opened(settings: Settings, folder: Path, environ: dict[str, str] | None = None) -> list[str]:
    reach = PlatformContext(Paths(None, folder), environ or {}, HttpClient(), SystemClock())
    return [channel.name for channel in open_channels(settings, reach)]


def told(settings: Settings, environ: dict[str, str]) -> list[str]:
    return [secret.reveal() for secret in secrets(settings, environ) if secret]


def test_without_a_table_there_is_no_platform(tmp_path: Path) -> None:
    assert opened(Settings(), tmp_path, {"BARNACLE_TELEGRAM_TOKEN": TOKEN}) == []


def test_a_table_with_a_token_is_a_platform(tmp_path: Path) -> None:
    assert opened(configured(token=Secret(TOKEN)), tmp_path) == ["telegram"]


def test_a_token_comes_from_a_file_the_environment_or_systemd(tmp_path: Path) -> None:
    (tmp_path / "telegram_token").write_text(f"{TOKEN}\n")
    file = configured(token_file=str(tmp_path / "telegram_token"))
    for settings, environ in (
        (file, {}),
        (configured(), {"BARNACLE_TELEGRAM_TOKEN": TOKEN}),
        (configured(), {"CREDENTIALS_DIRECTORY": str(tmp_path)}),
    ):
        assert opened(settings, tmp_path, environ) == ["telegram"]
        assert told(settings, environ) == [TOKEN]


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        (configured(), "has no token: ask @BotFather"),
        (configured(token=Secret("hunter2")), "expected a token from @BotFather"),
        (configured(token=Secret("123456:abc/../sendMessage")), "expected a token from @BotFather"),
        (configured(token_file="/nowhere/token"), "cannot read /nowhere/token"),
    ],
)
def test_what_cannot_be_used_is_refused_without_repeating_it(
    settings: Settings, reason: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigRefused, match=reason) as caught:
        opened(settings, tmp_path)
    assert "hunter2" not in str(caught.value)


def test_a_key_is_for_the_service_that_gave_it() -> None:
    """A speech service at another address gets no key that was not meant for it."""
    environ = {"OPENAI_API_KEY": "sk-openai"}
    theirs = Settings(channels=ChannelsSettings(speech=SpeechSettings()))
    other = SpeechSettings(base_url="http://192.168.1.20:8000/v1")
    ours = Settings(channels=ChannelsSettings(speech=other))
    assert told(theirs, environ) == ["sk-openai"]
    assert told(ours, environ) == []


def test_the_commands_are_what_platforms_take() -> None:
    assert all(name.isascii() and name.islower() and len(name) <= 32 for name, _ in COMMANDS)
    assert all(1 <= len(words) <= 256 for _, words in COMMANDS)


def agent_of(folder: Path, board: BoardSettings | None = None) -> Agent:
    embeddings = EmbeddingsSettings(provider="none")
    settings = Settings(embeddings=embeddings, board=board or BoardSettings())
    with quiet_log() as log:
        return assemble(settings, Paths(None, folder / "state"), {}, log)


def as_image(root: Path) -> UpdateRecords:
    """Make the files by which a machine is known to run an image of ours."""
    identity = {"version": "0.2.0", "built_s": 1, "architecture": "arm64"}
    image = root / "usr/share/barnacle/image.json"
    image.parent.mkdir(parents=True)
    image.write_text(json.dumps({**identity, "slots": {"A": "x-02", "B": "x-03"}}))
    (root / "proc").mkdir()
    (root / "proc/cmdline").write_text("root=PARTUUID=x-02 barnacle.slot=A")
    return UpdateRecords(root / "data/update")


@contextlib.asynccontextmanager
async def watching(agent: Agent) -> AsyncIterator[None]:
    """Its watches at work."""
    [watcher] = agent.watchers
    running = asyncio.ensure_future(watcher.run(ListeningOwner()))
    try:
        yield
    finally:
        running.cancel()
        await asyncio.wait([running])
        await agent.aclose()


async def test_the_state_of_an_agent_is_told_with_each_trouble(tmp_path: Path) -> None:
    agent = agent_of(tmp_path)
    state = AgentState(agent, tmp_path)
    async with watching(agent):
        found = await state.look()
        assert (found.stopped, found.troubles, found.update) == ("", (), None)
        waiting = asyncio.ensure_future(state.change(60.0))
        await agent.stop.engage("by anna")
        await waiting
        agent.activity.note_trouble("telegram", "nobody answers")
        agent.activity.note_gap("matrix", "nobody let us in")
        found = await state.look()
        assert found.stopped == "by anna"
        assert set(found.troubles) == {"telegram: nobody answers", "matrix: nobody let us in"}


async def test_the_watches_are_told_when_all_of_them_are_known(tmp_path: Path) -> None:
    """One that were missing at the start would be taken back where it is shown."""
    dry = WatchSettings(pin="a0", below=0.8)
    board = BoardSettings(port=str(tmp_path / "none"), watch={"dry": dry})
    agent = agent_of(tmp_path, board)
    looking = asyncio.ensure_future(AgentState(agent, tmp_path).look())
    await stays(lambda: not looking.done(), 0.05)
    async with watching(agent):
        assert (await looking).watches == {"dry": None}


async def test_an_update_is_known_where_the_system_has_slots(tmp_path: Path) -> None:
    records = as_image(tmp_path)
    agent = agent_of(tmp_path)
    state = AgentState(agent, tmp_path)
    async with watching(agent):
        assert (await state.look()).update == UpdateState("0.2.0")
        records.folder.mkdir(parents=True)
        records.write(Trial("B", "0.3.0", "0.2.0"))
        assert (await state.look()).update == UpdateState("0.2.0", "0.3.0", is_tried=True)
        records.forget("trial.json")
        outcome = UpdateOutcome("0.3.0", "0.2.0", is_kept=False, at_s=1.0, reason="it was ill")
        records.write(outcome)
        told = UpdateState("0.2.0", "0.3.0", sentence_of(outcome))
        assert (await state.look()).update == told
