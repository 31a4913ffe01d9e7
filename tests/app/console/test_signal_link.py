"""Linking of a Signal account on a page, as the agent does it, with a pretended signal-cli."""

import asyncio
import contextlib
import json
import logging
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from agent.access.people import Person
from agent.app.build import Agent, assemble
from agent.app.console.signal_link import SignalLink
from agent.channels.signal.shown_code import NAME, ShownCode
from agent.config import load
from agent.errors import BadArguments, StorageFull
from agent.settings import Paths, Settings
from tests.fakes.lent_agent import quiet_log
from tests.fakes.signal_daemon import LINK_URI, NUMBER, SignalDaemon, running
from tests.fakes.signal_faults import Fails, Waits
from tests.waits import wait_until

OWNER = Person(role="owner", person_id="1", name="Ann")
USER = Person(role="user", person_id="2", name="Bob")
SECRET = "pub_key"


@contextlib.asynccontextmanager
async def agent_with(folder: Path, url: str) -> AsyncIterator[Agent]:
    path = folder / "barnacle.toml"
    signal = f'[channels.signal]\nbase_url = "{url}"\n' if url else ""
    path.write_text(
        f'[agent]\nname = "Greenhouse"\n[embeddings]\nprovider = "none"\n'
        f'[log]\nlevel = "debug"\n{signal}'
    )
    (folder / "state").mkdir(mode=0o700)
    with quiet_log() as told:
        made = assemble(load(path, Settings), Paths(path, folder / "state"), {}, told)
        yield made
        await made.aclose()


@contextlib.asynccontextmanager
async def linking(folder: Path, daemon: SignalDaemon) -> AsyncIterator[tuple[Agent, SignalLink]]:
    async with running(daemon), agent_with(folder, daemon.url) as agent:
        link = SignalLink(agent)
        yield agent, link
        await link.aclose()


async def told(link: SignalLink) -> dict[str, Any]:
    return await link.read(OWNER, {})


async def until(link: SignalLink, step: str) -> dict[str, Any]:
    await wait_until(lambda: link._link.step.value == step)
    return await told(link)


def rows_of(agent: Agent) -> list[dict[str, Any]]:
    files = sorted(agent.paths.audit.glob("*.jsonl"))
    rows = [json.loads(line) for path in files for line in path.read_text().splitlines()]
    return [row for row in rows if row.get("tool") == "signal_link"]


