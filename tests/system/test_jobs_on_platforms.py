"""Jobs of a running agent whose answers go to a phone, and what is seen of one that does not."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from agent.schedule.job import Job
from agent.schedule.job_store import JobStore
from tests.fakes import llm_server
from tests.fakes.chat_process import chat_environ
from tests.fakes.daemon_process import DaemonProcess
from tests.fakes.job_run import job
from tests.fakes.obedient_model import obey
from tests.fakes.phones import PHONES, Phone
from tests.waits import wait_until

OBEYED = "I only obey a few phrases."


class Home:
    """An agent with a phone, and the jobs that it has."""

    def __init__(self, folder: Path, phone: Phone, model: str) -> None:
        self.phone = phone
        self.store = JobStore(folder / "state" / "jobs.json")
        self._folder = folder
        self._config = (
            f'[provider]\nbase_url = "{model}"\nmodel = "fake"\n'
            f'[embeddings]\nprovider = "none"\n{phone.config}'
        )

    def order(self, name: str, **what: str) -> Job:
        """A job of Anna's that runs as soon as an agent is there."""
        where = self.phone.account
        made = job(name, channel=where.channel, target=where.target, every_s=3600.0, run_now=True)
        made = replace(made, **{"message": "", **what})
        self.store.add(made)
        return made

    def agent(self) -> DaemonProcess:
        return DaemonProcess(self._folder, self._config)

    def barnacle(self, *arguments: str) -> str:
        """What a command on the device prints."""
        return subprocess.run(
            [sys.executable, "-m", "agent.cli.main", *arguments],
            env=chat_environ(self._folder, self._config),
            capture_output=True,
            text=True,
            check=True,
        ).stdout


@pytest.fixture(params=PHONES)
async def home(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Home]:
    async with PHONES[request.param]() as phone, llm_server.running(obey) as model:
        (tmp_path / "state").mkdir()
        await phone.join(tmp_path / "state")
        yield Home(tmp_path, phone, model.base_url)


async def test_what_a_job_says_and_what_its_turn_answers_come_to_the_phone(home: Home) -> None:
    home.order("tea", message="Tea!")
    home.order("look", prompt="Is everything all right?")
    agent = home.agent()
    await asyncio.to_thread(agent.start)
    try:
        await wait_until(lambda: home.store.find("tea").result == "delivered")
        await wait_until(lambda: home.store.find("look").result == "answered")
    finally:
        agent.kill()
    assert sorted(home.phone.shown()) == [OBEYED, "Tea!"]


@pytest.mark.parametrize(
    ("what", "why"),
    [({"message": "Tea!"}, "did not accept it"), ({"prompt": "Look"}, "did not accept the answer")],
)
async def test_a_delivery_that_fails_is_told_and_seen(
    home: Home, what: dict[str, str], why: str
) -> None:
    why = f"{home.phone.account.channel} {why}"
    home.order("tea", **what)
    home.phone.refuse_one()
    agent = home.agent()
    await asyncio.to_thread(agent.start)
    try:
        await wait_until(lambda: bool(home.phone.shown()))
        assert home.phone.shown() == [f"The job tea failed: {why}"]
        listed = await asyncio.to_thread(home.barnacle, "jobs", "list")
        assert f"failed: {why}" in listed
    finally:
        agent.kill()
    assert f"job failed (name=tea): {why}" in agent.log()
