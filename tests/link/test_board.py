import asyncio
import json
import logging
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
from tests.fakes.peer import ADC, LEASE_S, PULSE, READ, WRITE, ScriptedBoard
from tests.fakes.ports import (
    CutPort,
    EchoPeer,
    FakePort,
    FakePorts,
    Peer,
    SlowPort,
    StalledPort,
    TalkingPeer,
)
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
    with pytest.raises(LinkLost, match="let go"):
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
        with pytest.raises(OutcomeUnknown, match="means nothing"):
            await link.board.call("gpio_write", LED_ON)


@in_virtual_time
async def test_a_known_board_needs_one_round_trip(tmp_path: Path) -> None:
    async with ready(tmp_path) as (_link, board):
        assert [method for method, _ in board.requests].count(wire.METHOD_MANIFEST) > 0
        board.requests.clear()
    async with ready(tmp_path, peer=board) as (_link, board):
        assert board.requests == []


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
    with pytest.raises(LinkLost, match="not looked for yet"):
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
async def test_another_protocol_refuses_the_board_until_it_is_flashed(tmp_path: Path) -> None:
    peer = ScriptedBoard(protocol=2)
    async with linked(peer, tmp_path) as link:
        await link.until(BoardState.REFUSED, "flash the firmware")
        await asyncio.sleep(20)
        assert link.board.status.state is BoardState.REFUSED
        with pytest.raises(LinkLost, match="flash the firmware"):
            await link.board.call("mcu_temperature", {})
        peer.protocol = 1
        await link.until(BoardState.READY)


@pytest.mark.parametrize(
    ("peer", "words"),
    [
        (TalkingPeer(b"MicroPython v1.25\r\n>>> "), "a MicroPython prompt answers"),
        (TalkingPeer(b""), "nothing answers at /dev/fake-port"),
        (TalkingPeer(b"\x8a\x00\x17noise\x00\xff" * 9), "is not the board's protocol"),
        (EchoPeer(), "only echoes"),
        (ScriptedBoard(is_silent=True), "nothing answers"),
    ],
)
def test_a_stranger_at_the_port_is_told(tmp_path: Path, peer: Peer, words: str) -> None:
    @in_virtual_time
    async def tell() -> None:
        async with linked(peer, tmp_path) as link:
            await link.until(BoardState.CONNECTING, words)
            with pytest.raises(LinkLost, match=words):
                await link.board.call("mcu_temperature", {})

    tell()


@in_virtual_time
async def test_a_port_that_cannot_be_opened_is_told_and_tried_again(tmp_path: Path) -> None:
    machine = FakePorts(lambda: FakePort(ScriptedBoard()))
    machine.refusal = "another program has /dev/fake-port open"
    async with linked(ScriptedBoard(), tmp_path, ports=machine) as link:
        await link.until(BoardState.CONNECTING, "another program")
        machine.refusal = ""
        await link.until(BoardState.READY)


@in_virtual_time
async def test_an_unplugged_board_is_noticed_at_once_and_works_again_when_it_is_back(
    tmp_path: Path,
) -> None:
    async with ready(tmp_path) as (link, _board):
        link.ports.unplug()
        await asyncio.sleep(0)
        with pytest.raises(LinkLost, match="unplugged"):
            await link.board.call("mcu_temperature", {})
        await link.until(BoardState.ABSENT, "plugged in?")
        await asyncio.sleep(60)
        link.ports.plug_in()
        back_s = now_s()
        await link.until(BoardState.READY)
        assert now_s() - back_s < 0.5
        assert await link.board.call("mcu_temperature", {}) == {"value": 24.5}


@in_virtual_time
async def test_a_port_where_nothing_answers_is_tried_ever_more_rarely(tmp_path: Path) -> None:
    peer = ScriptedBoard(is_silent=True)
    async with linked(peer, tmp_path) as link:
        await asyncio.sleep(60)
        opened = len(link.ports.opened)
        assert 8 <= opened <= 16
        await asyncio.sleep(60)
        assert len(link.ports.opened) - opened <= 11


@in_virtual_time
async def test_another_device_at_the_path_is_tried_at_once(tmp_path: Path) -> None:
    peer = ScriptedBoard(is_silent=True)
    async with linked(peer, tmp_path) as link:
        await asyncio.sleep(60)
        # As after flashing: gone and there again between two looks at the path
        link.ports.unplug()
        link.ports.plug_in()
        peer.is_silent = False
        back_s = now_s()
        await link.until(BoardState.READY)
        assert now_s() - back_s < 2.0


