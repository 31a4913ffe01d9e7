import asyncio
import json
import logging
import os
from pathlib import Path

import pytest

from agent.app.reload import (
    LOOK_S,
    SETTLE_S,
    WATCHED_S,
    Reloader,
    ReloadTargets,
    differences,
)
from agent.channels.base import Answer, Question
from agent.config import Secret, load
from agent.errors import ConfigRefused
from agent.memory.settings import MemorySettings
from agent.security.policy import Autonomy
from agent.settings import Settings
from agent.turn.settings import AgentSettings
from tests.canaries import secret
from tests.fakes.clock import SteppedClock

TOKEN = f"1000000001:{secret('a-token-of-a-reload')}"
USUAL = '[agent]\nname = "Otto"\nautonomy = "supervised"\n[provider]\napi_key = "old"\n'


class Agent:
    """What a running agent was told to go by."""

    def __init__(self, folder: Path, answer: Answer = Answer.NONE) -> None:
        self.path = folder / "barnacle.toml"
        self.agent: AgentSettings | None = None
        self.renewed: list[Settings] = []
        self.told: list[str] = []
        self.heard = asyncio.Event()
        self.asked: list[Question] = []
        self.answer = answer
        self.refusal = ""
        self.is_offline = False
        self.path.write_text(USUAL)
        exchanges = ReloadTargets(self.adopt, self.renew, self.confirm, self.tell)
        running = load(self.path, Settings)
        self.reloading = Reloader(self.path, running, exchanges, SteppedClock())

    def adopt(self, agent: AgentSettings, memory: MemorySettings) -> None:
        assert memory.recall_limit
        self.agent = agent

    async def renew(self, settings: Settings) -> bool:
        if self.refusal:
            raise ConfigRefused(self.refusal)
        self.renewed.append(settings)
        return not self.is_offline

    async def confirm(self, question: Question) -> Answer:
        self.asked.append(question)
        return self.answer

    async def tell(self, text: str) -> None:
        self.told.append(text)
        self.heard.set()

    async def write(self, text: str) -> str:
        """What the owner is told of the file."""
        new = self.path.with_suffix(".new")
        new.write_text(text)
        new.replace(self.path)
        before = len(self.told)
        await self.reloading.look()
        return "\n".join(self.told[before:])


async def test_a_file_that_says_what_is_so_changes_nothing(tmp_path: Path) -> None:
    agent = Agent(tmp_path)
    await agent.reloading.look()
    assert await agent.write(f"# a word\n{USUAL}") == ""
    assert agent.renewed == []
    assert agent.asked == []


async def test_what_can_be_exchanged_is_at_once_and_the_rest_is_named(tmp_path: Path) -> None:
    agent = Agent(tmp_path)
    told = await agent.write(USUAL.replace("Otto", "Anna") + '[board]\nport = "/dev/ttyACM7"\n')
    assert told == (
        "The configuration was changed.\n"
        "Active now: agent.name.\n"
        "Active after a restart: board.port."
    )
    assert agent.agent is not None
    assert agent.agent.name == "Anna"


async def test_more_is_logged_from_now_on(tmp_path: Path) -> None:
    agent = Agent(tmp_path)
    before = logging.getLogger().level
    try:
        told = await agent.write(f'{USUAL}[log]\nlevel = "debug"\n')
        assert told == "The configuration was changed.\nActive now: log.level."
        assert logging.getLogger().level == logging.DEBUG
    finally:
        logging.getLogger().setLevel(before)


async def test_what_waits_for_a_restart_is_said_by_name_and_never_by_value(tmp_path: Path) -> None:
    agent = Agent(tmp_path)
    more = f'[channels.telegram]\ntoken = "{TOKEN}"\n[web]\nallow = ["example.org"]\n'
    told = await agent.write(f'{USUAL}{more}[hooks]\nmodules = ["my.module:Hook"]\n')
    head, sentence = told.split("\n")
    assert head == "The configuration was changed."
    assert sentence == "Active after a restart: web.allow, hooks.modules, channels.telegram."
    assert TOKEN not in told


