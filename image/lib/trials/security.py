"""Scores of the services by systemd itself: the agent's at most 2.0, the sandbox's at most 0.5."""

from image.lib.emulated.bench import Bench
from image.lib.trials.expectation import expect

_MOST = {
    "barnacle.service": 2.0,
    "barnacle-tool@trial.service": 0.5,
    "barnacle-signal.service": 2.0,
    "barnacle-mcp@trial.service": 2.0,
    "barnacle-console.service": 1.2,
    "barnacle-program@trial.service": 2.0,
    "barnacle-program-online@trial.service": 2.0,
    "barnacle-board@trial.service": 1.0,
}


def run(bench: Bench, amount: int) -> str:
    del amount
    shell = bench.running()
    found = {}
    for unit, most in _MOST.items():
        last = shell.run(f"systemd-analyze security --no-pager {unit} | tail -1")
        words = last.partition(": ")[2].split()
        expect(words, f"no score for {unit}: {last}")
        found[unit] = float(words[0])
        expect(found[unit] <= most, f"{unit} scores {found[unit]}, and {most} is allowed")
    return ", ".join(f"{unit} {score}" for unit, score in found.items())
