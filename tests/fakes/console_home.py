"""A console of the real server on loopback, before the agent's real door and a played agent."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from agent.access.admission import Admission, Admitted, Rejected
from agent.access.browser_sessions import BrowserSessions
from agent.access.door_button import DoorButton
from agent.access.pairing import Pairing
from agent.access.pairing_codes import Codes, Invitation
from agent.access.people import PeopleStore, Person, PersonAccount
from agent.access.roles import PersonRole
from agent.app.console.channel import ConsoleChannel
from agent.app.console.files import ConsoleFiles
from agent.app.console.reception import ConsoleParts, ConsoleView
from agent.channels.attached.channel import AgentSide
from agent.channels.console.frames import VERSION, DeviceFrame
from agent.channels.received_files import ReceivedFiles
from agent.console.agent_client import AgentClient
from agent.console.application import ConsoleApplication
from agent.console.device import DeviceNames
from agent.console.guards import SESSION_COOKIE
from agent.console.request import form_token
from agent.console.server import listening, serve
from agent.errors import MessageRefused
from agent.messages import Inbound, Outbound
from agent.messaging.journal import open_agent_db
from agent.storage.worker import DatabaseWorker
from agent.system.clock import Clock, SystemClock
from tests.waits import PATIENCE_S, wait_until

HOME: dict[str, Any] = {
    "name": "Greenhouse",
    "stopped": "",
    "questions": 0,
    "turns": 0,
    "version": "1",
    "since_s": 1_800_000_000.0,
    "provider": "offline",
    "provider_trouble": "",
    "boards": [
        {"name": "board", "state": "ready", "is_ready": True, "kind": "simulated", "trouble": ""}
    ],
    "on": [{"board": "board", "name": "led", "held": True}],
    "troubles": {},
    "machine": [],
    "memory": "",
    "spending": "",
    "last_error": "",
    "last_error_at_s": 0.0,
    "readings": [
        {
            "name": "tank",
            "unit": "°C",
            "is_switch": False,
            "value": 21.5,
            "at_ms": 1,
            "points": [20.0, 21.5],
        }
    ],
    "happened": [{"at_s": 1.0, "kind": "effect", "tool": "board_gpio_write", "ok": True}],
}
PIN: dict[str, Any] = {
    "name": "led",
    "pin": "PC13",
    "aliases": [],
    "place": "",
    "can": ["out", "in"],
    "is_output": True,
    "is_switch": True,
    "safe": 0,
    "lease_ms": 2000,
    "max_on_ms": 60_000,
    "min_off_ms": 0,
    "per_minute": 5,
    "needs": [["lid", 1]],
    "safety": "hazard",
    "held": False,
    "value": "off",
    "readings": [],
}


class PressedByHand:
    """A button on the board that a test presses for as long as it takes."""

    def __init__(self) -> None:
        self.trouble = ""
        self._presses: list[asyncio.Future[None]] = []

    async def pressed(self) -> None:
        await asyncio.Event().wait()

    async def held(self) -> None:
        press: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._presses.append(press)
        await press

    async def hold(self) -> None:
        """Press it long; whoever waits has noticed when this ends."""
        for press in self._presses:
            if not press.done():
                press.set_result(None)
        self._presses.clear()
        await asyncio.sleep(0)
        await asyncio.sleep(0)


@dataclass
class PlayedAgent:
    """What stands behind the door, as a test wants it."""

    people: PeopleStore
    codes: Codes
    sessions: BrowserSessions
    channel: ConsoleChannel
    door: Admission
    journal: DatabaseWorker
    heard: list[Inbound] = field(default_factory=list)
    stopped: list[str] = field(default_factory=list)
    home: dict[str, Any] = field(default_factory=lambda: dict(HOME))
    pin: dict[str, Any] = field(default_factory=lambda: dict(PIN))
    talk: list[dict[str, Any]] = field(default_factory=list)
    refuses: str = ""
    reflexes: list[dict[str, Any]] = field(default_factory=list)
    button: PressedByHand = field(default_factory=PressedByHand)
    # Further pages and forms, as a test wants them
    views: dict[str, ConsoleView] = field(default_factory=dict)
    acts: dict[str, ConsoleView] = field(default_factory=dict)

    async def deliver(self, message: Inbound) -> None:
        if self.refuses:
            raise MessageRefused(self.refuses)
        came: Admitted | Rejected = await self.door.admit(message)
        assert isinstance(came, Admitted), came
        self.heard.append(came.message)
        self.talk.append(_row(came.message))

    async def answer(self, text: str) -> None:
        """Answer what was heard last."""
        last = self.heard[-1]
        self.talk[-1] |= {"answer": text, "is_open": False, "state": "answered"}
        await self.channel.send(
            Outbound(len(self.heard), self.channel.name, last.reply_target, text, last.message_id)
        )

    async def show_home(self, person: Person, arguments: Mapping[str, str]) -> Any:
        return {**self.home, "person": person.name, "role": person.role}

    async def show_board(self, person: Person, arguments: Mapping[str, str]) -> Any:
        board = {"name": "board", "state": "ready", "port": "/dev/x", "trouble": ""}
        board |= {"kind": "simulated", "firmware": "1", "pending": [], "pins": [self.pin]}
        return {"stopped": self.home["stopped"], "boards": [board]}

    async def show_reflexes(self, person: Person, arguments: Mapping[str, str]) -> Any:
        return self.reflexes

    async def show_talk(self, person: Person, arguments: Mapping[str, str]) -> Any:
        return {"messages": self.talk, "told": []}

    async def show_people(self, person: Person, arguments: Mapping[str, str]) -> Any:
        return [{"name": one.name, "role": one.role, "accounts": []} for one in [person]]


def _row(message: Inbound) -> dict[str, Any]:
    row = {"id": message.message_id, "text": message.text, "state": "running", "is_open": True}
    return row | {"at_s": message.received_at_s, "answer": "", "files": [], "answer_files": []}


FORM = "application/x-www-form-urlencoded"


@dataclass(frozen=True)
class Page:
    """What came back; status 0 where the connection was cut before anything came."""

    status: int
    headers: tuple[tuple[str, str], ...] = ()
    text: str = ""

    def header(self, name: str) -> str:
        return next((value for key, value in self.headers if key == name), "")

    def cookies(self) -> dict[str, str]:
        given = (value for key, value in self.headers if key == "set-cookie")
        pairs = (one.partition(";")[0].partition("=") for one in given)
        return {name: value.strip('"') for name, _, value in pairs}


def page_of(answer: bytes) -> Page:
    head, _, body = answer.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    if not first.startswith("HTTP/1.1 "):
        return Page(0)
    pairs = (line.partition(":") for line in lines)
    headers = tuple((name.strip().lower(), value.strip()) for name, _, value in pairs)
    return Page(int(first.split()[1]), headers, body.decode(errors="replace"))


class EventReader:
    """Events of an open page, as a browser reads them."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader
        # The newest text of each
        self.shown: dict[str, str] = {}

    async def until(self, name: str, part: str = "") -> str:
        """Return the text of the first event of that name with that part in it."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                event, text = await self._next()
                self.shown[event] = text
                if event == name and part in text:
                    return text

    async def count(self, name: str, *, before: str, part: str) -> int:
        """Return how many events of that name come before the one with that part in it."""
        found = 0
        async with asyncio.timeout(PATIENCE_S):
            while True:
                event, text = await self._next()
                if event == before and part in text:
                    return found
                found += event == name

    async def _next(self) -> tuple[str, str]:
        event, data = "", []
        while True:
            line = await self._reader.readline()
            if not line:
                raise EOFError("the stream has ended")
            text = line.decode().rstrip("\r\n")
            if not text and event:
                return event, "\n".join(data)
            name, _, value = text.partition(": ")
            if name == "event":
                event, data = value, []
            elif name == "data":
                data.append(value)


@dataclass
class ConsoleHome:
    """Console and agent; `port` is the console's."""

    agent: PlayedAgent
    client: AgentClient
    application: ConsoleApplication
    port: int

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def session(self, role: str = "owner") -> str:
        """Return the cookie of a browser that was let in."""
        code = self.agent.codes.make(Invitation(role=role, name=role))
        session = await self.agent.sessions.enter(code, f"test-{role}")
        assert session
        return session

    def headers(self, session: str = "") -> dict[str, str]:
        made = {"origin": self.base, "host": f"127.0.0.1:{self.port}"}
        if session:
            made["cookie"] = f"{SESSION_COOKIE}={session}"
        return made

    async def get(self, path: str, session: str = "", **headers: str) -> Page:
        return await self.ask("GET", path, {**self.headers(session), **headers})

    async def post(self, path: str, session: str, **fields: str) -> Page:
        """Send a form as the script of a page does."""
        return await self.post_form(path, session, **fields, by_script="true")

    async def post_form(self, path: str, session: str, by_script: str = "", **fields: str) -> Page:
        """Send a form as a browser does."""
        form = urlencode({"token": form_token(session), **fields}).encode()
        kind = {"content-type": FORM, **({"hx-request": by_script} if by_script else {})}
        return await self.ask("POST", path, {**self.headers(session), **kind}, form)

    async def ask(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes = b""
    ) -> Page:
        length = {"content-length": str(len(body))} if body or method == "POST" else {}
        lines = [f"{name}: {value}" for name, value in ({**headers, **length}).items()]
        head = "\r\n".join([f"{method} {path} HTTP/1.1", *lines, "connection: close", "", ""])
        return page_of(await self.say(head.encode("latin-1") + body))

    async def say(self, request: bytes) -> bytes:
        """Send bytes as they are; return all that comes until the console hangs up."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            writer.write(request)
            with contextlib.suppress(ConnectionError):
                await writer.drain()
            async with asyncio.timeout(PATIENCE_S):
                return await _all(reader)
        finally:
            writer.close()

    @contextlib.asynccontextmanager
    async def live(self, page: str, session: str) -> AsyncIterator[EventReader]:
        """Open the events of a page."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        lines = [f"{name}: {value}" for name, value in self.headers(session).items()]
        head = "\r\n".join([f"GET /live?page={page} HTTP/1.1", *lines, "", ""])
        writer.write(head.encode())
        try:
            yield EventReader(reader)
        finally:
            writer.close()