async def test_an_account_is_linked_by_a_code_that_is_told_to_nobody_else(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    daemon = SignalDaemon(accounts=[])
    scanned = Waits()
    daemon.fail("finishLink", scanned)
    with caplog.at_level(logging.DEBUG):
        async with linking(tmp_path, daemon) as (agent, link):
            before = await told(link)
            assert (before["is_offered"], before["step"], before["uri"]) == (True, "none", "")
            await link.begin(OWNER, {})
            shown = await until(link, "shown")
            assert shown["uri"] == LINK_URI
            assert (await link.read(USER, {}))["uri"] == ""
            scanned.over.set()
            after = await until(link, "linked")
            assert (after["account"], after["uri"], after["trouble"]) == (NUMBER, "", "")
            await wait_until(lambda: len(rows_of(agent)) == 2)
            rows = rows_of(agent)
    assert [(row["kind"], row.get("ok"), row.get("result")) for row in rows] == [
        ("decision", None, None),
        ("effect", True, NUMBER),
    ]
    assert daemon.called("finishLink")[0]["deviceName"] == "Greenhouse"
    assert SECRET not in json.dumps(rows)
    assert SECRET not in caplog.text


@pytest.mark.parametrize("is_scanned", [True, False])
async def test_the_devices_screen_has_the_code_while_it_can_be_scanned(
    tmp_path: Path, *, is_scanned: bool
) -> None:
    daemon, scanned, runtime = SignalDaemon(accounts=[]), Waits(), tmp_path / "run"
    runtime.mkdir()
    daemon.fail("finishLink", scanned)
    code = runtime / NAME
    async with running(daemon), agent_with(tmp_path, daemon.url) as agent:
        link = SignalLink(agent, ShownCode({"RUNTIME_DIRECTORY": str(runtime)}))
        await link.begin(OWNER, {})
        await until(link, "shown")
        assert code.read_text() == LINK_URI
        assert code.stat().st_mode & 0o777 == 0o600
        if is_scanned:
            scanned.over.set()
            await until(link, "linked")
            assert not code.exists()
        await link.aclose()
    assert not code.exists()


def test_a_screen_that_takes_no_code_stops_nothing(tmp_path: Path) -> None:
    ShownCode({"RUNTIME_DIRECTORY": str(tmp_path / "gone")}).show(LINK_URI)
    ShownCode({}).show(LINK_URI)
    assert list(tmp_path.iterdir()) == []


async def test_a_second_press_begins_no_second_link(tmp_path: Path) -> None:
    daemon = SignalDaemon(accounts=[])
    daemon.fail("finishLink", Waits())
    async with linking(tmp_path, daemon) as (agent, link):
        await asyncio.gather(*(link.begin(OWNER, {}) for _ in range(5)))
        first = await until(link, "shown")
        await link.begin(OWNER, {})
        assert await told(link) == first
        assert len(daemon.called("startLink")) == 1
        assert len(rows_of(agent)) == 1


async def test_a_code_that_ran_out_is_gone_and_another_one_can_be_shown(tmp_path: Path) -> None:
    daemon = SignalDaemon(accounts=[])
    ends, scanned = Waits(Fails(-1, "Link request timed out, please try again.")), Waits()
    daemon.fail("finishLink", ends, scanned)
    async with linking(tmp_path, daemon) as (agent, link):
        await link.begin(OWNER, {})
        shown = await until(link, "shown")
        ends.over.set()
        over = await until(link, "over")
        assert over["uri"] == ""
        assert over["number"] > shown["number"]
        await link.begin(OWNER, {})
        await until(link, "shown")
        scanned.over.set()
        await until(link, "linked")
        await wait_until(lambda: len(rows_of(agent)) == 4)
        assert [row["ok"] for row in rows_of(agent) if row["kind"] == "effect"] == [False, True]


@pytest.mark.parametrize(
    ("method", "fault", "clue"),
    [
        ("startLink", Fails(-3, "Connection closed!"), "could not do startLink"),
        ("startLink", Fails(-32601, "Method not implemented"), "start it without -a"),
        ("finishLink", Fails(-1, f"No such {LINK_URI} is known"), "No such the code is known"),
    ],
)
async def test_a_link_that_fails_says_why_without_the_code(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, method: str, fault: Fails, clue: str
) -> None:
    daemon = SignalDaemon(accounts=[])
    daemon.fail(method, fault)
    async with linking(tmp_path, daemon) as (agent, link):
        await link.begin(OWNER, {})
        failed = await until(link, "failed")
        assert clue in failed["trouble"]
        assert failed["uri"] == ""
        await wait_until(lambda: len(rows_of(agent)) == 2)
        for text in (failed["trouble"], json.dumps(rows_of(agent)), caplog.text):
            assert SECRET not in text


async def test_without_the_daemon_the_fix_is_said(tmp_path: Path) -> None:
    async with agent_with(tmp_path, "http://127.0.0.1:9") as agent:
        link = SignalLink(agent)
        await link.begin(OWNER, {})
        failed = await until(link, "failed")
        assert "start it with `signal-cli daemon --http`" in failed["trouble"]


@pytest.mark.parametrize("url", ["", "http://signal.example:8080", "http://192.168.7.7:8080"])
async def test_only_signal_cli_of_this_machine_is_offered(tmp_path: Path, url: str) -> None:
    async with agent_with(tmp_path, url) as agent:
        link = SignalLink(agent)
        assert not (await told(link))["is_offered"]
        with pytest.raises(BadArguments):
            await link.begin(OWNER, {})


async def test_what_cannot_be_recorded_is_not_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    daemon = SignalDaemon(accounts=[])

    async def full(_row: object) -> None:
        raise StorageFull("the disk is full")

    async with linking(tmp_path, daemon) as (agent, link):
        monkeypatch.setattr(type(agent.records), "note", lambda _self, row: full(row))
        with pytest.raises(StorageFull):
            await link.begin(OWNER, {})
        assert (await told(link))["step"] == "none"
    assert daemon.called("startLink") == []


async def test_an_open_link_ends_with_the_agent(tmp_path: Path) -> None:
    daemon = SignalDaemon(accounts=[])
    daemon.fail("finishLink", Waits())
    async with linking(tmp_path, daemon) as (_, link):
        await link.begin(OWNER, {})
        await until(link, "shown")
        await link.aclose()
        assert link._linking is not None
        assert link._linking.cancelled()
