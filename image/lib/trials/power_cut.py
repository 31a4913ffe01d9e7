"""Power is cut while messages come in: it starts every time, and none that it took is lost."""

import random
import time

from image.lib.emulated.bench import START_S, Bench
from scripts.lib.progress import say

CUTS = 2
# Written in one go, each of them committed before it is confirmed
_MESSAGES = 6
_LONGEST_WAIT_S = 8.0
# An emulated start, and the answers to all of them
_PATIENCE_S = 400.0


def run(bench: Bench, amount: int) -> str:
    """Args: `amount` is how often; 0 is a few."""
    cuts = amount or CUTS
    chance = random.Random(20260101)  # noqa: S311 - the same moments each time
    back_s: list[float] = []
    taken = 0
    bench.chatting()
    for cut in range(1, cuts + 1):
        taken += _cut(bench, cut, chance)
        bench.power_on()
        _until_all_answered(bench, cut)
        back_s.append(time.monotonic() - bench.guest.started_s)
        say(f"cut {cut} of {cuts}: all answered after {back_s[-1]:.0f} s; {taken} were taken")
    bench.guest.wait_for_shell(START_S)
    bench.settled()
    repaired = bench.shell.run("cat /run/barnacle-fsck | tail -1")
    return (
        f"{cuts} cuts, {cuts} starts, each with all answers {min(back_s):.0f}-{max(back_s):.0f} s "
        f"after power; none of {taken} acknowledged messages lost, {_twice(bench, cuts)} answered "
        f"twice; last fsck: {repaired}"
    )


def _cut(bench: Bench, cut: int, chance: random.Random) -> int:
    """Cut power in the middle of messages; how many were acknowledged by then."""
    outside = bench.outside
    sent = [outside.write(f"say {_text(cut, one)}") for one in range(_MESSAGES)]
    outside.until(lambda: outside.was_confirmed(sent[0]), "nothing was taken", _PATIENCE_S)
    time.sleep(chance.uniform(0, _LONGEST_WAIT_S))
    bench.stop()
    return sum(outside.was_confirmed(update) for update in sent)


def _until_all_answered(bench: Bench, cut: int) -> None:
    """What was not acknowledged comes again, so that in the end each of them is answered."""
    for one in range(_MESSAGES):
        bench.outside.wait_for(_text(cut, one), most_s=_PATIENCE_S)


def _twice(bench: Bench, cuts: int) -> int:
    said = bench.outside.shown()
    texts = [_text(cut, one) for cut in range(1, cuts + 1) for one in range(_MESSAGES)]
    return sum(sum(text in each for each in said) > 1 for text in texts)


def _text(cut: int, one: int) -> str:
    return f"cut {cut}, message {one}."
