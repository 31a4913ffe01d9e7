"""Files, programs, servers, memories and people of a world, with a canary in one of them."""

import json
from collections.abc import Mapping, Sequence
from urllib.parse import quote

import httpx

from agent.devices.caller import Greeting, KnownBoard
from agent.devices.wire import DeviceReply, Outcome
from agent.errors import (
    HomeAssistantRefused,
    McpAway,
    MemoryUnavailable,
    SandboxBroken,
    StorageFull,
)
from agent.link.settings import WatchSettings
from agent.memory.base import CORE, MemoryEntry, MemoryStats, Scope
from agent.messages import Provenance
from agent.readings.columns import Columns, of_values
from agent.readings.series import Series, SeriesKind
from agent.schedule.job import Job
from agent.schedule.timer import CountdownTimer, TimerState
from agent.security.sandbox.base import SandboxJob as Program
from agent.security.sandbox.base import SandboxOutcome
from agent.security.sandbox.process import LimitedProcess
from agent.tools.home_assistant.client import HomeState
from agent.tools.mcp.lines import BridgeAnswer
from agent.tools.send_message import Addressee
from agent.tools.watch import Watches
from tests.fakes.board import FakeBoard
from tests.fakes.memory import PreparedMemory
from tests.fakes.pdfs import pdf
from tests.fakes.picture_programs import JPEG, install
from tests.fakes.skill_folders import put
from tests.taint.planting import World

SKILLS = "skills"
# What each program for hostile text prints of a harmless one
_READ = {"readable_program": b'["Basil", "is green"]', "pdf_program": b'1\n"a page"\n'}


def answered(made: World, request: httpx.Request) -> httpx.Response:
    """Any page, any service."""
    if request.method not in {"GET", "HEAD"}:
        made.sent_out.append(str(request.url))
    if made.is_at("network failure"):
        raise httpx.ConnectError(made.text)
    if "duckduckgo" in request.headers["host"]:
        hit = {
            "FirstURL": made.at("hit address", "https://a.example.com/"),
            "Text": made.at("hit title", "Basil") + " - " + made.at("hit text", "a herb"),
        }
        found = json.dumps({"RelatedTopics": [hit]}).encode()
        return httpx.Response(
            200, headers={"content-type": "application/json"}, stream=httpx.ByteStream(found)
        )
    host, path = made.at("redirect host", ""), made.at("redirect path", "")
    headers = {"x-served-by": made.at("page header", "cache")}
    if host or path:
        place = f"https://{host or 'elsewhere'}.example.com/{path}"
        return httpx.Response(
            302, headers={**headers, "location": _in_header(place)}, stream=httpx.ByteStream(b"")
        )
    kind = (
        f"application/{_in_header(made.text)}" if made.is_at("page content type") else "text/html"
    )
    headers["content-type"] = f"{kind}; charset={made.at('page charset', 'utf-8')}"
    title, body = made.at("page title", "Basil"), made.at("page body", "is green ")
    content = f"<html><title>{title}</title><p>{body}</p></html>".encode()
    said = made.at("page status line", "OK").encode()
    return httpx.Response(
        200, headers=headers, stream=httpx.ByteStream(content), extensions={"reason_phrase": said}
    )


def _in_header(text: str) -> str:
    """What of it can stand in a header at all."""
    return quote(text, safe="".join(map(chr, range(32, 127))))


def lay_out(made: World) -> None:
    """The files of the workspace."""
    workspace = made.workspace
    workspace.mkdir(parents=True)
    (workspace / "found.txt").write_text(made.at("file bytes", "pump "))
    (workspace / "lamp.jpg").write_bytes(JPEG)
    (workspace / f"note{made.at('file name', '-')}.txt").touch()
    (workspace / made.at("folder name", "things")).mkdir()
    (workspace / made.at("link name", "link")).symlink_to(made.at("link target", "/nowhere"))
    (workspace / "found.pdf").write_bytes(pdf([made.at("pdf page", "page ")]))
    # A reader of such files quotes what it stumbles over
    counted = made.at("broken pdf", "1").encode()
    broken = b"%PDF-1.4\nxref\n0 " + counted + b"\ntrailer\n<<>>\nstartxref\n9\n%%EOF\n"
    (workspace / "broken.pdf").write_bytes(broken)
    kept = workspace / ".results"
    kept.mkdir()
    (kept / "1800000000-abcdef12-page.web.txt").write_text(made.at("kept result", "kept "))
    settings = workspace / "repo" / ".git"
    settings.mkdir(parents=True)
    (settings / "HEAD").write_text("ref: refs/heads/main\n")
    (settings / "config").write_text(f"[core]\n\t{made.at('git settings', 'bare')} = false\n")
    front = "name: watering\ndescription: " + made.at("skill description", "Waters ")
    front += f"\n{made.at('skill front matter', 'version')}: 1"
    skill = put(workspace / SKILLS, body=made.at("skill text", "Look first. "), front=front)
    (skill / f"{made.at('skill file name', 'more')}.md").write_text("More.")


