"""Started as a process of its own in a network namespace: one of two devices.

Arguments: garden or kitchen, its folder, the way (straight or broker), the garden's address. The
garden writes down each act that it does, the kitchen what it asks for and what it is told of it.
"""

import asyncio
import json
import os
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from agent.access.people import Person
from agent.config import Secret
from agent.devices import caller as near
from agent.devices import host as far
from agent.devices.caller import DeviceCaller
from agent.devices.channel import (
    BrokerConnection,
    BrokerPost,
    BrokerWay,
    DevicesChannel,
    DirectPost,
    OtherDevice,
)
from agent.devices.host import DeviceHost, Loan, UseLent
from agent.devices.ledger import DeviceLedger
from agent.devices.wire import DeviceSeal
from agent.errors import LinkLost, OutcomeUnknown
from agent.gateway.assistants.mcp.hand import HandResult
from agent.link.manifest import read_manifest
from agent.messages import ToolResult
from agent.passage import own
from agent.system.clock import SystemClock
from scripts.lib.bench.devices_rig import SETTLED_S
from tests.fakes.board import FakeBoard
from tests.waits import wait_until

PORT, BROKER_PORT = 8478, 1883
KEY = Secret("a-key-of-the-bench-that-nobody-else-has")
# Hours of cuts in minutes: everything that waits waits a tenth of its time
_HASTE = 10
_WAITS = (
    *("SAY_AGAIN_S", "ANSWER_S", "BEGUN_WITHIN_S", "SILENT_S"),
    *("SETTLE_EVERY_S", "GREETING_HOLDS_S", "GREET_EVERY_S"),
)
_ACT_S = 0.02
_TOPIC = "house"
# A pin that is set to a number, so that each act is told from all others
_NUMBER = {"name": "value", "format": "I"}
_PIN = {"name": "pin", "format": "B", "pins": "out"}
_WRITE = {"id": 16, "name": "number_write", "about": "", "safety": "actuate"}
_MANIFEST = {
    "manifest": 1,
    "board": "counter",
    "methods": [{**_WRITE, "arguments": [_PIN, _NUMBER], "result": [_NUMBER]}],
    "pins": [{"index": 0, "name": "counter", "pin": "PB0", "can": ["out"]}],
}


