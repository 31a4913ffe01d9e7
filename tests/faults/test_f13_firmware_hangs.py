"""F13: the firmware hangs; the watchdog is fed by whole passes of the main loop alone."""

import ast
import contextlib

from firmware.host.bundle import FIRMWARE
from firmware.host.wire import Wire
from tests.fakes.board_sim import BoardSim
from tests.waits import wait_until_sync

# The cause that the greeting names
WATCHDOG = 3


def calls_of(name: str, word: str) -> list[ast.Call]:
    """The calls of a method by that name, in a file of the firmware."""
    tree = ast.parse((FIRMWARE / "node" / name).read_text())
    return [
        call
        for call in ast.walk(tree)
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and call.func.attr == word
    ]


def test_the_watchdog_is_fed_after_a_pass_without_a_fault_and_for_a_write() -> None:
    names = [path.relative_to(FIRMWARE / "node") for path in (FIRMWARE / "node").rglob("*.py")]
    assert [str(name) for name in names if calls_of(str(name), "feed")] == ["loop.py"]
    assert len(calls_of("loop.py", "feed")) == 2
    loop = ast.parse((FIRMWARE / "node" / "loop.py").read_text())
    (attempt,) = (
        node
        for node in ast.walk(loop)
        if isinstance(node, ast.Try)
        and "watchdog" in str([ast.unparse(one) for one in node.orelse])
    )
    # What follows a pass that went well, and nothing else
    assert [ast.unparse(one) for one in attempt.orelse] == [
        "self._deadman.passed(ticks_ms())",
        "if self._writes:\n    self._writes = 0\n    watchdog = machine.WDT(timeout=_WATCHDOG_MS)",
        "watchdog.feed()",
    ]
    # And so many times for a write to flash, which is announced
    (announce,) = (
        node
        for node in ast.walk(loop)
        if isinstance(node, ast.FunctionDef) and node.name == "_announce_write"
    )
    (bound,) = (node for node in announce.body if isinstance(node, ast.If))
    assert ast.unparse(bound.test) == "self._writes < _WRITES_MOST"
    assert "feed" in ast.unparse(bound)


def test_a_firmware_that_hangs_is_reset_and_one_that_works_never(sim: BoardSim) -> None:
    with Wire(str(sim.port)) as wire:
        wire.greet()
        wire.write(bytes(range(256)) * 200 + b"\0")
        wire.status()
        assert [event for event in sim.record() if event["event"] == "watchdog"] == []
        with contextlib.suppress(ValueError):
            # It is reset before it answers
            sim.order({"freeze_ms": 4_000})
        wait_until_sync(lambda: "watchdog" in {event["event"] for event in sim.record()})
        wire.greet()
        assert wire.greeting[6] == WATCHDOG