@pytest.mark.parametrize(
    "wrong",
    ["[agent", '[agent]\nnmae = "x"', '[agent]\nturn_timeout_s = "x"', "[nothing]", "\udc80"],
)
async def test_a_wrong_file_changes_nothing_and_says_where(tmp_path: Path, wrong: str) -> None:
    agent = Agent(tmp_path)
    before = agent.reloading.running
    agent.path.write_bytes(wrong.encode(errors="surrogateescape"))
    await agent.reloading.look()
    await agent.reloading.look()
    assert len(agent.told) == 1
    assert "I keep using the previous one" in agent.told[0]
    assert str(agent.path) in agent.told[0]
    assert agent.reloading.running is before
    assert agent.agent is None
    assert agent.renewed == []


async def test_a_file_that_is_written_in_its_place_is_another_one(tmp_path: Path) -> None:
    agent = Agent(tmp_path)
    await agent.reloading.look()
    seen = agent.path.stat()
    agent.path.write_text(USUAL.replace("Otto", "Anna"))
    os.utime(agent.path, ns=(seen.st_atime_ns, seen.st_mtime_ns + 1))
    await agent.reloading.look()
    assert agent.reloading.running.agent.name == "Anna"


async def test_a_file_that_is_gone_changes_nothing(tmp_path: Path) -> None:
    agent = Agent(tmp_path)
    agent.path.unlink()
    await agent.reloading.look()
    assert "cannot be read" in agent.told[0]
    assert agent.renewed == []


async def test_another_key_is_used_from_now_on_and_never_told(tmp_path: Path) -> None:
    agent = Agent(tmp_path)
    told = await agent.write(USUAL.replace("old", "new-key-1"))
    assert told == "The configuration was changed.\nActive now: provider.api_key."
    assert [one.provider.api_key for one in agent.renewed] == [Secret("new-key-1")]


async def test_another_model_answers_from_now_on(tmp_path: Path) -> None:
    agent = Agent(tmp_path)
    told = await agent.write(f'{USUAL}model = "small"\ncontext_tokens = 4096\n')
    assert told == (
        "The configuration was changed.\nActive now: provider.model, provider.context_tokens."
    )
    assert [one.provider.model for one in agent.renewed] == ["small"]


@pytest.mark.parametrize(
    "line",
    [
        *("turn_timeout_s = 77.0", "history_tokens = 2345", "show_tool_calls = true"),
        *("show_thoughts = true", 'name = "Anna"'),
    ],
)
async def test_how_turns_are_taken_is_exchanged_at_once(tmp_path: Path, line: str) -> None:
    agent = Agent(tmp_path)
    told = await agent.write(USUAL.replace('name = "Otto"', line))
    active = told.splitlines()[1]
    assert f"agent.{line.split(maxsplit=1)[0]}" in active
    assert "restart" not in told


@pytest.mark.parametrize(
    "line",
    [
        *('more_keys = ["other"]', 'model = "small"', "temperature = 0.5", "max_tokens = 300"),
        *("context_tokens = 4096", 'tool_calls = "words"', 'vision = "yes"', "timeout_s = 7.0"),
        "first_byte_timeout_s = 7.0",
    ],
)
async def test_what_a_service_is_asked_for_is_exchanged_at_once(tmp_path: Path, line: str) -> None:
    agent = Agent(tmp_path)
    told = await agent.write(f"{USUAL}{line}\n")
    name = line.split(maxsplit=1)[0]
    assert told == f"The configuration was changed.\nActive now: provider.{name}."
    assert len(agent.renewed) == 1


@pytest.mark.parametrize("line", ["recall_limit = 3", "min_score = 0.7"])
async def test_how_much_is_recalled_is_exchanged_at_once(tmp_path: Path, line: str) -> None:
    agent = Agent(tmp_path)
    told = await agent.write(f"{USUAL}[memory]\n{line}\n")
    assert told.endswith(f"Active now: memory.{line.split(maxsplit=1)[0]}.")


