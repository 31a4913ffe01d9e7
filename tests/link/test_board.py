import asyncio
import json
import struct
from pathlib import Path

import pytest

from agent.errors import CallRefused, LinkLost, OutcomeUnknown
from agent.link import frame as wire
from agent.link.base import BoardState
from agent.link.board import SerialBoard
from agent.link.manifest import Manifest
from agent.link.manifest_cache import ManifestCache
from agent.link.settings import BoardSettings
from tests.fakes.linked_board import linked, ready
from tests.fakes.peer import ADC, PULSE, READ, WRITE, ScriptedBoard
from tests.fakes.virtual_time import LoopClock, in_virtual_time

LED_ON = {"pin": "led", "value": "on"}


def now_s() -> float:
    return LoopClock().monotonic_s()


@in_virtual_time
async def test_calls_take_and_give_names_and_units(tmp_path: Path) -> None:
    async with ready(tmp_path) as (link, board):
        assert await link.board.call("gpio_write", LED_ON) == {"value": "on"}
        assert await link.board.call("gpio_read", {"pin": "led"}) == {"value": "on"}
        assert await link.board.call("adc_read", {"pin": "a0"}) == {"value": 1.234}
        assert await link.board.call("mcu_temperature", {}) == {"value": 24.5}
        assert board.outputs == {0: 1}


@in_virtual_time
async def test_methods_of_the_link_itself_are_asked_in_bytes(tmp_path: Path) -> None:
    async with ready(tmp_path) as (link, _board):
        status = await link.board.exchange(wire.METHOD_STATUS, b"")
        assert len(status) == struct.calcsize(wire.STATUS_FORMAT)
        link.ports.unplug()
        await link.until(BoardState.CONNECTING)
        with pytest.raises(LinkLost):
            await link.board.exchange(wire.METHOD_STATUS, b"")


@in_virtual_time
async def test_the_status_says_who_answers_and_where(tmp_path: Path) -> None:
    async with ready(tmp_path) as (link, _board):
        status = link.board.status
        assert (status.state, status.port, status.trouble) == (
            BoardState.READY,
            "/dev/fake-port",
            "",
        )
        assert status.identity is not None
        assert status.identity.board == "scripted"
    assert link.board.status.state is BoardState.CLOSED
    with pytest.raises(LinkLost, match="released the"):
        await link.board.call("mcu_temperature", {})


@in_virtual_time
async def test_what_the_manifest_forbids_never_reaches_the_board(tmp_path: Path) -> None:
    async with ready(tmp_path) as (link, board):
        before = len(board.requests)
        with pytest.raises(CallRefused, match="bad_pin"):
            await link.board.call("gpio_write", {"pin": "button", "value": "on"})
        with pytest.raises(CallRefused, match="no fly"):
            await link.board.call("fly", {})
        assert len(board.requests) == before


@in_virtual_time
async def test_what_the_board_refuses_is_refused(tmp_path: Path) -> None:
    async with ready(tmp_path) as (link, board):
        board.overrides[WRITE] = (6, b"only while level_ok is high")
        with pytest.raises(CallRefused, match="interlock: only while level_ok"):
            await link.board.call("gpio_write", LED_ON)


@in_virtual_time
async def test_a_reading_that_means_nothing_is_refused(tmp_path: Path) -> None:
    async with ready(tmp_path) as (link, board):
        board.overrides[ADC] = (0, b"\x01")
        with pytest.raises(CallRefused, match="too short"):
            await link.board.call("adc_read", {"pin": "a0"})


@in_virtual_time
async def test_an_act_whose_answer_means_nothing_is_unknown(tmp_path: Path) -> None:
    async with ready(tmp_path) as (link, board):
        board.overrides[WRITE] = (0, b"\x07")
        with pytest.raises(OutcomeUnknown, match="is not a known choice"):
            await link.board.call("gpio_write", LED_ON)


