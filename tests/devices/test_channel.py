"""Two whole agents: what one is asked for passes both gates, by a broker and straight."""

import asyncio
import contextlib
import json
import re
import secrets
import socket
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from msgspec.structs import replace

from agent.access.people import PersonAccount
from agent.access.roles import PersonRole
from agent.app.devices import probe
from agent.channels.base import Answer
from agent.config import Secret
from agent.devices import caller, channel
from agent.devices.caller import DeviceCaller
from agent.devices.channel import DevicesChannel, DirectPost, OtherDevice, write_framed
from agent.devices.wire import DeviceSeal
from agent.errors import ChannelUnavailable, ConfigRefused
from agent.gateway.settings import DevicesSettings, OtherDeviceSettings
from agent.messages import Inbound
from agent.providers.offline.order_reader import orders_in
from agent.security.estop import FILE_NAME
from agent.settings import Paths, Settings
from tests.fakes import mosquitto
from tests.fakes.board_sim import BoardSim
from tests.fakes.irc_server import free_port
from tests.fakes.lent_agent import Lent, lent
from tests.fakes.llm_server import Call, Reply, Respond, streamed
from tests.fakes.two_devices import KEY as SHARED
from tests.fakes.two_devices import TwoDevices, two_devices
from tests.waits import wait_until

KEY = secrets.token_hex(32)
OTHER = """
[devices]
name = "{own}"
{listen}
[devices.others.{other}]
key = "{key}"
lend = {lend}
{address}
"""
ORDER = {"pin": "led", "value": "on"}
BODY = {"model": "barnacle-user", "messages": [{"role": "user", "content": "the light, please"}]}


@dataclass
class House:
    """Two agents of one owner."""

    kitchen: Lent
    garden: Lent

    async def ask(self) -> str:
        """Have the kitchen asked for it by a paired caller; return what its model was told."""
        token = await self.kitchen.token()
        await self.kitchen.ask("POST", "/v1/chat/completions", BODY, token)
        messages = self.kitchen.model.requests[-1].body["messages"]
        return "\n".join(str(one["content"]) for one in messages if one["role"] == "tool")