@in_virtual_time
async def test_a_silent_board_is_noticed_and_found_again(tmp_path: Path) -> None:
    async with ready(tmp_path) as (link, board):
        board.is_silent = True
        silent_s = now_s()
        await link.until(BoardState.CONNECTING, "fallen silent")
        assert now_s() - silent_s < 1.7
        board.is_silent = False
        await link.until(BoardState.READY)
        assert now_s() - silent_s < 5.0


@in_virtual_time
async def test_an_act_in_flight_when_the_link_dies_is_unknown_and_not_repeated(
    tmp_path: Path,
) -> None:
    async with ready(tmp_path) as (link, board):
        board.answer_delay_s = 1.0
        call = asyncio.create_task(link.board.call("pulse", {"pin": "led"}))
        await asyncio.sleep(0.1)
        link.ports.unplug()
        with pytest.raises(OutcomeUnknown, match="unplugged"):
            await call
        link.ports.plug_in()
        await link.until(BoardState.READY)
        await asyncio.sleep(5)
        assert board.pulses == 1


@in_virtual_time
async def test_a_question_in_flight_when_the_link_dies_has_done_nothing(tmp_path: Path) -> None:
    async with ready(tmp_path) as (link, board):
        board.answer_delay_s = 1.0
        call = asyncio.create_task(link.board.call("gpio_read", {"pin": "led"}))
        await asyncio.sleep(0.1)
        link.ports.unplug()
        with pytest.raises(LinkLost, match="unplugged"):
            await call


@in_virtual_time
async def test_an_output_stays_on_while_the_agent_lives(tmp_path: Path) -> None:
    async with ready(tmp_path) as (link, board):
        await link.board.call("gpio_write", LED_ON)
        await asyncio.sleep(10 * LEASE_S)
        assert board.outputs[0] == 1
        renewals = [m for m, _ in board.requests if m == wire.METHOD_LEASE_RENEW]
        assert len(renewals) == pytest.approx(10 * 4, abs=2)


@in_virtual_time
async def test_an_output_goes_safe_when_the_agent_lets_go(tmp_path: Path) -> None:
    async with ready(tmp_path) as (link, board):
        await link.board.call("gpio_write", LED_ON)
        await asyncio.sleep(5)
    stopped_s = now_s()
    await asyncio.sleep(5)
    assert [(pin, value) for _, pin, value in board.record] == [(0, 1), (0, 0)]
    assert board.record[-1][0] - stopped_s <= LEASE_S


@in_virtual_time
async def test_what_was_only_read_is_not_held(tmp_path: Path) -> None:
    async with ready(tmp_path) as (link, board):
        await link.board.call("gpio_read", {"pin": "led"})
        await asyncio.sleep(5)
        assert wire.METHOD_LEASE_RENEW not in [method for method, _ in board.requests]


@in_virtual_time
async def test_an_output_the_board_let_go_of_is_told_and_not_renewed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with ready(tmp_path) as (link, board):
        await link.board.call("gpio_write", LED_ON)
        board._set(0, 0)
        with caplog.at_level(logging.WARNING):
            await asyncio.sleep(1)
        assert "let go of led" in caplog.text
        board.requests.clear()
        await asyncio.sleep(5)
        assert board.requests == []
        assert board.outputs[0] == 0


@pytest.mark.parametrize("answer", [(8, b"what?"), (0, b"\x01")])
def test_a_renewal_that_fails_is_told_and_tried_again(
    tmp_path: Path, answer: tuple[int, bytes], caplog: pytest.LogCaptureFixture
) -> None:
    @in_virtual_time
    async def fail_once() -> None:
        async with ready(tmp_path) as (link, board):
            await link.board.call("gpio_write", LED_ON)
            board.overrides[wire.METHOD_LEASE_RENEW] = answer
            with caplog.at_level(logging.WARNING):
                await asyncio.sleep(0.7)
            assert "leases were not renewed" in caplog.text
            del board.overrides[wire.METHOD_LEASE_RENEW]
            await asyncio.sleep(5)
            assert board.outputs[0] == 1

    fail_once()