@in_virtual_time
async def test_a_known_board_needs_one_round_trip(tmp_path: Path) -> None:
    async with ready(tmp_path) as (_link, board):
        assert [method for method, _ in board.requests].count(wire.METHOD_MANIFEST) > 0
        board.requests.clear()
    async with ready(tmp_path, peer=board) as (_link, board):
        # What follows once it is ready: whether something is locked
        assert {method for method, _ in board.requests} <= {wire.METHOD_STATUS}


@in_virtual_time
async def test_the_last_board_is_known_while_it_is_away(tmp_path: Path) -> None:
    async with ready(tmp_path) as (link, _board):
        known = link.board.manifest
    board = SerialBoard(BoardSettings(port="/dev/none"), tmp_path, LoopClock())
    heard: list[Manifest] = []
    board.on_manifest(heard.append)
    assert known is not None
    assert board.manifest == known
    assert heard == [known]
    with pytest.raises(LinkLost, match="not searched for yet"):
        await board.call("mcu_temperature", {})


@in_virtual_time
async def test_who_listens_before_the_first_connection_hears_of_it(tmp_path: Path) -> None:
    heard: list[Manifest] = []
    async with linked(ScriptedBoard(), tmp_path) as link:
        link.board.on_manifest(heard.append)
        assert heard == []
        await link.until(BoardState.READY)
        assert heard == [link.board.manifest]


async def test_a_manifest_written_by_a_newer_agent_is_forgotten(tmp_path: Path) -> None:
    ManifestCache(tmp_path).put(b'{"manifest": 2, "board": "x"}')
    assert SerialBoard(BoardSettings(), tmp_path, LoopClock()).manifest is None


@in_virtual_time
async def test_listeners_hear_of_another_manifest_and_only_then(tmp_path: Path) -> None:
    async with ready(tmp_path) as (link, board):
        heard: list[Manifest] = []
        unsubscribe = link.board.on_manifest(heard.append)
        link.ports.unplug()
        await link.until(BoardState.ABSENT)
        link.ports.plug_in()
        await link.until(BoardState.READY)
        assert len(heard) == 1
        described = json.loads(board.manifest)
        described["board"] = "another"
        board.manifest = json.dumps(described).encode()
        link.ports.unplug()
        await link.until(BoardState.ABSENT)
        link.ports.plug_in()
        await link.until(BoardState.READY)
        assert [manifest.board for manifest in heard] == ["simulated", "another"]
        unsubscribe()
        unsubscribed_board = link.board
    assert unsubscribed_board._listeners == []


@in_virtual_time
async def test_a_manifest_that_cannot_be_read_refuses_the_board(tmp_path: Path) -> None:
    peer = ScriptedBoard(manifest=b'{"manifest": 7, "board": "x"}')
    async with linked(peer, tmp_path) as link:
        await link.until(BoardState.REFUSED, "version 7")


@in_virtual_time
async def test_calls_of_many_callers_do_not_disturb_each_other(tmp_path: Path) -> None:
    async with ready(tmp_path) as (link, board):
        calls = [asyncio.create_task(link.board.call("pulse", {"pin": "led"})) for _ in range(20)]
        await asyncio.sleep(0)
        calls[7].cancel()
        results = await asyncio.gather(*calls, return_exceptions=True)
        counts = [result["count"] for result in results if isinstance(result, dict)]
        assert len(counts) == len(set(counts)) == 19
        assert board.pulses in {19, 20}


@in_virtual_time
async def test_an_unanswered_call_is_unknown_when_it_could_act(tmp_path: Path) -> None:
    async with ready(tmp_path) as (link, board):
        board.answer_delay_s = 30.0
        with pytest.raises(OutcomeUnknown, match="in time"):
            await link.board.call("pulse", {"pin": "led"})
        with pytest.raises(LinkLost, match="in time"):
            await link.board.call("gpio_read", {"pin": "led"})
        assert [method for method, _ in board.requests[-2:]] == [PULSE, READ]
