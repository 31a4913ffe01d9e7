"""The whole agent in a conversation over real servers, cut off and killed in the middle of it."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Protocol

import pytest

from agent.access.people import PeopleStore, PersonAccount
from agent.access.roles import PersonRole
from agent.system.clock import SystemClock
from tests.fakes import llm_server
from tests.fakes.daemon_process import DaemonProcess
from tests.fakes.echoing_model import EchoingModel
from tests.fakes.email_conversation import email
from tests.fakes.irc_conversation import irc
from tests.fakes.left_behind import all_confirmed
from tests.fakes.matrix_conversation import matrix, sealed_matrix
from tests.fakes.xmpp_conversation import xmpp
from tests.waits import wait_until


class Talk(Protocol):
    """A person at a server that the agent is configured to use.

    Args:
        table: the agent's configuration of it.
        account: of the person.
    """

    table: str
    account: PersonAccount

    async def write(self, text: str) -> None:
        """Say it; where the server keeps nothing for who is away, once the agent is there."""

    def shown(self) -> list[str]:
        """What the agent has said, in order."""

    def cut(self) -> None:
        """End the agent's connection."""


Opens = Callable[[Path], AbstractAsyncContextManager[Talk]]
TALKS: dict[str, Opens] = {
    "email": email,
    "irc": irc,
    "matrix": matrix,
    "encrypted matrix": sealed_matrix,
    "xmpp": xmpp,
}


@pytest.fixture(params=TALKS)
async def talk(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Talk]:
    async with TALKS[request.param](tmp_path / "server") as opened:
        yield opened


class Conversation:
    """Anna's, with an agent that is started and killed."""

    def __init__(self, talk: Talk, folder: Path, config: str) -> None:
        self._talk = talk
        self._state = folder / "state"
        self.agent = DaemonProcess(folder, config)
        PeopleStore(self._state / "people.json", SystemClock()).let_in(
            PersonRole.OWNER, talk.account, "Anna"
        )

    async def hears(self, text: str) -> None:
        """Until Anna has the answer, and the agent knows it."""
        try:
            await wait_until(lambda: f"echo: {text}" in self._talk.shown())
            await wait_until(lambda: all_confirmed(self._state, {f"echo: {text}"}))
        except TimeoutError:
            raise AssertionError(f"{self._talk.shown()}\n{self.agent.log()}") from None


async def test_a_conversation_survives_a_cut_and_a_kill(talk: Talk, tmp_path: Path) -> None:
    model = EchoingModel()
    async with llm_server.running(model.respond) as service:
        table = f'[provider]\nbase_url = "{service.base_url}"\nmodel = "fake"\n{talk.table}'
        conversation = Conversation(talk, tmp_path, f'{table}\n[embeddings]\nprovider = "none"\n')
        agent = conversation.agent
        await asyncio.to_thread(agent.start)
        try:
            await talk.write("one")
            await conversation.hears("one")
            talk.cut()
            await talk.write("two")
            await conversation.hears("two")
            model.holds = True
            await talk.write("three")
            await wait_until(lambda: model.is_asked("three"))
            agent.kill()
            model.holds = False
            await asyncio.to_thread(agent.start)
            await conversation.hears("three")
            await talk.write("four")
            await conversation.hears("four")
        finally:
            agent.kill()
    told = [one for one in talk.shown() if one.startswith("echo: ")]
    assert Counter(told) == Counter(f"echo: {word}" for word in ("one", "two", "three", "four"))