async def test_a_key_goes_only_to_the_address_that_it_was_written_for(tmp_path: Path) -> None:
    agent = Agent(tmp_path)
    elsewhere = 'base_url = "https://other.example/v1"\nmodel = "large"\n'
    told = await agent.write(USUAL.replace("old", "new-key-1") + elsewhere)
    assert agent.renewed == []
    assert told.endswith(
        "Active after a restart: provider.model, provider.base_url, provider.api_key."
    )


async def test_so_does_the_key_of_a_named_service(tmp_path: Path) -> None:
    agent = Agent(tmp_path)
    named = '[providers.home]\nbase_url = "{}"\napi_key = "{}"\n'
    agent.path.write_text(USUAL + named.format("https://a.example", "first"))
    agent.reloading.running = load(agent.path, Settings)
    await agent.write(USUAL + named.format("https://b.example", "second"))
    assert agent.renewed == []
    await agent.write(USUAL + named.format("https://a.example", "third"))
    assert [one.providers["home"].api_key for one in agent.renewed] == [Secret("third")]


async def test_a_service_in_the_place_of_a_program_waits_for_a_restart(tmp_path: Path) -> None:
    agent = Agent(tmp_path)
    program = '[provider]\nkind = "program"\n[provider.program]\ncommand = ["llm"]\n'
    agent.path.write_text(program)
    agent.reloading.running = load(agent.path, Settings)
    told = await agent.write('[provider]\nkind = "ollama"\ntool_calls = "native"\n')
    assert agent.renewed == []
    assert "Active after a restart: provider.kind, provider.tool_calls" in told


async def test_an_agent_without_a_service_gets_one_by_a_restart(tmp_path: Path) -> None:
    agent = Agent(tmp_path)
    agent.is_offline = True
    told = await agent.write(USUAL.replace("old", "new-key-1"))
    assert told == "The configuration was changed.\nActive after a restart: provider.api_key."


async def test_a_service_that_is_gone_or_new_is_named(tmp_path: Path) -> None:
    agent = Agent(tmp_path)
    agent.path.write_text(f"{USUAL}[providers.old]\n")
    agent.reloading.running = load(agent.path, Settings)
    told = await agent.write(f"{USUAL}[providers.new]\n")
    assert told.endswith("Active after a restart: providers.old, providers.new.")


async def test_the_owner_sees_the_limits_as_they_would_be(tmp_path: Path) -> None:
    agent = Agent(tmp_path, Answer.YES)
    rule = (
        '[agent.rules.door]\ntool = "gpio_write"\nverdict = "allow"\nwhere = {pin = "T\u00fcr"}\n'
    )
    await agent.write(USUAL.replace("[provider]", f"{rule}[provider]"))
    [question] = agent.asked
    shown = json.loads(question.arguments_json)
    assert [*shown] == ["autonomy", "presence_for", "rules"]
    assert shown["autonomy"] == "supervised"
    assert "T\u00fcr" in question.arguments_json
    assert "agent.rules.door looser" in question.reason


async def test_a_key_that_is_none_leaves_everything_as_it_was(tmp_path: Path) -> None:
    agent = Agent(tmp_path)
    agent.refusal = "provider.api_key is not a key"
    told = await agent.write(USUAL.replace("old", "ä").replace("Otto", "Anna"))
    assert "I keep using the previous one" in told
    assert "is not a key" in told
    assert agent.agent is None
    assert agent.reloading.running.provider.api_key == Secret("old")


async def test_limits_become_tighter_without_a_question(tmp_path: Path) -> None:
    agent = Agent(tmp_path)
    told = await agent.write(USUAL.replace("supervised", "readonly"))
    assert told == "The configuration was changed.\nActive now: agent.autonomy."
    assert agent.asked == []
    assert agent.agent is not None
    assert agent.agent.autonomy is Autonomy.READONLY


