"""Slack's side of the Events API, written from its documentation: signed posts, and posted again.

It posts to the gateway what a pretended workspace tells, until it is answered 200. What is not
answered in 3 s has failed; meanwhile it goes on with what comes next.
"""

import asyncio
import contextlib
import hashlib
import hmac
import json
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from urllib.parse import urlencode

from tests.canaries import secret
from tests.fakes.gateway import Answer, answer_of
from tests.fakes.slack_world import Json, World

SIGNING_SECRET = secret("slack-signing").replace("-", "")
PATH = "/slack"
PATIENCE_S = 3.0
# As long as one post may hold up the next
HEAD_START_S = 0.3
TRY_AGAIN_S = 0.02
FORM = "application/x-www-form-urlencoded"


@dataclass
class SlackPoster:
    """Posts for one app.

    Args:
        port: of the gateway.
    """

    world: World
    port: int = 0
    path: str = PATH
    # The statuses of what was posted, in the order of the answers
    answers: list[int] = field(default_factory=list)
    # As they were posted: headers, body
    posted: list[tuple[Json, bytes]] = field(default_factory=list)
    _posting: set[asyncio.Task[None]] = field(default_factory=set)

    async def run(self) -> None:
        """Until cancelled."""
        waiting: asyncio.Queue[Json] = asyncio.Queue()
        self.world.lines.append(waiting.put_nowait)
        try:
            while True:
                task = asyncio.ensure_future(self._bring(await waiting.get()))
                self._posting.add(task)
                task.add_done_callback(self._posting.discard)
                await asyncio.wait([task], timeout=HEAD_START_S)
        finally:
            self.world.lines.remove(waiting.put_nowait)
            for task in self._posting:
                task.cancel()
            if self._posting:
                await asyncio.wait(self._posting)

    async def post(self, body: bytes, headers: Json) -> Answer:
        """One request, as its log would show it."""
        told = {"host": "localhost", "content-length": str(len(body)), **headers}
        lines = [f"POST {self.path} HTTP/1.1", *(f"{name}: {text}" for name, text in told.items())]
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        except ConnectionError:
            return Answer()
        try:
            writer.write("\r\n".join([*lines, "", ""]).encode() + body)
            return await answer_of(reader)
        finally:
            writer.transport.abort()

    async def say(self, told: Json, **more: str) -> Answer:
        """JSON, signed now."""
        body = json.dumps(told).encode()
        return await self.post(body, signed(body) | more)

    async def _bring(self, envelope: Json) -> None:
        kind, body = _written(envelope)
        again: Json = {}
        while True:
            headers = {**signed(body, kind=kind), **again}
            self.posted.append((headers, body))
            reason, answer = "http_timeout", Answer()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(PATIENCE_S):
                    answer = await self.post(body, headers)
                    reason = "http_error" if answer.status else "connection_failed"
            self.answers.append(answer.status)
            if answer.status == 200:
                self.world.waiting.pop(envelope["envelope_id"], None)
                return
            number = int(again.get("x-slack-retry-num", 0)) + 1
            again = {"x-slack-retry-num": str(number), "x-slack-retry-reason": reason}
            await asyncio.sleep(TRY_AGAIN_S)


def signed(
    body: bytes, key: str = SIGNING_SECRET, kind: str = "application/json", ago_s: float = 0
) -> Json:
    """The headers of a post."""
    at = str(int(time.time() - ago_s))
    digest = hmac.new(key.encode(), b"v0:" + at.encode() + b":" + body, hashlib.sha256).hexdigest()
    told = {"x-slack-request-timestamp": at, "x-slack-signature": f"v0={digest}"}
    return {**told, "content-type": kind, "user-agent": "Slackbot 1.0"}


@contextlib.asynccontextmanager
async def posting(world: World, port: int) -> AsyncIterator[SlackPoster]:
    poster = SlackPoster(world, port)
    task = asyncio.ensure_future(poster.run())
    try:
        yield poster
    finally:
        task.cancel()
        await asyncio.wait([task])


def _written(envelope: Json) -> tuple[str, bytes]:
    """The kind of a body, and the body."""
    kind, payload = envelope["type"], envelope["payload"]
    if kind == "events_api":
        return "application/json", json.dumps(payload).encode()
    if kind == "interactive":
        return FORM, urlencode({"payload": json.dumps(payload)}).encode()
    trigger = {"trigger_id": f"133.452.{envelope['envelope_id']}"}
    return FORM, urlencode({**trigger, "token": "-", "team_id": "T0TEAM", **payload}).encode()
