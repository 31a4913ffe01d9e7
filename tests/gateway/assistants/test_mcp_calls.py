"""Calls that are taken back: by the protocol's own client, by its relay, and by hand."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from mcp.client.client import Client

from agent.messaging import inbox
from tests.fakes.channel import SilentChannel
from tests.fakes.gateway import Answer as HttpAnswer
from tests.fakes.gateway import answer_of
from tests.fakes.lent_agent import TURN_PATIENCE_S, Lent, lent
from tests.fakes.llm_server import streamed
from tests.fakes.mcp_client import client_of, relay_of
from tests.waits import stays, wait_until

STORE = {"content": "tea at four"}
ACCEPT = "application/json, text/event-stream"
# In which an answer that may not come would have come
A_MOMENT_S = 0.3


def silent(made: Lent) -> SilentChannel:
    assert isinstance(made.owner, SilentChannel)
    return made.owner


def call(number: object = 1, tool: str = "memory_store") -> dict[str, object]:
    params = {"name": tool, "arguments": STORE}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


def cancelled(number: object = 1) -> dict[str, object]:
    params = {"requestId": number, "reason": "stop was pressed"}
    return {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}


async def asked(made: Lent, count: int = 1) -> None:
    await wait_until(lambda: len(made.owner.questions) == count)


class Raw:
    """A client by hand, whose calls are open at once."""

    def __init__(self, made: Lent, token: str, session: str = "") -> None:
        self._made = made
        self._token = token
        self._headers = {"Mcp_Session_Id": session} if session else {}

    async def begin(self, body: object, accept: str = ACCEPT) -> "asyncio.Task[HttpAnswer]":
        reader, writer = await self._made.begin(
            "POST", "/mcp", body, self._token, accept=accept, **self._headers
        )

        async def end() -> HttpAnswer:
            try:
                return await answer_of(reader, TURN_PATIENCE_S)
            finally:
                writer.close()

        return asyncio.create_task(end())

    async def say(self, body: object) -> HttpAnswer:
        return await self._made.ask("POST", "/mcp", body, self._token, **self._headers)


async def test_the_client_takes_back_a_call_that_waits_for_the_owner(tmp_path: Path) -> None:
    async with lent(tmp_path, assistants=("mcp",), answer=None) as made, client_of(made) as client:
        waiting = asyncio.create_task(client.call_tool("memory_store", STORE))
        await asked(made)
        waiting.cancel()
        await wait_until(lambda: silent(made).taken_back == 1)
        now = await client.call_tool("time_now", {})
    assert not now.is_error


async def test_the_call_of_a_program_on_its_own_streams_is_taken_back(tmp_path: Path) -> None:
    async with (
        lent(tmp_path, assistants=("mcp",), answer=None) as made,
        Client(await relay_of(made, tmp_path)) as client,
    ):
        waiting = asyncio.create_task(client.call_tool("memory_store", STORE))
        await asked(made)
        waiting.cancel()
        await wait_until(lambda: silent(made).taken_back == 1)


async def test_a_call_that_is_taken_back_has_no_answer(tmp_path: Path) -> None:
    async with lent(tmp_path, assistants=("mcp",), answer=None) as made:
        raw = Raw(made, await made.token())
        stream = await raw.begin(call("a"))
        whole = await raw.begin(call("b"), accept="application/json")
        batch = await raw.begin([call("c")])
        await asked(made, 3)
        told = [(await raw.say(cancelled(one))).status for one in "abc"]
        streamed_one, whole_one, batched = [await one for one in (stream, whole, batch)]
    assert told == [202, 202, 202]
    assert (streamed_one.status, whole_one.status, batched.status) == (200, 202, 202)
    assert b'"id"' not in streamed_one.body
    assert not whole_one.body
    assert not batched.body


async def test_a_client_takes_back_its_own_calls_alone(tmp_path: Path) -> None:
    begin = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {}}
    async with lent(tmp_path, assistants=("mcp",), answer=None) as made:
        token = await made.token()
        greeted = [await made.ask("POST", "/mcp", begin, token) for _ in range(2)]
        names = [one.headers["mcp-session-id"] for one in greeted]
        one, two = (Raw(made, token, name) for name in names)
        other = Raw(made, await made.token(name="another"), names[0])
        await one.begin(call())
        await asked(made)
        for stranger in (two, other, Raw(made, token)):
            assert (await stranger.say(cancelled())).status == 202
        for nonsense in (True, 1.0, "1", None, [1], 2):
            await one.say(cancelled(nonsense))
        await stays(lambda: silent(made).taken_back == 0, A_MOMENT_S)
        await one.say(cancelled())
        await wait_until(lambda: silent(made).taken_back == 1)


async def test_of_two_calls_that_are_called_the_same_none_is_taken_back(tmp_path: Path) -> None:
    async with lent(tmp_path, assistants=("mcp",), answer=None) as made:
        raw = Raw(made, await made.token())
        for _ in range(2):
            await raw.begin(call())
        await asked(made, 2)
        await raw.say(cancelled())
        await stays(lambda: silent(made).taken_back == 0, A_MOMENT_S)


async def test_a_turn_that_was_asked_for_is_stopped(tmp_path: Path) -> None:
    async with lent(tmp_path, assistants=("mcp",), answer=None) as made, client_of(made) as client:
        said = {"text": "remember that the cat is called Tom"}
        waiting = asyncio.create_task(client.call_tool("ask", said))
        await asked(made)
        waiting.cancel()
        await wait_until(lambda: silent(made).taken_back == 1)
        rounds = len(made.model.requests)
        again = await client.call_tool("ask", {"text": "what time is it?"})
    assert not again.is_error
    assert rounds == 1


async def test_a_turn_that_waits_behind_another_is_stopped_alone(tmp_path: Path) -> None:
    endless = streamed("once upon a time", piece_bytes=10, pause_s=TURN_PATIENCE_S)
    async with lent(tmp_path, endless, assistants=("mcp",)) as made, client_of(made) as client:

        def ask(text: str) -> "asyncio.Task[object]":
            said = {"text": text, "conversation": "one"}
            return asyncio.create_task(client.call_tool("ask", said))

        async def open_ones() -> list[str]:
            found = await made.agent.journal.transact(inbox.unanswered)
            return [one.message.text for one in found]

        first = ask("tell me")
        await wait_until(lambda: len(made.model.requests) == 1)
        second = ask("tell me more")
        await wait_until(lambda: len(made.accepted()) == 2)
        second.cancel()
        await stays(open_ones, A_MOMENT_S)
        assert await open_ones() == ["tell me", "tell me more"]
        first.cancel()
        await wait_until(lambda: _is_over(open_ones))
        assert len(made.model.requests) == 1


async def _is_over(open_ones: Callable[[], Awaitable[list[str]]]) -> bool:
    return not await open_ones()
