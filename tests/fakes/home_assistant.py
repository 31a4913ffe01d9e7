"""A Home Assistant that answers as it is told to, and remembers each request."""

import asyncio
import json
from collections.abc import Callable

import httpx

from agent.config import Secret
from agent.net.http import HttpClient
from agent.tools.home_assistant.client import HomeAssistant
from tests.fakes.resolver import FixedResolver

TOKEN = "token-of-a-test"
BASE = "http://homeassistant.local:8123"
# At home, where nothing else may be reached
ADDRESS = "192.168.1.10"
# What each service leaves behind
_AFTER = {"turn_on": "on", "turn_off": "off", "lock": "locked", "unlock": "unlocked"}


class FakeHome:
    """Home Assistant with its entities by state; a service that is called acts at once."""

    def __init__(self, states: dict[str, str] | None = None, base: str = BASE) -> None:
        self.states = states or {"light.desk": "off", "lock.front": "locked", "sensor.t": "21.5"}
        self.names: dict[str, str] = {}
        self.areas = {"Office": ["light.desk"]}
        self.requests: list[tuple[str, str]] = []
        self.calls: list[tuple[str, dict[str, object]]] = []
        self.token = TOKEN
        http = HttpClient(httpx.MockTransport(self._answer))
        lookup = FixedResolver({"homeassistant.local": [ADDRESS]})
        self.client = HomeAssistant(base, Secret(TOKEN), http, lookup)

    async def _answer(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path
        assert request.url.host == ADDRESS
        self.requests.append((request.method, path))
        if request.headers["authorization"] != f"Bearer {self.token}":
            return self.told(b"401: Unauthorized", 401)
        if path.startswith("/api/services/"):
            return await self.call(path, json.loads(request.content))
        return await self.look(path)

    async def look(self, path: str) -> httpx.Response:
        if path == "/api/":
            return self.told({"message": "API running."})
        if path == "/api/states":
            return self.told([self._state(one) for one in self.states])
        if path == "/api/template":
            lines = (json.dumps([area, known]) for area, known in self.areas.items())
            return self.told("\n".join(lines).encode())
        entity = path.rpartition("/")[2]
        if entity not in self.states:
            return self.told({"message": "Entity not found."}, 404)
        return self.told(self._state(entity))

    async def call(self, path: str, data: dict[str, object]) -> httpx.Response:
        service = path.removeprefix("/api/services/")
        self.calls.append((service, data))
        self.act(service.partition("/")[2], str(data["entity_id"]))
        return self.told([self._state(str(data["entity_id"]))])

    def act(self, service: str, entity: str) -> None:
        self.states[entity] = _AFTER.get(service, self.states[entity])

    def told(self, answer: object, status: int = 200, **headers: str) -> httpx.Response:
        body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        return httpx.Response(status, headers=headers, stream=httpx.ByteStream(body))

    def _state(self, entity: str) -> dict[str, object]:
        named = self.names.get(entity, entity.partition(".")[2].title())
        attributes = {"friendly_name": named, "supported_features": 0}
        return {"entity_id": entity, "state": self.states[entity], "attributes": attributes}


class RefusingHome(FakeHome):
    """Answers a call with a status; it has acted or not."""

    def __init__(self, status: int, *, acts: bool = False, **headers: str) -> None:
        super().__init__()
        self._status = status
        self._acts = acts
        self._headers = headers

    async def call(self, path: str, data: dict[str, object]) -> httpx.Response:
        self.calls.append((path.removeprefix("/api/services/"), data))
        if self._acts:
            self.act(path.rpartition("/")[2], str(data["entity_id"]))
        return self.told(b"400: Bad Request", self._status, **self._headers)


class CutHome(FakeHome):
    """Takes a call, acts, and the connection is cut before it answers; looks fail as often."""

    def __init__(self, looks_cut: int = 0) -> None:
        super().__init__()
        self.looks_cut = looks_cut

    async def look(self, path: str) -> httpx.Response:
        if self.looks_cut:
            self.looks_cut -= 1
            raise httpx.RemoteProtocolError("cut")
        return await super().look(path)

    async def call(self, path: str, data: dict[str, object]) -> httpx.Response:
        await super().call(path, data)
        raise httpx.RemoteProtocolError("cut")


class SilentHome(FakeHome):
    """Takes a call and never answers it."""

    async def call(self, path: str, data: dict[str, object]) -> httpx.Response:
        await super().call(path, data)
        await asyncio.Event().wait()
        raise AssertionError


class UnreachedHome(FakeHome):
    """Has no connection to its devices: it takes a call for one, and passes it over."""

    async def call(self, path: str, data: dict[str, object]) -> httpx.Response:
        await super().call(path, data)
        return self.told([])

    def act(self, service: str, entity: str) -> None:
        """Do nothing."""


class StuckHome(FakeHome):
    """Takes a call, and nothing moves."""

    def act(self, service: str, entity: str) -> None:
        """Do nothing."""


class SlowLockHome(FakeHome):
    """Its lock takes some looks to turn."""

    def __init__(self, looks: int) -> None:
        super().__init__()
        self._looks = looks
        self._then: Callable[[], None] = lambda: None

    def act(self, service: str, entity: str) -> None:
        self.states[entity] = "unlocking"
        self._then = lambda: super(SlowLockHome, self).act(service, entity)

    async def look(self, path: str) -> httpx.Response:
        if self.calls:
            self._looks -= 1
            if self._looks == 0:
                self._then()
        return await super().look(path)
