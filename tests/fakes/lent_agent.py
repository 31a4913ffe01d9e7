"""A whole agent behind its gateway, lent to other assistants: the owner has a chat of their own.

Everything is the agent's own but the model, which obeys, and the owner's platform, which is a fake.
"""

import asyncio
import contextlib
import io
import json
import logging
import sqlite3
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from agent.access.pairing_codes import Invitation
from agent.access.people import PersonAccount
from agent.access.roles import PersonRole
from agent.app.build import Agent, assemble, at_work
from agent.app.gateway import open_gateway
from agent.app.run import _assistants
from agent.channels.base import Answer
from agent.config import load
from agent.gateway.assistants.channel import AssistantChannel
from agent.gateway.assistants.wyoming.channel import WyomingChannel
from agent.gateway.gateway import Gateway
from agent.link.base import BoardState
from agent.messaging import outbox
from agent.settings import Paths, Settings
from tests.fakes.board_sim import BoardSim
from tests.fakes.channel import AskedChannel, SilentChannel
from tests.fakes.gateway import Answer as HttpAnswer
from tests.fakes.gateway import answer_of
from tests.fakes.llm_server import LlmServer, Reply, Respond, running
from tests.fakes.obedient_model import obey
from tests.fakes.wyoming_client import WyomingClient
from tests.waits import wait_until

# A turn with a model, tools and a question, beside other tests
TURN_PATIENCE_S = 120.0
CONFIG = """
[agent]
name = "Barnacle"
{extra}
[provider]
kind = "openai"
base_url = "{url}"
model = "fake-model"
api_key = "key-of-a-test"
offline_last = false
[embeddings]
provider = "none"
[gateway]
listen = "127.0.0.1:0"
assistants = {assistants}
{gateway}
[board]
port = "{port}"
"""


@dataclass
class Lent:
    """An agent at work, its owner's chat, and the way to it."""

    agent: Agent
    gateway: Gateway
    owner: AskedChannel
    model: LlmServer
    sim: BoardSim | None
    lent_by: AssistantChannel | None
    voice: WyomingChannel | None = None
    _clients: list[WyomingClient] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.gateway.port}"

    async def token(self, role: str = "user", name: str = "watch") -> str:
        """Return the token of a caller, got by a code as any program gets it."""
        access = self.agent.access
        code = access.codes.make(Invitation(role=role, name=name))
        answer = await self.ask("POST", "/pair", {"code": code})
        return str(json.loads(answer.body)["token"])

    async def ask(
        self, method: str, path: str, body: object = None, token: str = "", **headers: str
    ) -> HttpAnswer:
        """One request, and its answer to the end."""
        reader, writer = await self.begin(method, path, body, token, **headers)
        try:
            return await answer_of(reader, TURN_PATIENCE_S)
        finally:
            writer.close()

    async def begin(
        self, method: str, path: str, body: object = None, token: str = "", **headers: str
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """One request, whose answer is not waited for."""
        raw = b"" if body is None else json.dumps(body).encode()
        told = {name.replace("_", "-"): text for name, text in headers.items()}
        told |= {"host": "localhost", "content-length": str(len(raw))}
        told |= {"authorization": f"Bearer {token}"} if token else {}
        lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {text}" for name, text in told.items())]
        reader, writer = await asyncio.open_connection("127.0.0.1", self.gateway.port)
        writer.write("\r\n".join([*lines, "", ""]).encode() + raw)
        await writer.drain()
        return reader, writer

    @property
    def channel(self) -> AssistantChannel:
        """Return the channel of the callers."""
        assert self.lent_by is not None
        return self.lent_by

    async def hear(self, role: PersonRole = PersonRole.GUEST) -> WyomingClient:
        """Return a client of the voice assistants at this machine, which is paired."""
        self.pair_voice(role)
        return await self.voice_client()

    def pair_voice(self, role: PersonRole, address: str = "127.0.0.1") -> None:
        account = PersonAccount(channel="wyoming", sender=address, target="")
        self.agent.access.people.let_in(role, account, "room")

    async def voice_client(self, address: str = "127.0.0.1") -> WyomingClient:
        port = await wait_until(lambda: self.voice_port)
        client = await WyomingClient.connected(port, address)
        self._clients.append(client)
        return client

    async def hang_up(self) -> None:
        """Let every client of the voice assistants leave."""
        for client in self._clients:
            await client.aclose()

    @property
    def voice_port(self) -> int:
        assert self.voice is not None
        return self.voice.port

    async def announce(self, account: str, text: str) -> None:
        """Keep something for a caller who has asked nothing."""
        name = self.channel.name
        await self.agent.journal.transact(lambda db: outbox.announce(db, name, account, text))

    def led(self) -> list[int]:
        """Return the values that were written to the led since the start."""
        assert self.sim is not None
        pins = [one for one in self.sim.record() if one["event"] == "pin" and one["name"] == "led"]
        return [int(one["value"]) for one in pins[1:]]

    def accepted(self) -> list[tuple[str, int]]:
        """Return the text and the trust of everything that was accepted."""
        path = self.agent.paths.agent_db
        with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
            return db.execute("SELECT text, provenance FROM inbox ORDER BY id").fetchall()


@contextlib.contextmanager
def quiet_log() -> Iterator[io.StringIO]:
    root, log = logging.getLogger(), io.StringIO()
    handlers, level = root.handlers[:], root.level
    try:
        yield log
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)