@pytest.mark.parametrize("answer", [Answer.NO, Answer.NONE, Answer.ALWAYS])
async def test_looser_limits_wait_for_the_owners_yes(tmp_path: Path, answer: Answer) -> None:
    agent = Agent(tmp_path, answer)
    told = await agent.write(USUAL.replace("supervised", "full").replace("Otto", "Anna"))
    assert "Active now: agent.name." in told
    assert "Looser and not approved; active after a restart: agent.autonomy." in told
    (question,) = agent.asked
    assert "agent.autonomy" in question.reason
    assert '"full"' in question.arguments_json
    assert agent.agent is not None
    assert agent.agent.autonomy is Autonomy.SUPERVISED
    assert agent.agent.name == "Anna"


@pytest.mark.parametrize("answer", [Answer.NO, Answer.YES])
async def test_tighter_limits_do_not_wait_beside_looser_ones(
    tmp_path: Path, answer: Answer
) -> None:
    agent = Agent(tmp_path, answer)
    allowed = '[agent.rules.door]\ntool = "door_open"\nverdict = "allow"\n'
    told = await agent.write(
        USUAL.replace("supervised", "readonly").replace("[provider]", f"{allowed}[provider]")
    )
    assert agent.agent is not None
    assert agent.agent.autonomy is Autonomy.READONLY
    assert ("door" in agent.agent.rules) == (answer is Answer.YES)
    assert told.splitlines()[1].startswith("Active now: agent.autonomy")
    assert ("not approved; active after a restart: agent.rules.door" in told) == (
        answer is Answer.NO
    )


async def test_the_owners_yes_makes_them_so(tmp_path: Path) -> None:
    agent = Agent(tmp_path, Answer.YES)
    told = await agent.write(USUAL.replace("supervised", "full"))
    assert told == "The configuration was changed.\nActive now: agent.autonomy."
    assert agent.agent is not None
    assert agent.agent.autonomy is Autonomy.FULL


async def test_nobody_who_answers_is_no(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent.app.reload.QUESTION_TIMEOUT_S", 0.01)
    agent = Agent(tmp_path)

    async def silence(_question: Question) -> Answer:
        await asyncio.Event().wait()
        return Answer.YES

    monkeypatch.setattr(agent, "confirm", silence)
    agent.reloading._exchanges = ReloadTargets(agent.adopt, agent.renew, silence, agent.tell)
    assert "not approved" in await agent.write(USUAL.replace("supervised", "full"))


async def test_it_looks_again_and_again(tmp_path: Path) -> None:
    agent = Agent(tmp_path)
    clock = agent.reloading._clock
    assert isinstance(clock, SteppedClock)
    running = asyncio.create_task(agent.reloading.run())
    agent.path.write_text("[agent")
    await agent.heard.wait()
    running.cancel()
    await asyncio.wait([running])
    assert set(clock.slept_s) <= {SETTLE_S, WATCHED_S - SETTLE_S, WATCHED_S}
    # Whoever saves a file looks at the chat a moment later
    assert SETTLE_S + LOOK_S <= 5.0


async def test_of_a_file_that_was_replaced_the_first_places_are_named(tmp_path: Path) -> None:
    agent = Agent(tmp_path)
    services = "\n".join(f"[providers.s{number:02d}]" for number in range(15))
    told = await agent.write(USUAL + services)
    head, named = told.splitlines()
    assert "Active now" not in head + named
    assert named.endswith("providers.s11 and 3 more.")
    assert named.count("providers.") == 12


async def test_no_more_are_promised_than_are_named(tmp_path: Path) -> None:
    agent = Agent(tmp_path)
    services = "\n".join(f"[providers.s{number:02d}]" for number in range(12))
    assert (await agent.write(USUAL + services)).endswith("providers.s11.")


def test_differences_are_named_to_the_key() -> None:
    old = Settings()
    new = Settings(agent=AgentSettings(name="x"))
    assert differences(old, new) == ["agent.name"]
    assert differences(old, old) == []


async def test_a_rule_that_stays_as_it_is_is_not_asked_about(tmp_path: Path) -> None:
    rule = '[agent.rules.pump]\ntool = "pump"\nverdict = "ask"\n'
    agent = Agent(tmp_path)
    await agent.write(f"{USUAL}{rule}")
    assert "Active now: agent.name." in await agent.write(f"{USUAL}{rule}".replace("Otto", "Anna"))
    assert agent.asked == []
