"""A whole agent is killed in the middle of a request: whoever asks again is answered, once."""

import asyncio
import json
from pathlib import Path

from agent.access.pairing_codes import Codes, Invitation
from agent.system.clock import SystemClock
from tests.fakes.daemon_process import DaemonProcess
from tests.fakes.gateway import Answer, answer_of
from tests.fakes.lent_agent import TURN_PATIENCE_S
from tests.fakes.llm_server import running, streamed
from tests.waits import wait_until

STORY = " ".join(f"word{number}" for number in range(40))
# The first answer never ends; the second one does
SCRIPT = (streamed(STORY, stalls=True), streamed(STORY))
CONFIG = """
[provider]
kind = "openai"
base_url = "{url}"
model = "fake-model"
api_key = "key-of-a-test"
offline_last = false
[embeddings]
provider = "none"
[gateway]
listen = "127.0.0.1:{port}"
assistants = ["openai"]
"""
BODY = {"model": "barnacle-user", "messages": [{"role": "user", "content": "tell me"}]}


class Caller:
    """A program that asks one agent."""

    def __init__(self, port: int) -> None:
        self._port = port
        self.token = ""

    async def begin(
        self, path: str, body: object
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        raw = json.dumps(body).encode()
        lines = [f"POST {path} HTTP/1.1", "host: localhost", f"content-length: {len(raw)}"]
        if self.token:
            lines += [f"authorization: Bearer {self.token}", "idempotency-key: story"]
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        writer.write("\r\n".join([*lines, "", ""]).encode() + raw)
        return reader, writer

    async def ask(self, path: str, body: object) -> Answer:
        reader, writer = await self.begin(path, body)
        try:
            return await answer_of(reader, TURN_PATIENCE_S)
        finally:
            writer.close()


async def test_a_request_over_a_kill_is_one_message_with_one_answer(
    tmp_path: Path, unused_tcp_port: int
) -> None:
    (tmp_path / "state").mkdir(mode=0o700)
    code = Codes(tmp_path / "state" / "codes.json", SystemClock()).make(Invitation(role="user"))
    async with running(*SCRIPT) as model:
        config = CONFIG.format(url=model.base_url, port=unused_tcp_port)
        with DaemonProcess(tmp_path, config) as daemon:
            caller = Caller(unused_tcp_port)
            paired = await caller.ask("/pair", {"code": code})
            caller.token = json.loads(paired.body)["token"]
            _, cut = await caller.begin("/v1/chat/completions", BODY)
            await wait_until(lambda: len(model.requests) == 1)
            await asyncio.to_thread(daemon.kill)
            cut.close()
            await asyncio.to_thread(daemon.start)
            answer = await caller.ask("/v1/chat/completions", BODY)
            again = await caller.ask("/v1/chat/completions", BODY)
            assert await asyncio.to_thread(daemon.stop) == 0
        assert len(model.requests) == 2
    told = json.loads(answer.body)
    assert told["choices"][0]["message"]["content"] == STORY
    assert json.loads(again.body)["id"] == told["id"]