class PlantedSandbox:
    """Programs of the workspace, and those that work on hostile text."""

    name = "planted"

    def __init__(self, made: World) -> None:
        self._made = made

    async def run(self, job: Program) -> SandboxOutcome:
        made = self._made
        if job.folder is None:
            return await self._read(job)
        if made.is_at("program failure"):
            raise SandboxBroken(f"the sandbox said {made.text}")
        if made.is_at("program end"):
            return SandboxOutcome(None, b"", b"", ended=f"it was ended: {made.text}")
        printed = made.at("program output", "printed ").encode()
        return SandboxOutcome(0, printed, made.at("program complaint", "").encode())

    async def _read(self, job: Program) -> SandboxOutcome:
        """What works on hostile text is run where there is some, since a start takes long."""
        if self._made.planted.startswith(("page", "pdf", "broken", "file", "kept")):
            return await LimitedProcess().run(job)
        told = next((told for name, told in _READ.items() if name in " ".join(job.argv)), b"")
        return SandboxOutcome(0, told, b"")


def programs(made: World) -> str:
    """A camera and a screen that work, or complain."""
    behaviour = "without_camera" if made.is_at("picture complaint") else "working"
    place = install(made.folder / "bin", "rpicam-still", behaviour)
    install(made.folder / "bin", "scrot", behaviour)
    if made.is_at("picture complaint"):
        for name in ("rpicam-still", "scrot"):
            program = made.folder / "bin" / name
            program.write_text(f"#!/bin/sh\necho {made.text} >&2\nexit 1\n")
    return place


class PlantedRecord:
    """A record of one reading, which a board named."""

    trouble = ""

    def __init__(self, made: World) -> None:
        name, unit = made.at("reading name", "level"), made.at("reading unit", "mm")
        self._series = Series(1, SeriesKind(name, unit), 60)

    async def open(self) -> None:
        return None

    def every_series(self) -> Sequence[Series]:
        return [self._series]

    async def rows(self, series: Series, begin_ms: int, end_ms: int) -> Columns:
        values = [float(number) for number in range(10)]
        times = [end_ms - 60_000 * (10 - number) for number in range(10)]
        return of_values(times, values, series.cadence_s, is_switch=False).between(begin_ms, end_ms)


class PlantedServer:
    """A server of the Model Context Protocol, as far as a tool asks it."""

    def __init__(self, made: World) -> None:
        self._made = made

    async def call(
        self, tool: str, digest: str, arguments: Mapping[str, object], put: object = None
    ) -> BridgeAnswer:
        if self._made.is_at("mcp trouble"):
            raise McpAway(f"the server is away: {self._made.text}")
        if self._made.is_at("mcp error"):
            return BridgeAnswer(text=self._made.text, is_error=True)
        return BridgeAnswer(text=self._made.at("mcp text", "dry "))


class PlantedHome:
    """A Home Assistant with one lamp, as far as its tools ask it."""

    host = "house.example.org:8123"

    def __init__(self, made: World) -> None:
        self._made = made

    async def states(self) -> list[HomeState]:
        return [self._state()]

    async def state(self, _entity: str) -> HomeState:
        return self._state()

    async def areas(self) -> dict[str, str]:
        return {"light.desk": self._made.at("home area", "Office")}

    async def call(self, _domain: str, _service: str, _data: object) -> int:
        if self._made.is_at("home refusal"):
            raise HomeAssistantRefused(f"{self.host} refused the call: {self._made.text}")
        return 1

    def _state(self) -> HomeState:
        name = self._made.at("home name", "Desk")
        attributes = {"friendly_name": name, "effect": self._made.at("home attribute", "none")}
        return HomeState("light.desk", self._made.at("home state", "on"), attributes)


