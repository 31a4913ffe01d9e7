import logging
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from agent.access.people import Person
from agent.app.build import Agent, assemble
from agent.app.console.workings import WorkingViews
from agent.config import load
from agent.messaging.channel_supervisor import ChannelHealth, Supervisor
from agent.settings import Paths, Settings
from agent.system.recent_log import RecentLog
from tests.fakes.channel import FakeChannel
from tests.fakes.lent_agent import quiet_log

CONFIG = """
[provider]
kind = "openai"
base_url = "http://127.0.0.1:9/v1"
model = "gpt-test"
api_key = "key-of-a-test"
fallbacks = ["groq:llama-test"]
[provider.routes]
fast = "groq:small"
[providers.groq]
kind = "groq"
api_key = "key-of-a-test"
[embeddings]
provider = "none"
"""
OWNER = Person(role="owner", person_id="1", name="Ann")


@pytest.fixture
async def agent(tmp_path: Path) -> AsyncIterator[Agent]:
    path = tmp_path / "barnacle.toml"
    path.write_text(CONFIG)
    (tmp_path / "state").mkdir(mode=0o700)
    paths = Paths(path, tmp_path / "state")
    with quiet_log() as told:
        made = assemble(load(path, Settings), paths, {}, told)
        yield made
        await made.aclose()


@pytest.fixture
def log() -> Iterator[RecentLog]:
    made = RecentLog(str)
    yield made
    made.close()


async def never(_channel: str, _text: str) -> None:
    raise AssertionError("nobody is told")


async def test_the_models_page_says_who_answers_and_what_the_days_cost(
    agent: Agent, log: RecentLog
) -> None:
    views = WorkingViews(agent, [], log, {})
    assert (await views.models(OWNER, {}))["days"] == []
    for number in range(1, 21):
        await agent.journal.transact(
            lambda db, day=f"2026-10-{number:02}": db.execute(
                "INSERT INTO spent VALUES ('day', ?, 2, 30, 4, 0, 5, 0.25)", (day,)
            )
        )
    found = await views.models(OWNER, {})
    assert (found["model"], found["fallbacks"]) == ("gpt-test", ["groq:llama-test"])
    assert found["routes"] == [{"name": "fast", "model": "groq:small"}]
    assert [one["day"] for one in found["days"]][:2] == ["2026-10-20", "2026-10-19"]
    first = {"requests": 2, "tokens": 34, "usd": 0.25, "unpriced_tokens": 5}
    assert found["days"][0] == {"day": "2026-10-20", **first}
    assert len(found["days"]) == 14


async def test_the_channels_page_says_what_is_wrong_and_what_waits(
    agent: Agent, log: RecentLog
) -> None:
    supervisors: list[Supervisor] = []
    views = WorkingViews(agent, supervisors, log, {})
    assert await views.channels(OWNER, {}) == []
    channel = FakeChannel()
    supervisors.append(Supervisor(channel, agent.clock, agent.activity, never))
    supervisors[0].hearing = ChannelHealth.AWAY
    agent.activity.troubles[channel.name] = "no route to the host"
    await agent.journal.transact(
        lambda db: db.executemany(
            "INSERT INTO outbox (channel, recipient, in_reply_to, text, state)"
            " VALUES (?, 'x', '', 'y', ?)",
            [(channel.name, state) for state in ("pending", "sent", "pending", "dead")],
        )
    )
    (found,) = await views.channels(OWNER, {})
    assert (found["name"], found["state"], found["is_well"]) == (channel.name, "away", False)
    assert found["trouble"] == "no route to the host"
    assert (found["waiting"], found["lost"], found["last_s"]) == (2, 1, 0.0)
    supervisors[0].hearing = ChannelHealth.LISTENING
    assert (await views.channels(OWNER, {}))[0]["is_well"]


async def test_the_log_page_leaves_out_what_nobody_asked_for(agent: Agent, log: RecentLog) -> None:
    views = WorkingViews(agent, [], log, {})
    logger = logging.getLogger("tests.workings")
    logger.warning("a warning")
    logger.error("an error")
    found = await views.log(OWNER, {})
    assert [one["level"] for one in found][:2] == ["error", "warning"]
    only = await views.log(OWNER, {"level": "error"})
    assert [one["text"] for one in only] == ["an error"]
    # What a browser makes up is no level
    assert len(await views.log(OWNER, {"level": "x"})) == len(found)
