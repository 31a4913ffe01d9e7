"""What a call made for its caller goes with the result, and a call says how far it is."""

import asyncio
import base64
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from agent.channels.base import Answer
from agent.gateway.assistants.mcp import content, stream
from agent.gateway.assistants.mcp.content import MadeFiles
from agent.gateway.assistants.mcp.stream import CallStream
from agent.gateway.assistants.mcp.wire import RpcAnswer
from agent.messages import ToolResult
from agent.passage import own
from agent.readings.series import SeriesKind
from tests.fakes.lent_agent import Lent, lent
from tests.fakes.mcp_client import client_of

PNG = b"\x89PNG"
CURVE = "barnacle://readings/tank/curve"


@contextlib.asynccontextmanager
async def measured(folder: Path, answer: Answer = Answer.YES) -> AsyncIterator[Lent]:
    """An agent that has recorded the last minute of a tank."""
    async with lent(folder, assistants=("mcp",), answer=answer) as made:
        record = made.agent.peripherals.record
        assert record is not None
        store, clock = record.store, made.agent.clock
        await store.open()
        tank = await store.series(SeriesKind("tank", "cm"), 60)
        now_s = clock.monotonic_s()
        store.place(round((clock.wall_s() - now_s) * 1000), is_sure=True)
        for second in range(60):
            store.add(tank, now_s - 60 + second, float(second))
        yield made


async def test_a_curve_comes_as_a_picture_when_the_owner_lets_it_be_drawn(tmp_path: Path) -> None:
    async with measured(tmp_path) as made, client_of(made) as client:
        drawn = await client.call_tool("readings_draw", {"reading": "tank"})
        read = await client.read_resource(CURVE)
        assert len(made.owner.questions) == 2
    picture: Any = drawn.content[1]
    assert (picture.type, picture.mime_type) == ("image", "image/png")
    assert base64.b64decode(picture.data).startswith(PNG)
    [held] = read.contents
    assert (str(held.uri), held.mime_type) == (CURVE, "image/png")
    assert base64.b64decode(held.blob).startswith(PNG)  # type: ignore[union-attr]  # no text


async def test_a_curve_that_the_owner_refuses_is_none(tmp_path: Path) -> None:
    async with measured(tmp_path, Answer.NO) as made, client_of(made) as client:
        with pytest.raises(Exception, match="the owner said no"):
            await client.read_resource(CURVE)
        values = await client.read_resource("barnacle://readings/tank")
        with pytest.raises(Exception, match="no such resource"):
            await client.read_resource("barnacle://readings/tank/../../etc")
    assert '"tank"' in values.contents[0].text  # type: ignore[union-attr]  # no bytes


async def test_memories_are_exported_to_the_caller(tmp_path: Path) -> None:
    async with (
        lent(tmp_path, assistants=("mcp",), answer=Answer.YES) as made,
        client_of(made) as client,
    ):
        await client.call_tool("memory_store", {"content": "the cat is called Tom"})
        exported = await client.call_tool("memory_export", {"path": "mine.md"})
    enclosed: Any = exported.content[1]
    assert enclosed.type == "resource"
    assert enclosed.resource.mime_type == "text/markdown"
    assert "the cat is called Tom" in enclosed.resource.text


async def test_a_call_that_waits_for_the_owner_says_so(tmp_path: Path) -> None:
    steps: list[tuple[float, str | None]] = []

    async def heard(progress: float, _total: float | None, message: str | None) -> None:
        steps.append((progress, message))

    async with lent(tmp_path, assistants=("mcp",)) as made, client_of(made) as client:
        await client.call_tool("memory_store", {"content": "x"}, progress_callback=heard)
        assert steps == [(0, "taken"), (1, "the owner is asked"), (2, "done")]
        # Nobody is told who has not asked for it
        steps.clear()
        await client.call_tool("time_now", {})
    assert steps == []


@pytest.mark.parametrize("named", [True, False])
async def test_a_long_call_shows_that_it_is_at_work(
    monkeypatch: pytest.MonkeyPatch, *, named: bool
) -> None:
    monkeypatch.setattr(stream, "BEAT_S", 0.001)
    call = CallStream({"_meta": {"progressToken": "t"}} if named else {})
    ends = asyncio.Event()

    async def work() -> RpcAnswer:
        await ends.wait()
        return RpcAnswer(1, {})

    told: list[dict[str, Any]] = []
    beats = 0
    async for event in call.events(asyncio.create_task(work())):
        if event.startswith(b":"):
            beats += 1
        else:
            told.append(msgspec.json.decode(event.partition(b"data: ")[2]))
        if beats > 2:
            ends.set()
    assert told[-1] == {"jsonrpc": "2.0", "id": 1, "result": {}}
    steps = [one["params"] for one in told[:-1]]
    assert bool(steps) is named
    assert [one["progress"] for one in steps] == list(range(len(steps)))
    if named:
        assert "still at work" in [one["message"] for one in steps]
        assert {one["progressToken"] for one in steps} == {"t"}


@pytest.mark.parametrize("token", [None, True, 1.5, {"a": 1}, ["t"]])
def test_what_is_no_name_of_a_call_names_none(token: object) -> None:
    assert CallStream({"_meta": {"progressToken": token}})._named is None


async def test_a_file_is_what_it_is_and_shows_no_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(content, "MAX_FILE_BYTES", 2048)
    outside = tmp_path / "secret"
    outside.write_text("hunter2")
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "a.txt").write_text("the key is hunter2")
    (workspace / "b.txt").write_bytes(b"\xff\xfe")
    (workspace / "c.wav").write_bytes(b"RIFF\x80")
    (workspace / "g.png").write_text("no picture: hunter2")
    (workspace / "d.bin").write_bytes(b"x" * 2049)
    (workspace / "e.txt").symlink_to(outside)
    made = MadeFiles(workspace, lambda text: text.replace("hunter2", "[key]"))
    paths = ("a.txt", "b.txt", "c.wav", "g.png", "d.bin", "e.txt", "../secret", "f.txt")
    blocks = [file.block() for file in await made.of(ToolResult.done(own("made"), paths))]
    assert blocks[0]["resource"]["text"] == "the key is [key]"  # type: ignore[index]  # an object
    assert blocks[1]["resource"]["blob"] == base64.b64encode(b"\xff\xfe").decode()  # type: ignore[index]  # an object
    assert (blocks[2]["type"], blocks[2]["mimeType"]) == ("audio", "audio/wav")
    assert blocks[3]["resource"]["text"] == "no picture: [key]"  # type: ignore[index]  # an object
    told = [str(one["text"]) for one in blocks[4:]]
    assert [one.partition(" is not sent: ")[0] for one in told] == [f"({one}" for one in paths[4:]]
    assert "hunter2" not in str(blocks)
