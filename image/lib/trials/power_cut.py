"""Power is cut while messages come in: it starts every time, and none that it took is lost."""

import random
import time

from image.lib.emulated.bench import START_S, Bench
from image.lib.trials.expectation import expect
from scripts.lib.progress import say

CUTS = 3
# Written in one go, each of them committed before it is confirmed
_MESSAGES = 6
_LONGEST_WAIT_S = 8.0
# An emulated start, and the answers to all of them
_PATIENCE_S = 400.0
# From the kernel's first seconds to the agent's own start; not into its turns: a message whose turn
# has begun twice is given up, and that is said
_START_S = (5.0, 55.0)


def run(bench: Bench, amount: int) -> str:
    """Args: `amount` is how often; 0 is a few."""
    cuts = amount or CUTS
    chance = random.Random(20260101)  # noqa: S311 - the same moments each time
    back_s: list[float] = []
    taken = in_start = 0
    bench.chatting()
    for cut in range(1, cuts + 1):
        if _is_in_start(cut):
            time.sleep(chance.uniform(*_START_S))
            in_start += 1
            bench.power_on()
            say(f"cut {cut} of {cuts}: in the middle of a start")
            continue
        if cut > 1:
            back_s.append(_until_all_answered(bench, cut))
        taken += _cut(bench, cut, chance)
        bench.power_on()
        say(f"cut {cut} of {cuts}: {taken} messages were taken so far; starting")
    back_s.append(_until_all_answered(bench, cuts + 1))
    bench.guest.wait_for_shell(START_S)
    bench.settled()
    repaired = bench.shell.run("cat /run/barnacle-fsck | tail -1")
    kept = bench.shell.run("test -e /run/barnacle-no-data || echo kept")
    expect(kept == "kept", f"the data partition was given up: {repaired}")
    return (
        f"{cuts - in_start} cuts among messages and {in_start} in the start after one; it came up "
        f"every time, with all answers at most {max(back_s):.0f} s after power; none of "
        f"{taken} acknowledged messages lost, {_twice(bench, cuts)} answered twice; "
        f"last fsck: {repaired}"
    )


def _is_in_start(cut: int) -> bool:
    """Every second one: a start repairs the card and writes to it, too."""
    return cut % 2 == 0


def _cut(bench: Bench, cut: int, chance: random.Random) -> int:
    """Cut power in the middle of messages; how many were acknowledged by then."""
    outside = bench.outside
    sent = [outside.write(f"say {_text(cut, one)}") for one in range(_MESSAGES)]
    outside.until(lambda: outside.was_confirmed(sent[0]), "nothing was taken", _PATIENCE_S)
    time.sleep(chance.uniform(0, _LONGEST_WAIT_S))
    bench.stop()
    return sum(outside.was_confirmed(update) for update in sent)


def _until_all_answered(bench: Bench, before: int) -> float:
    """What was not acknowledged comes again, so that in the end each of them is answered."""
    for cut in range(1, before):
        for one in range(_MESSAGES):
            if not _is_in_start(cut):
                bench.outside.wait_for(_text(cut, one), most_s=_PATIENCE_S)
    return time.monotonic() - bench.guest.started_s


def _twice(bench: Bench, cuts: int) -> int:
    said = bench.outside.shown()
    texts = [_text(cut, one) for cut in range(1, cuts + 1) for one in range(_MESSAGES)]
    return sum(sum(text in each for each in said) > 1 for text in texts)


def _text(cut: int, one: int) -> str:
    return f"cut {cut}, message {one}."
