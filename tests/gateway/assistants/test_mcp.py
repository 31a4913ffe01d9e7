"""The protocol's own client uses a whole agent: by HTTP, and by a program on its streams."""

import asyncio
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from mcp.client.client import Client

from agent.channels.base import Answer
from agent.security.audit import lines_of
from agent.security.audit_chain import Link, untied
from tests.fakes.board_sim import BoardSim
from tests.fakes.lent_agent import lent
from tests.fakes.mcp_client import client_of, relay_of
from tests.waits import wait_until

WORLD = {"values": {"temperature": 24.5, "button": 0}, "script": []}
WRITE_LED = {"pin": "led", "value": "on"}
RECEIPT = "barnacle/receipt"


@pytest.fixture
def sim(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[BoardSim]:
    request.getfixturevalue("micropython_command")
    with BoardSim(tmp_path, WORLD) as started:
        yield started


def text_of(result: Any) -> str:
    return str(result.content[0].text)


def receipt_of(result: Any) -> Mapping[str, Any]:
    found: Mapping[str, Any] = result.meta[RECEIPT]
    return found


async def test_the_client_lists_what_it_may_and_no_more(tmp_path: Path, sim: BoardSim) -> None:
    async with lent(tmp_path, assistants=("mcp",), sim=sim) as made, client_of(made) as client:
        tools = {one.name: one for one in (await client.list_tools()).tools}
        resources = {str(one.uri) for one in (await client.list_resources()).resources}
        templates = (await client.list_resource_templates()).resource_templates
    assert {"ask", "board_gpio_write", "readings_query", "memory_store", "cron_add"} <= set(tools)
    assert not {"shell", "file_read", "http_request", "send_message", "git"} & set(tools)
    assert tools["time_now"].annotations.read_only_hint is True
    assert tools["board_gpio_write"].annotations.read_only_hint is False
    assert {"barnacle://readings", "barnacle://memory", "barnacle://board"} <= resources
    assert {one.uri_template for one in templates} == {
        "barnacle://readings/{reading}",
        "barnacle://readings/{reading}/curve",
    }


async def test_an_act_is_the_owners_to_allow_and_has_a_receipt(
    tmp_path: Path, sim: BoardSim
) -> None:
    async with lent(tmp_path, assistants=("mcp",), sim=sim, answer=Answer.YES) as made:
        async with client_of(made) as client:
            result = await client.call_tool("board_gpio_write", WRITE_LED)
        assert made.led()[:1] == [1]
        [question] = made.owner.questions
        assert [place.channel for place in made.owner.asked] == ["fake"]
        links = [untied(line)[1] for _, line in lines_of(made.agent.paths.audit)]
    assert not result.is_error
    assert "watch (user) asked for it on gateway" in question.reason
    receipt = receipt_of(result)
    # A question, its answer, and what came of it
    assert [one["kind"] for one in receipt["audit"]] == ["decision", "decision", "effect"]
    assert [Link(one["row"], one["hash"]) for one in receipt["audit"]] == links[-3:]
    assert json.loads(receipt["read_back"])["value"] == "on"
    assert str(receipt["audit"][-1]["row"]) in result.content[1].text


async def test_what_the_owner_refuses_does_not_happen(tmp_path: Path, sim: BoardSim) -> None:
    async with lent(tmp_path, assistants=("mcp",), sim=sim, answer=Answer.NO) as made:
        async with client_of(made) as client:
            result = await client.call_tool("board_gpio_write", WRITE_LED)
        assert made.led() == []
    assert result.is_error
    assert "the owner said no" in text_of(result)


async def test_looking_needs_nobody_and_a_resource_is_read_as_its_tool_is(tmp_path: Path) -> None:
    async with lent(tmp_path, assistants=("mcp",)) as made, client_of(made) as client:
        now = await client.call_tool("time_now", {})
        board = await client.read_resource("barnacle://board")
        readings = await client.read_resource("barnacle://readings")
        assert made.owner.questions == []
    assert "weekday" in text_of(now)
    assert [one["kind"] for one in receipt_of(now)["audit"]] == ["decision"]
    assert isinstance(json.loads(board.contents[0].text), dict)
    assert readings.contents[0].mime_type == "application/json"


async def test_what_is_not_there_is_an_error_of_the_protocol(tmp_path: Path) -> None:
    async with lent(tmp_path, assistants=("mcp",)) as made, client_of(made) as client:
        with pytest.raises(Exception, match="no such tool"):
            await client.call_tool("shell", {"command": "id"})
        with pytest.raises(Exception, match="no such resource"):
            await client.read_resource("file:///etc/passwd")
        wrong = await client.call_tool("timer_start", {"nonsense": 1})
    assert wrong.is_error


async def test_words_that_are_relayed_count_as_the_webs(tmp_path: Path) -> None:
    memory = {"content": "the cat is called Tom"}
    async with lent(tmp_path, assistants=("mcp",), answer=Answer.NO) as made:
        async with client_of(made) as client:
            await client.call_tool("memory_store", memory)
            await client.call_tool("memory_store", memory, meta={"barnacle/relayed": True})
            await client.call_tool("ask", {"text": "what time is it?"})
            await client.call_tool("ask", {"text": "what time is it now?", "relayed": True})
        own, relayed = (one.reason for one in made.owner.questions)
        assert [trust for _, trust in made.accepted()] == [4, 0]
    assert "another person wrote" in own
    assert "from the web or from an unknown source" in relayed


async def test_the_agent_is_asked_in_words_and_goes_on_with_a_conversation(tmp_path: Path) -> None:
    async with lent(tmp_path, assistants=("mcp",)) as made, client_of(made) as client:
        said = {"text": "what time is it?", "conversation": "one"}
        first = await client.call_tool("ask", said)
        await client.call_tool("ask", said)
        shown = [str(one.body["messages"]) for one in made.model.requests]
        stopped = await client.call_tool("ask", {"text": "/estop"})
        assert made.agent.stop.is_set
    assert "weekday" in text_of(first)
    assert shown[0].count("what time is it?") == 1
    assert shown[-1].count("what time is it?") >= 2
    assert not stopped.is_error


async def test_nobody_comes_in_without_a_token_and_a_page_does_not(tmp_path: Path) -> None:
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    async with lent(tmp_path, assistants=("mcp",)) as made:
        token = await made.token()
        nobody = await made.ask("POST", "/mcp", ping)
        page = await made.ask("POST", "/mcp", ping, token, origin="http://evil.example")
        paired = await made.ask("POST", "/mcp", ping, token)
        stream = await made.ask("GET", "/mcp", token=token)
        old = await made.ask("POST", "/mcp", ping, token, MCP_Protocol_Version="1999-01-01")
        batch = await made.ask("POST", "/mcp", [ping], token, MCP_Protocol_Version="2025-06-18")
    statuses = [one.status for one in (nobody, page, paired, stream, old, batch)]
    assert statuses == [401, 403, 200, 405, 400, 400]
    assert json.loads(paired.body) == {"jsonrpc": "2.0", "id": 1, "result": {}}
    assert json.loads(batch.body)["error"]["code"] == -32600


async def test_the_first_version_s_messages_may_come_together(tmp_path: Path) -> None:
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    call = {"jsonrpc": "2.0", "id": "b", "method": "tools/call", "params": {"name": "time_now"}}
    begun = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    begin = {"jsonrpc": "2.0", "id": 3, "method": "initialize", "params": {}}
    async with lent(tmp_path, assistants=("mcp",)) as made:
        token = await made.token()

        async def together(*sent: object) -> Any:
            version = {"MCP_Protocol_Version": "2025-03-26"}
            return await made.ask("POST", "/mcp", [*sent], token, **version)

        answered = await together(ping, begun, call, begin, 7)
        unversioned = await made.ask("POST", "/mcp", [ping], token)
        silent, none = await together(begun), await together()
        many = await together(*[ping] * 9)
    told = json.loads(answered.body)
    assert [one["id"] for one in told] == [1, "b", 3, None]
    assert told[0]["result"] == {}
    assert "weekday" in told[1]["result"]["content"][0]["text"]
    assert [one["error"]["code"] for one in told[2:]] == [-32600, -32600]
    assert [len(json.loads(unversioned.body)), silent.status] == [1, 202]
    assert [none.status, many.status] == [400, 400]


async def test_a_program_on_its_own_streams_is_the_same_caller(
    tmp_path: Path, sim: BoardSim
) -> None:
    async with lent(tmp_path, assistants=("mcp",), sim=sim, answer=Answer.YES) as made:
        async with Client(await relay_of(made, tmp_path)) as client:
            names = [one.name for one in (await client.list_tools()).tools]
            result = await client.call_tool("board_gpio_write", WRITE_LED)
        assert made.led()[:1] == [1]
        [question] = made.owner.questions
    assert "ask" in names
    assert receipt_of(result)["audit"]
    assert "claude (user) asked for it" in question.reason


async def test_a_relay_says_what_is_wrong(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("no-token")
    ping = b'{"jsonrpc": "2.0", "id": 7, "method": "ping"}\n'
    async with lent(tmp_path, assistants=("mcp",)) as made:
        refused = await relayed(made.url, token, ping)
    away = await relayed("http://127.0.0.1:9", token, ping)
    assert refused["id"] == away["id"] == 7
    assert "refused (401)" in refused["error"]["message"]
    assert "is the agent running?" in away["error"]["message"]


async def relayed(url: str, token: Path, line: bytes) -> dict[str, Any]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "agent.cli.main", "mcp", "serve"),
        *("--token-file", str(token), "--url", url),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    out, _ = await process.communicate(line)
    told: dict[str, Any] = json.loads(out)
    return told


async def test_a_caller_who_leaves_is_not_waited_for(tmp_path: Path) -> None:
    call = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "memory_store", "arguments": {"content": "tea at four"}},
    }
    async with lent(tmp_path, assistants=("mcp",), answer=Answer.NO) as made:
        token = await made.token()
        accept = "application/json, text/event-stream"
        _, writer = await made.begin("POST", "/mcp", call, token, accept=accept)
        await wait_until(lambda: len(made.owner.questions) == 1)
        writer.transport.abort()
        await wait_until(lambda: len(made.gateway.places) == 0)
        again = await made.ask("POST", "/mcp", call, token)
    assert json.loads(again.body)["result"]["isError"] is True