@pytest.fixture
def sim(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[BoardSim]:
    request.getfixturevalue("micropython_command")
    with BoardSim(tmp_path, {"values": {"temperature": 24.5, "button": 0}, "script": []}) as made:
        yield made


def ordering(tool: str, arguments: object) -> Respond:
    def respond(request: object) -> Reply:
        assert isinstance(request, dict)
        if any(one["role"] == "tool" for one in request["messages"]):
            return streamed("Done.")
        return streamed("", Call(tool, json.dumps(arguments), "call_1"))

    return respond


@contextlib.asynccontextmanager
async def house(
    folder: Path,
    sim: BoardSim,
    way: str,
    answers: tuple[Answer, Answer] = (Answer.YES, Answer.YES),
    lend: tuple[str, ...] = ("led",),
    order: tuple[str, object] = ("garden_gpio_write", ORDER),
) -> AsyncIterator[House]:
    """Kitchen and garden, which lends its light to it."""
    port = free_port()
    broker = f'[channels.mqtt]\nurl = "mqtt://127.0.0.1:{way}"' if way.isdigit() else ""
    listen = "" if broker else f'listen = "127.0.0.1:{port}"'
    address = "" if broker else f'address = "127.0.0.1:{port}"'
    far = OTHER.format(
        own="garden", other="kitchen", key=KEY, lend=json.dumps(lend), listen=listen, address=""
    )
    near = OTHER.format(
        own="kitchen", other="garden", key=KEY, lend="[]", listen="", address=address
    )
    for name in ("kitchen", "garden"):
        await asyncio.to_thread((folder / name).mkdir)
    async with (
        lent(folder / "garden", answer=answers[1], sim=sim, gateway=far + broker) as garden,
        lent(
            folder / "kitchen",
            ordering(*order),
            answer=answers[0],
            gateway=near + broker,
        ) as kitchen,
    ):
        account = PersonAccount(channel="devices", sender="kitchen", target="")
        garden.agent.access.people.let_in(PersonRole.USER, account, "kitchen")
        registry = kitchen.agent.registry
        await wait_until(lambda: registry.find("garden_readings") is not None)
        yield House(kitchen, garden)


@pytest.fixture(params=["broker", "straight"])
def way(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "straight":
        yield "straight"
        return
    if reason := mosquitto.unavailable_reason():
        pytest.skip(reason)
    with mosquitto.running(tmp_path) as broker:
        yield str(broker.port)


async def test_a_lent_pin_passes_both_gates(tmp_path: Path, sim: BoardSim, way: str) -> None:
    async with house(tmp_path, sim, way) as made:
        told = await made.ask()
        assert made.garden.led()[:1] == [1]
        [near], [far] = made.kitchen.owner.questions, made.garden.owner.questions
    assert json.loads(told)["value"] == "on"
    assert "watch (user) asked for it on gateway" in near.reason
    assert "kitchen (user) asked for it on devices" in far.reason


@pytest.mark.parametrize("answers", [(Answer.NO, Answer.YES), (Answer.YES, Answer.NO)])
async def test_each_gate_alone_forbids(
    tmp_path: Path, sim: BoardSim, answers: tuple[Answer, Answer]
) -> None:
    async with house(tmp_path, sim, "straight", answers) as made:
        told = await made.ask()
        assert made.garden.led() == []
        assert len(made.garden.owner.questions) == (answers[0] is Answer.YES)
    assert "the owner said no" in told


async def test_a_pin_that_is_not_lent_is_not_there(tmp_path: Path, sim: BoardSim) -> None:
    async with house(tmp_path, sim, "straight", lend=("pump",)) as made:
        told = await made.ask()
        assert made.garden.led() == []
        assert made.garden.owner.questions == []
    assert "garden_gpio_write" in told or "pin" in told


async def test_values_are_looked_at_without_a_question(tmp_path: Path, sim: BoardSim) -> None:
    order = ("garden_mcu_temperature", {})
    async with house(tmp_path, sim, "straight", order=order) as made:
        told = await made.ask()
        assert made.kitchen.owner.questions == made.garden.owner.questions == []
    assert json.loads(told)["unit"] == "°C"


async def test_an_emergency_stop_of_the_far_device_holds(tmp_path: Path, sim: BoardSim) -> None:
    async with house(tmp_path, sim, "straight") as made:
        agent = made.garden.agent
        await asyncio.to_thread((agent.paths.state_dir / FILE_NAME).write_text, "a test")
        await wait_until(lambda: agent.stop.is_set)
        told = await made.ask()
        assert made.garden.led() == []
    assert "stop" in told


SENTENCES = (
    "garden: turn the led on",
    "ask garden: turn the led on",
    "tell garden to turn on the led",
    "turn on the garden's led",
    "turn on the led in the garden",
    "turn the led of garden on",
)


async def test_it_is_understood_without_a_model(tmp_path: Path, sim: BoardSim) -> None:
    async with house(tmp_path, sim, "straight") as made:
        specs = made.kitchen.agent.registry.specs()
        understood = {text: await orders_in(text, "en", specs) for text in SENTENCES}
    for text, orders in understood.items():
        told = [(one.tool, one.arguments) for one in orders]
        assert told == [("garden_gpio_write", ORDER)], text


async def test_doctor_is_told_who_answers_and_who_may_ask(
    tmp_path: Path, sim: BoardSim, way: str
) -> None:
    async with house(tmp_path, sim, way) as made:
        kitchen, garden = made.kitchen.agent, made.garden.agent
        told = await probe(kitchen.settings, kitchen.paths, {})
        assert re.fullmatch(
            r"garden answers within \d+ ms and lends led, .*; "
            r"garden may ask nothing here: `barnacle pair --device garden`",
            told,
        ), told
        far = await probe(garden.settings, garden.paths, {})
        assert far.startswith("kitchen comes by itself" if way == "straight" else "kitchen answers")
        # The agents at work were not thrown out at the broker
        assert json.loads(await made.ask())["value"] == "on"


async def test_doctor_is_told_of_a_key_that_is_not_the_same(
    tmp_path: Path, sim: BoardSim, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with house(tmp_path, sim, way) as made:
        agent = made.kitchen.agent
        monkeypatch.setattr(caller, "ANSWER_S", 0.3)
        devices = agent.settings.devices
        assert devices is not None
        other = replace(devices.others["garden"], key=Secret("a" * 64))
        wrong = replace(agent.settings, devices=replace(devices, others={"garden": other}))
        with pytest.raises(ChannelUnavailable, match="is the key the same on both"):
            await probe(wrong, agent.paths, {})


async def test_doctor_is_told_of_one_key_for_two_devices(tmp_path: Path) -> None:
    others = {name: OtherDeviceSettings(key=Secret(KEY)) for name in ("garden", "shed")}
    settings = Settings(devices=DevicesSettings(listen="127.0.0.1:0", others=others))
    with pytest.raises(ConfigRefused, match="garden and shed have the same key"):
        await probe(settings, Paths(None, tmp_path), {})


async def test_a_device_that_was_cut_off_often_is_heard_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(channel, "SILENT_S", 0.5)
    async with (
        two_devices(tmp_path) as both,
        _listening(both) as port,
        contextlib.AsyncExitStack() as held,
    ):
        for _ in range(channel.MAX_CONNECTIONS):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            held.callback(writer.close)
            await write_framed(writer, b"kitchen")
        caller = _caller(both, port)
        held.callback(caller.hang_up)
        assert await caller.greet()


async def test_a_port_that_is_taken_is_told_and_keeps_no_other_way_from_working(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(channel, "LONGEST_RETRY_S", 0.05)
    async with two_devices(tmp_path) as both:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            made = _channel(both, port)
            task = asyncio.create_task(made.listen(_nothing))
            await wait_until(lambda: made.gap or task.done())
            assert made.gap == (
                f"devices.listen: cannot listen at 127.0.0.1:{port}: Address already in use"
            )
            assert not task.done()
        await wait_until(lambda: made.port == port)
        assert made.gap == ""
        task.cancel()
        await asyncio.wait([task])


def _channel(both: TwoDevices, port: int) -> DevicesChannel:
    clock = both.garden.clock
    seal = DeviceSeal("garden", "kitchen", SHARED)
    caller = DeviceCaller(seal, both.garden.back, both.garden.ledger, clock)
    others = {"kitchen": OtherDevice(seal, caller)}
    return DevicesChannel(others, both.garden.host, clock, _nobody, None, ("127.0.0.1", port))


@contextlib.asynccontextmanager
async def _listening(both: TwoDevices) -> AsyncIterator[int]:
    """The garden's host at a port of its own."""
    made = _channel(both, 0)
    task = asyncio.create_task(made.listen(_nothing))
    try:
        yield await wait_until(lambda: made.port)
    finally:
        task.cancel()
        await asyncio.wait([task])


def _caller(both: TwoDevices, port: int) -> DeviceCaller:
    seal = DeviceSeal("kitchen", "garden", SHARED)

    def heard(payload: bytes) -> None:
        if (reply := seal.opened(payload).reply) is not None:
            made.heard(reply)

    post = DirectPost("kitchen", "127.0.0.1", port, heard)
    made = DeviceCaller(seal, post, both.kitchen.ledger, both.kitchen.clock)
    return made


async def _nobody(_text: str) -> None:
    """Tell nobody."""


async def _nothing(_message: Inbound) -> None:
    """Take no message."""