@contextlib.asynccontextmanager
async def lent(
    folder: Path,
    *script: Reply | Respond,
    answer: Answer | None = Answer.NO,
    sim: BoardSim | None = None,
    assistants: Sequence[str] = ("openai",),
    gateway: str = "",
    agent: str = "",
) -> AsyncIterator[Lent]:
    """An agent whose owner gives this answer to every question; None is no answer at all."""
    with quiet_log() as log:
        async with running(*(script or (obey,))) as model:
            config = folder / "barnacle.toml"
            port = sim.port if sim else folder / "no-board"
            config.write_text(
                CONFIG.format(
                    url=model.base_url,
                    port=port,
                    assistants=json.dumps(assistants),
                    gateway=gateway,
                    extra=agent,
                )
            )
            paths = Paths(config, folder / "state")
            paths.state_dir.mkdir(mode=0o700, exist_ok=True)
            whole = assemble(load(config, Settings), paths, {}, log)
            owner = SilentChannel() if answer is None else AskedChannel(answer)
            async with _at_work(whole, owner, model, sim) as made:
                yield made


@contextlib.asynccontextmanager
async def _at_work(
    agent: Agent, owner: AskedChannel, model: LlmServer, sim: BoardSim | None
) -> AsyncIterator[Lent]:
    account = PersonAccount(channel=owner.name, sender="owner", target="chat")
    agent.access.people.let_in(PersonRole.OWNER, account)
    channels = (owner, *_assistants(agent))
    assert agent.settings.gateway is not None
    gateway = open_gateway(agent.settings.gateway, agent, channels, [], {})
    lent_by = next((one for one in channels if one.name == "gateway"), None)
    assert lent_by is None or isinstance(lent_by, AssistantChannel)
    voice = next((one for one in channels if isinstance(one, WyomingChannel)), None)
    async with at_work(agent, channels) as (dispatcher, _, tasks):
        await dispatcher.resume(tasks)
        for one in channels:
            if isinstance(one, AssistantChannel):
                one.use_tool, one.withdraw = dispatcher.use_tool, dispatcher.withdraw
        deliver = partial(dispatcher.deliver, tasks=tasks)
        running_ones = [tasks.create_task(one.listen(deliver)) for one in channels]
        running_ones.append(tasks.create_task(gateway.run()))
        if sim is not None:
            board = agent.boards[0]
            await wait_until(lambda: board.status.state is BoardState.READY)
        made = Lent(agent, gateway, owner, model, sim, lent_by, voice)
        try:
            yield made
        finally:
            await made.hang_up()
            for one in running_ones:
                one.cancel()
            await asyncio.wait(running_ones)
