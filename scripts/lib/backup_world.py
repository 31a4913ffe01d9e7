"""World of a device that is killed and restored: a chat, a pump and files outside of its state.

As a process, `main` is an agent in it (`run`) until it is killed, or restores its backup
(`restore`) and goes on where an earlier process was killed.
"""

import asyncio
import json
import os
import time
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from agent.access.people import PeopleStore, PersonAccount
from agent.access.roles import PersonRole
from agent.app.build import assemble, at_work
from agent.backup.aftermath import read_note
from agent.backup.encryption import Keys, Recipients
from agent.backup.inventory import Inventory
from agent.backup.restore import OutsideFolders, RestoreTarget, go_on, restore
from agent.backup.switching import SystemPlaces, pending
from agent.backup.writer import BackupPlan
from agent.channels.base import Abilities, Channel, Deliver, Pulse
from agent.messages import Effect, Inbound, Outbound, Provenance, ToolResult
from agent.messaging.channel_supervisor import Supervisor
from agent.passage import own
from agent.settings import surroundings
from agent.storage import lock
from agent.storage.files import replace_unsynced
from agent.system.clock import Clock, SystemClock
from agent.tools.base import Arguments, Tool, ToolContext
from agent.tools.registry import Registry

CHAT, SENT, ACTS, BACKUP = "chat.jsonl", "sent.jsonl", "acts.jsonl", "x.barnacle-backup"
# Link to the disk of a device whose power is cut; a folder of one that is only killed
DEVICE = "device"
READY = "ready"
_LOOK_S = 0.03
_CONFIG = """\
[agent]
autonomy = "full"
[provider]
base_url = "{url}"
model = "fake"
[embeddings]
provider = "none"
[schedule]
heartbeat_minutes = 0
"""


class World:
    """Folder of one device: its state, its configuration, and what has come of it outside."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.state, self.config = folder / DEVICE / "state", folder / DEVICE / "barnacle.toml"

    def make(self, url: str) -> None:
        """Make a device with an owner."""
        (self.state / "workspace").mkdir(parents=True)
        self.config.write_text(_CONFIG.format(url=url))
        account = PersonAccount(channel=WorldChat.name, sender="owner", target="home")
        people = PeopleStore(self.state / "people.json", SystemClock())
        people.let_in(PersonRole.OWNER, account)

    def add(self, name: str, row: dict[str, object]) -> None:
        with (self.folder / name).open("a") as file:
            file.write(json.dumps(row) + "\n")

    def rows(self, name: str) -> list[dict[str, object]]:
        """Return the rows of a file; the last one may be half written yet."""
        path = self.folder / name
        lines = path.read_text().split("\n")[:-1] if path.exists() else []
        return [json.loads(line) for line in lines]

    def plan(self, recipients: Recipients) -> BackupPlan:
        documents = self.state / "workspace" / "documents"
        inventory = Inventory(self.state, self.state / "workspace", documents, self.config)
        return BackupPlan(inventory, recipients, "device")


class PumpArguments(Arguments, frozen=True):
    """Number of the order."""

    number: int


class Pump(Tool[PumpArguments]):
    """Pumps in the world, which no restore undoes."""

    reads = Provenance.OWNER
    effect = Effect.ACTUATE
    name = "pump"
    description = own("Run the pump once.")
    arguments_type = PumpArguments

    def __init__(self, world: World) -> None:
        self._world = world

    async def execute(self, arguments: PumpArguments, context: ToolContext) -> ToolResult:
        """Pump."""
        del context
        self._world.add(ACTS, {"number": arguments.number})
        return ToolResult.done(own("pumped"))


class WorldChat(Channel):
    """Platform that keeps every message, and delivers what comes after the agent's cursor."""

    name = "world"
    abilities = Abilities()

    def __init__(self, world: World, clock: Clock) -> None:
        self.pulse = Pulse(clock)
        self._world = world
        self._kept = world.state / "world-cursor"

    async def listen(self, deliver: Deliver) -> None:
        """Deliver until cancelled."""
        while True:
            known = int(self._kept.read_text()) if self._kept.exists() else 0
            for number, row in enumerate(self._world.rows(CHAT)[known:], known + 1):
                self.pulse.beat()
                await deliver(_inbound(row))
                # Whole: a kill in the middle of it would be a fault of this stand-in
                replace_unsynced(self._kept, str(number).encode())
            await asyncio.sleep(_LOOK_S)

    async def send(self, message: Outbound) -> None:
        """Show a message to the owner."""
        row = {"id": message.outbox_id, "answers": message.in_reply_to, "text": message.text}
        self._world.add(SENT, row)


async def main(action: str, folder: str, *secrets: str) -> None:
    world = World(Path(folder))
    if action == "run":
        await _run(world)
    else:
        _restore(world, Keys(identities=secrets))


async def _run(world: World) -> None:
    settings, paths = surroundings(os.environ, str(world.config), str(world.state))
    with lock.hold(paths.state_dir), (world.folder / "log").open("a") as log:
        agent = assemble(settings, paths, os.environ, log)
        agent = replace(agent, registry=Registry([Pump(world)]))
        chat = WorldChat(world, agent.clock)
        async with AsyncExitStack() as stack:
            dispatcher, _, tasks = await stack.enter_async_context(at_work(agent, [chat]))
            await dispatcher.resume(tasks)
            supervisor = Supervisor(chat, agent.clock, agent.activity, _nobody)
            tasks.create_task(supervisor.run(partial(dispatcher.deliver, tasks=tasks)))
            (world.folder / READY).touch()
            await asyncio.Event().wait()


def _restore(world: World, keys: Keys) -> None:
    def put_file(path: Path, content: bytes, _kept: Path) -> None:
        path.write_bytes(content)

    system = SystemPlaces(put_file, lambda _values, _kept: None, lambda _values, _kept: None)
    inside = lambda _config: OutsideFolders()  # noqa: E731 - one word in one place
    target = RestoreTarget(world.state, world.config, system, inside, time.time())
    if pending(world.state) is not None:
        go_on(target)
    elif read_note(world.state) is None:
        restore(world.folder / BACKUP, keys, target)


def _inbound(row: dict[str, object]) -> Inbound:
    at_s = float(str(row["at_s"]))
    return Inbound(
        message_id=str(row["id"]),
        channel=WorldChat.name,
        sender="owner",
        reply_target="home",
        text=str(row["text"]),
        received_at_s=at_s,
        provenance=Provenance.OWNER,
        sent_at_s=at_s,
    )


async def _nobody(_channel: str, _text: str) -> None:
    """Tell nobody."""
