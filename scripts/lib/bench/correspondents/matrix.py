"""People on Synapse, which limits how much an account may send."""

import asyncio
import contextlib
import itertools
import json
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from agent.access.people import PersonAccount
from scripts.lib.bench.correspondents.base import Correspondents, Line
from tests.fakes import synapse
from tests.fakes.synapse import MatrixUser, Synapse, until_joined

# Its default is 0.2 and 10; drafts are edits, and each of them counts
_LIMIT = {"per_second": 4.0, "burst_count": 10}
_PATIENCE_S = 60.0
_POLL_MS = 20_000
# Its default leaves out all but ten events of each poll
_FILTER = json.dumps({"room": {"timeline": {"limit": 1000}}})
_BUSY = 429


class MatrixPeople(Correspondents):
    """People in a chat of two each with the agent."""

    name = "matrix"

    def __init__(self, server: Synapse, line: Line, http: httpx.AsyncClient, count: int) -> None:
        self.lines = (line,)
        self._http = http
        self.agent = server.account("barnacle")
        self._people = [server.account("anna") for _ in range(count)]
        self._rooms = [one.make_room(self.agent.id, is_direct=True) for one in self._people]
        self._txn = itertools.count(1)
        # What stands at an event of the agent, edits in their places
        self._standing: dict[str, str] = {}
        self.table = (
            f'[channels.matrix]\nbase_url = "http://127.0.0.1:{line.relay.port}"\n'
            f'token = "{self.agent.token}"\n'
        )
        self.accounts = [
            PersonAccount(channel="matrix", sender=one.id, target=room)
            for one, room in zip(self._people, self._rooms, strict=True)
        ]

    async def ready(self) -> None:
        for one, room in zip(self._people, self._rooms, strict=True):
            await until_joined(one, room, self.agent.id)

    async def write(self, person: int, text: str) -> None:
        path = f"/rooms/{quote(self._rooms[person])}/send/m.room.message/n{next(self._txn)}"
        content = {"msgtype": "m.text", "body": text}
        while True:
            answer = await self._call(self._people[person], "PUT", path, json=content)
            if answer.status_code != _BUSY:
                answer.raise_for_status()
                return
            await asyncio.sleep(answer.json()["retry_after_ms"] / 1e3)

    async def answers(self) -> Counter[str]:
        return Counter(self._standing.values())

    async def read(self, person: int) -> None:
        """Read what comes to somebody, for ever."""
        since = ""
        while True:
            asked = {
                "timeout": str(_POLL_MS),
                "filter": _FILTER,
                **({"since": since} if since else {}),
            }
            answer = await self._call(self._people[person], "GET", "/sync", params=asked)
            told = answer.raise_for_status().json()
            since = told["next_batch"]
            joined = told.get("rooms", {}).get("join", {})
            for event in joined.get(self._rooms[person], {}).get("timeline", {}).get("events", []):
                self._take(event)

    def _take(self, event: dict[str, Any]) -> None:
        content = event["content"]
        if event["type"] == "m.room.message" and event["sender"] == self.agent.id and content:
            about = content.get("m.relates_to", {})
            if about.get("rel_type") == "m.replace":
                self._standing[about["event_id"]] = content["m.new_content"]["body"]
            else:
                self._standing[event["event_id"]] = content["body"]

    async def _call(self, user: MatrixUser, method: str, path: str, **more: Any) -> httpx.Response:
        headers = {"Authorization": f"Bearer {user.token}"}
        url = f"{user.server}/_matrix/client/v3{path}"
        return await self._http.request(method, url, headers=headers, **more)


@contextlib.asynccontextmanager
async def on_synapse(folder: Path, people: int) -> AsyncIterator[MatrixPeople]:
    if not (synapse.SYNAPSE / "synapse").is_dir():
        pytest.skip("Synapse is not in .barnacle/synapse: scripts/test installs it")
    server = await asyncio.to_thread(Synapse, folder, _LIMIT)
    line = Line(server.port)
    await line.relay.start()
    async with httpx.AsyncClient(timeout=_PATIENCE_S) as http:
        made = await asyncio.to_thread(MatrixPeople, server, line, http, people)
        reading = [asyncio.ensure_future(made.read(number)) for number in range(people)]
        try:
            yield made
        finally:
            for task in reading:
                task.cancel()
            await asyncio.wait(reading)
            await line.relay.stop()
            await asyncio.to_thread(server.stop)