@in_virtual_time
async def test_a_reset_board_is_told_and_its_outputs_are_not_restored(tmp_path: Path) -> None:
    async with ready(tmp_path) as (link, board):
        await link.board.call("gpio_write", LED_ON)
        board.reset(cause=3)
        await link.until(BoardState.CONNECTING)
        await link.until(BoardState.READY)
        assert "restarted (watchdog)" in link.board.status.trouble
        await asyncio.sleep(10)
        assert board.outputs[0] == 0
        link.ports.unplug()
        link.ports.plug_in()
        await link.until(BoardState.CONNECTING)
        await link.until(BoardState.READY)
        assert link.board.status.trouble == ""


@in_virtual_time
async def test_plugging_in_is_no_trouble_and_another_board_is_no_reset(tmp_path: Path) -> None:
    async with ready(tmp_path) as (link, board):
        for cause, unique_id in ((1, board.unique_id), (3, bytes(12))):
            board.unique_id = unique_id
            board.reset(cause)
            await link.until(BoardState.CONNECTING)
            await link.until(BoardState.READY)
            assert link.board.status.trouble == ""


@in_virtual_time
async def test_release_makes_everything_safe_at_once(tmp_path: Path) -> None:
    async with ready(tmp_path) as (link, board):
        await link.board.call("gpio_write", LED_ON)
        await link.board.call("gpio_write", {"pin": "pump", "value": "on"})
        await link.board.release()
        assert board.outputs == {0: 0, 1: 0}
        board.requests.clear()
        await asyncio.sleep(5)
        assert board.requests == []


@in_virtual_time
async def test_release_without_a_board_does_nothing(tmp_path: Path) -> None:
    board = SerialBoard(BoardSettings(), tmp_path, LoopClock())
    await board.release()
    assert board.status.state is BoardState.ABSENT


@in_virtual_time
async def test_release_that_fails_leaves_it_to_the_leases(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with ready(tmp_path, StalledPort) as (link, board):
        await link.board.call("gpio_write", LED_ON)
        (port,) = link.ports.opened
        assert isinstance(port, StalledPort)
        port.is_stalled = True
        with caplog.at_level(logging.WARNING):
            await link.board.release()
        assert "go safe when their leases end" in caplog.text
        await asyncio.sleep(LEASE_S)
        assert board.outputs[0] == 0


@in_virtual_time
async def test_a_busy_board_is_waited_for(tmp_path: Path) -> None:
    async with ready(tmp_path) as (link, board):
        board.busy_ms = 1500
        await link.board.call("pulse", {"pin": "led"})
        board.busy_ms = 0
        await link.board.call("pulse", {"pin": "led"})
        assert board.pulses == 2
        assert len(link.ports.opened) == 1


@in_virtual_time
async def test_a_slow_line_is_no_reason_to_give_up(tmp_path: Path) -> None:
    async with ready(tmp_path, SlowPort) as (link, _board):
        for _ in range(20):
            await link.board.call("mcu_temperature", {})
        assert len(link.ports.opened) == 1


@in_virtual_time
async def test_a_cable_pulled_after_any_byte_leaves_a_usable_link(tmp_path: Path) -> None:
    outcomes = set()
    async with ready(tmp_path, CutPort) as (link, board):
        for cut_after in range(1, 60):
            port = link.ports.opened[-1]
            assert isinstance(port, CutPort)
            port.bytes_left = cut_after
            before = board.pulses
            try:
                await link.board.call("pulse", {"pin": "led"})
                assert board.pulses == before + 1
                outcomes.add("done")
            except OutcomeUnknown:
                assert board.pulses - before in {0, 1}
                outcomes.add("unknown")
            await link.until(BoardState.CONNECTING)
            await link.until(BoardState.READY)
            assert await link.board.call("mcu_temperature", {}) == {"value": 24.5}
    assert outcomes == {"done", "unknown"}


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
async def test_a_full_disk_costs_the_cache_and_nothing_else(tmp_path: Path) -> None:
    folder = tmp_path / "file"
    folder.write_text("in the way")
    async with ready(folder / "boards") as (link, _board):
        assert await link.board.call("mcu_temperature", {}) == {"value": 24.5}


@in_virtual_time
async def test_an_unanswered_call_is_unknown_when_it_could_act(tmp_path: Path) -> None:
    async with ready(tmp_path) as (link, board):
        board.answer_delay_s = 30.0
        with pytest.raises(OutcomeUnknown, match="in time"):
            await link.board.call("pulse", {"pin": "led"})
        with pytest.raises(LinkLost, match="in time"):
            await link.board.call("gpio_read", {"pin": "led"})
        assert [method for method, _ in board.requests[-2:]] == [PULSE, READ]