async def _all(reader: asyncio.StreamReader) -> bytes:
    held = b""
    try:
        while piece := await reader.read(65_536):
            held += piece
    except ConnectionError:
        pass
    return held


@contextlib.asynccontextmanager
async def console_home(folder: Path, clock: Clock | None = None) -> AsyncIterator[ConsoleHome]:
    agent = played_agent(folder, clock or SystemClock())
    speaking = asyncio.ensure_future(agent.channel.listen(agent.deliver))
    client = AgentClient(folder / "console.sock")
    made, _ = listening("127.0.0.1:0")
    try:
        await wait_until((folder / "console.sock").exists)
        application = ConsoleApplication(client, DeviceNames(client, await client.about()))
        serving = asyncio.ensure_future(serve(application, made, None))
        try:
            yield ConsoleHome(agent, client, application, made.getsockname()[1])
        finally:
            serving.cancel()
            await asyncio.wait([serving])
    finally:
        speaking.cancel()
        await asyncio.wait([speaking])
        await agent.journal.aclose()
        made.close()


def played_agent(folder: Path, clock: Clock) -> PlayedAgent:
    people = PeopleStore(folder / "people.json", clock)
    codes = Codes(folder / "codes.json", clock)
    pairing = Pairing.of(people, codes, clock)
    button = PressedByHand()
    sessions = BrowserSessions(pairing, clock, DoorButton(button))
    pairing.let_browser_in = sessions.let_in
    # Somebody is the owner already, at a telephone
    people.let_in(PersonRole.OWNER, PersonAccount(channel="telegram", sender="1", target="1"))
    views: dict[str, ConsoleView] = {}
    acts: dict[str, ConsoleView] = {}
    device = DeviceFrame(VERSION, "Greenhouse", "127.0.0.1:0", ("greenhouse.local",))
    journal = open_agent_db(folder / "agent.db")
    files = ConsoleFiles(ReceivedFiles(folder / "inbox"), journal, (folder,), clock)
    parts = ConsoleParts(device, sessions, views, acts, files)
    channel = ConsoleChannel(folder / "console.sock", folder, clock, parts)
    door = Admission(pairing, clock, ())
    agent = PlayedAgent(
        people, codes, sessions, channel, door, journal, button=button, views=views, acts=acts
    )
    views["home"] = ConsoleView(PersonRole.GUEST, agent.show_home)
    views["reflexes"] = ConsoleView(PersonRole.USER, agent.show_reflexes)
    views["talk"] = ConsoleView(PersonRole.GUEST, agent.show_talk)
    views["board"] = ConsoleView(PersonRole.USER, agent.show_board)
    views["people"] = ConsoleView(PersonRole.OWNER, agent.show_people)
    channel.open(AgentSide(str, agent.stopped.append, _nothing, _unsettled))
    return agent


async def _nothing(_target: str) -> None:
    return


async def _unsettled(_message_id: str) -> bool:
    return False
