"""F13: the firmware hangs; the watchdog is fed by whole passes of the main loop alone."""

import ast

from firmware.host.bundle import FIRMWARE
from firmware.host.wire import Wire
from tests.fakes.board_sim import BoardSim

WATCHDOG_MS = 2_000


def test_the_watchdog_is_fed_in_one_place_after_a_pass_without_a_fault() -> None:
    feeds = [
        (path.name, call)
        for path in (FIRMWARE / "node").rglob("*.py")
        for call in ast.walk(ast.parse(path.read_text()))
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)
        if call.func.attr == "feed"
    ]
    assert [name for name, _ in feeds] == ["loop.py"]
    loop = ast.parse((FIRMWARE / "node" / "loop.py").read_text())
    (attempt,) = (
        node
        for node in ast.walk(loop)
        if isinstance(node, ast.Try)
        and any(feeds[0][1].lineno == one.lineno for one in node.orelse)
    )
    # What follows a pass that went well, and nothing else
    assert [ast.unparse(one) for one in attempt.orelse] == [
        "self._deadman.passed(ticks_ms())",
        "watchdog.feed()",
    ]
    assert "feed" not in "".join(ast.unparse(one) for one in attempt.body + attempt.handlers)


def test_a_firmware_that_hangs_starves_its_watchdog_and_one_that_works_never(
    sim: BoardSim,
) -> None:
    with Wire(str(sim.port)) as wire:
        wire.greet()
        wire.write(bytes(range(256)) * 200 + b"\0")
        wire.status()
        assert [event for event in sim.record() if event["event"] == "watchdog"] == []
        sim.order({"freeze_ms": WATCHDOG_MS + 200})
        # It may still have answered the first
        while not (ends := [event for event in sim.record() if event["event"] == "watchdog"]):
            wire.greet()
    (starved,) = ends
    assert starved["late_ms"] >= WATCHDOG_MS