class Record:
    """Lines that are on the disk before anything else happens."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def note(self, *line: object) -> None:
        os.write(self._file, (json.dumps(line) + "\n").encode())
        os.fsync(self._file)

    def lines(self) -> list[list[object]]:
        return [json.loads(line) for line in self._path.read_text().splitlines()]


def main(arguments: Sequence[str]) -> int:
    for name in _WAITS:
        setattr(near, name, getattr(near, name) / _HASTE)
    # The cuts make one device ask much more often than a person does
    far.MAX_REQUESTS *= _HASTE
    who, folder, way, address = arguments
    asyncio.run(
        _garden(Path(folder), way) if who == "garden" else _kitchen(Path(folder), way, address)
    )
    return 0


async def _garden(folder: Path, way: str) -> None:
    acts, clock = Record(folder / "acts"), SystemClock()
    ledger = DeviceLedger(folder / "garden.db", clock)
    board, person = FakeBoard(), Person(person_id="kitchen", name="kitchen", role="user")
    board.manifest = read_manifest(json.dumps(_MANIFEST).encode())

    async def use(wanted: UseLent) -> HandResult:
        value = json.loads(wanted.arguments)["value"]
        # Cut off before it, in it, or after it: each may be where the power goes
        await asyncio.sleep(_ACT_S)
        acts.note(value)
        await asyncio.sleep(_ACT_S)
        return HandResult(ToolResult.done(own('{{"value":{}}}', value)), (), "turn")

    host = DeviceHost(
        {"kitchen": Loan(frozenset({"counter"}))}, [board], ledger, use, lambda _: person, clock
    )
    seal, post = DeviceSeal("garden", "kitchen", KEY), BrokerPost(f"{_TOPIC}/kitchen/garden")
    others = {"kitchen": OtherDevice(seal, DeviceCaller(seal, post, ledger, clock))}
    (folder / "garden.ready").touch()
    broker = _broker("garden", "127.0.0.1", {"kitchen": post}) if way == "broker" else None
    listen = None if broker else ("0.0.0.0", PORT)  # noqa: S104 - of its own namespace
    await DevicesChannel(others, host, clock, _nothing, broker, listen).listen(_nothing)


async def _kitchen(folder: Path, way: str, address: str) -> None:
    said, clock = Record(folder / "said"), SystemClock()
    ledger = DeviceLedger(folder / "kitchen.db", clock)
    seal = DeviceSeal("kitchen", "garden", KEY)
    channel: DevicesChannel | None = None
    if way == "broker":
        post: BrokerPost | DirectPost = BrokerPost(f"{_TOPIC}/garden/kitchen")
    else:

        def heard(payload: bytes) -> None:
            if channel is not None:
                channel.heard("garden", payload, _nothing)

        post = DirectPost("kitchen", address, PORT, heard)
    caller = DeviceCaller(seal, post, ledger, clock)
    host = DeviceHost({"garden": Loan()}, [], ledger, _use_nothing, lambda _: None, clock)
    broker = _broker("kitchen", address, {"garden": post}) if isinstance(post, BrokerPost) else None

    async def tell(text: str) -> None:
        said.note("told", _number_in(text.partition(",")[0]), text)

    async def is_settled() -> bool:
        return not await ledger.open("garden")

    channel = DevicesChannel({"garden": OtherDevice(seal, caller)}, host, clock, tell, broker)
    await _say_of_interrupted(said, ledger)
    (folder / "kitchen.ready").touch()
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(channel.listen(_nothing))
        asking = tasks.create_task(_ask(folder, said, caller))
        await asking
        await wait_until(is_settled, SETTLED_S)
        said.note("settled")
        await asyncio.Event().wait()


def _number_in(words: str) -> int:
    return int(words.rpartition(" ")[2])


async def _say_of_interrupted(said: Record, ledger: DeviceLedger) -> None:
    """Say of what a kill cut short what the agent's own start says of a message cut short."""
    open_ones = {_number_in(one.words) for one in await ledger.open("garden")}
    lines = said.lines()
    asked = {int(str(one[1])) for one in lines if one[0] == "asked"}
    told = {int(str(one[1])) for one in lines if one[0] == "told"}
    for number in sorted(asked - told - open_ones):
        said.note("told", number, "interrupted")


async def _ask(folder: Path, said: Record, caller: DeviceCaller) -> None:
    """Ask for one act after another until a file says that it is enough."""
    number = max((int(str(one[1])) for one in said.lines() if one[0] == "asked"), default=0)
    while not (folder / "enough").exists():
        number += 1
        said.note("asked", number)
        arguments = json.dumps({"pin": "counter", "value": number})
        wanted = ("board_number_write", arguments, f"number {number}")
        try:
            reply = await caller.act(*wanted, is_relayed=False)
            said.note("told", number, reply.outcome.value)
        except LinkLost:
            said.note("told", number, "never")
        except OutcomeUnknown:
            said.note("unknown", number)


def _broker(own_name: str, address: str, posts: dict[str, BrokerPost]) -> BrokerWay:
    from agent.channels.mqtt.client import MqttBroker, connected  # noqa: PLC0415 - one way needs it

    broker = MqttBroker(address, BROKER_PORT, "", Secret(), None, "")

    def connect() -> AbstractAsyncContextManager[BrokerConnection]:
        return connected(broker, f"barnacle-device-{own_name}", lambda: None)

    return BrokerWay(connect, _TOPIC, own_name, posts)


async def _use_nothing(_wanted: UseLent) -> HandResult | None:
    return None


async def _nothing(_what: object) -> None:
    """Tell nobody, answer nothing, take no message."""