class PlantedDevice:
    """Another device of the owner, as far as its tools ask it."""

    name = "greenhouse"

    def __init__(self, made: World) -> None:
        self._made = made
        manifest = FakeBoard().manifest
        assert manifest is not None
        board = KnownBoard("board", is_there=True, manifest=manifest)
        self.greeting = Greeting("session", "book", 0, 0.0, (board,), has_readings=True)

    async def greet(self) -> Greeting:
        return self.greeting

    async def look(self, _tool: str, _arguments_json: str) -> DeviceReply:
        return self._reply()

    async def act(
        self, _tool: str, _arguments_json: str, _words: str, *, is_relayed: bool
    ) -> DeviceReply:
        del is_relayed
        return self._reply()

    def _reply(self) -> DeviceReply:
        is_refused = self._made.is_at("device refusal")
        text = (
            self._made.text
            if is_refused
            else f'{{"state": {json.dumps(self._made.at("device answer", "on"))}}}'
        )
        outcome = Outcome.REFUSED if is_refused else Outcome.DONE
        return DeviceReply(
            id="0" * 32, outcome=outcome, session="session", book="book", clock_ms=0, text=text
        )


def _entry(made: World, kind: str) -> MemoryEntry:
    key, text = made.at("memory key", "tea"), made.at(f"{kind} text", "green ")
    source = made.at(f"{kind} source", "https://tea.example.org/")
    category = made.at("memory category", CORE)
    scope = Scope("owner")
    return MemoryEntry(
        1, key, text, category, Provenance.WEB, scope, 0.0, 0.0, score=1.0, source=source
    )


class PlantedMemory(PreparedMemory):
    """One memory that came from a page."""

    def __init__(self, made: World) -> None:
        super().__init__([_entry(made, "memory")])
        self._made = made

    async def recall(self, query: str, limit: int, scope: Scope) -> list[MemoryEntry]:
        self._fail()
        return await super().recall(query, limit, scope)

    async def count(self, scope: Scope | None = None) -> int:
        self._fail()
        return await super().count(scope)

    async def get(self, key: str, scope: Scope) -> MemoryEntry | None:
        self._fail()
        # Whatever it is asked for by
        return self.prepared[0]

    async def forget(self, key: str, scope: Scope) -> bool:
        self._fail()
        return False

    async def stats(self) -> MemoryStats:
        return MemoryStats("planted")

    def _fail(self) -> None:
        if self._made.is_at("memory failure"):
            raise MemoryUnavailable(f"the database said {self._made.text}")


class PlantedLibrary:
    """One piece of a document."""

    def __init__(self, made: World) -> None:
        self._made = made

    async def search(self, query: str, limit: int) -> list[MemoryEntry]:
        if self._made.is_at("library failure"):
            raise MemoryUnavailable(f"the index said {self._made.text}")
        return [_entry(self._made, "document")]


class PlantedPeople:
    """One paired person."""

    def __init__(self, made: World) -> None:
        self._made = made

    def everyone(self) -> Sequence[Addressee]:
        return (
            Addressee("anna", "telegram", "7"),
            Addressee(self._made.at("person name", "Bert"), "telegram", "8"),
        )


class PlantedPost:
    """Sends nothing."""

    def __init__(self, made: World) -> None:
        self._made = made

    async def __call__(self, to: Addressee, text: str) -> bool:
        if self._made.is_at("post failure"):
            raise StorageFull(f"the disk said {self._made.text}")
        self._made.posted.append(text)
        return True


def jobs(made: World) -> list[Job]:
    """What a guest ordered, and what came of it."""
    common = {"channel": "telegram", "target": "7", "person": "anna", "trust": 0}
    said = Job(
        name=made.at("job name", "reminder"),
        message=made.at("job message", "Water! "),
        result=made.at("job result", "done "),
        every_s=3600.0,
        ran_s=1.0,
        **common,  # type: ignore[arg-type]  # the same for both
    )
    asked = Job(name="asked", prompt=made.at("job prompt", "Look! "), every_s=3600.0, **common)  # type: ignore[arg-type]  # as above
    return [said, asked]


def timers(made: World) -> list[CountdownTimer]:
    """What a guest set; they wait, so that none ends."""
    common = {"number": 0, "channel": "telegram", "target": "7", "person": "anna", "trust": 0}
    words = (
        {"name": made.at("timer name", "tea")},
        {"order": made.at("timer order", "Look! ")},
        {"text": made.at("timer text", "Water! ")},
    )
    return [
        CountdownTimer(seconds=60.0 * place, left_s=60.0, state=TimerState.PAUSED, **common, **one)  # type: ignore[arg-type]  # the same for all
        for place, one in enumerate(words, 1)
    ]


async def watch(made: World, watches: Watches) -> None:
    """What somebody else had watched."""
    name = made.at("watch name", "dry")
    said = WatchSettings(pin="a0", below=1.0, say=made.at("watch words", "Dry! "))
    await watches.add(name, said, Provenance.WEB)
    asked = WatchSettings(pin="a0", below=1.0, ask=made.at("watch order", "Look! "))
    await watches.add("asking", asked, Provenance.WEB)
