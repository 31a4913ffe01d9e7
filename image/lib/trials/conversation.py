"""Somebody pairs, asks, has something remembered, and lets the pump run by a tap on Yes."""

from image.lib import first_boot
from image.lib.emulated.bench import Bench
from image.lib.trials.expectation import expect


def run(bench: Bench, amount: int) -> str:
    del amount
    outside = bench.with_board()
    asked_s = outside.ask("Hello there", "I only obey a few phrases.")
    outside.ask("remember that my cat is called Mia", "I will remember that.")
    acted_s = outside.ask("turn on the led", "The led is on now.")
    expect(bench.board.value("led") == 1, "the led is off")
    before, since = outside.questions(), len(outside.shown())
    outside.write("turn on the pump")
    outside.wait_for_question(before)
    expect(_level(bench, "pump") == 0, "the pump ran before anybody had said yes")
    outside.press("Yes")
    outside.wait_for("The pump is on now.", since)
    expect(_level(bench, "pump") == 1, "the pump does not run")
    outside.ask("turn off the pump", "The pump is off now.")
    outside.ask("turn off the led", "The led is off now.")
    secrets = (first_boot.KEY, first_boot.PASSWORD, outside.server.token)
    said = "\n".join(outside.shown())
    expect(not any(secret in said for secret in secrets), "a secret was said")
    return f"answer after {asked_s:.1f} s, led on after {acted_s:.1f} s, pump on by a tap"


def _level(bench: Bench, name: str) -> int:
    changes = bench.board.changes(name)
    return changes[-1][0] if changes else 0
