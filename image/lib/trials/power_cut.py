"""Power is cut while messages come in: it starts every time, and none that it took is lost."""

import enum
import random
import time
from dataclasses import dataclass, field

from image.lib.emulated.bench import START_S, Bench
from image.lib.trials.expectation import expect
from scripts.lib.progress import say

CUTS = 4
# Written in one go, each of them committed before it is confirmed
_MESSAGES = 6
_LONGEST_WAIT_S = 8.0
# An emulated start, and the answers to all of them
_PATIENCE_S = 400.0
# From the kernel's first seconds to the agent's own start
_START_S = (5.0, 55.0)
# So many of the cuts in a start come in its first turn, sooner or later as fast as the machine is
_IN_TURN = 1 / 3
_TURN_S = 1.0
_LOOK_S = 0.05


class Moment(enum.Enum):
    """Moment of a power cut."""

    # While messages are written, taken and answered
    MESSAGES = "among messages"
    # In the start after that: it repairs the card and writes to it, too
    START = "in the start after it"
    # In the start after a start that was cut itself
    START_AGAIN = "in the start after a start that was cut"


# Half of them in starts, and half of those in a start after one that was cut
_ROUND = (Moment.MESSAGES, Moment.START, Moment.START_AGAIN, Moment.MESSAGES)


@dataclass(slots=True)
class _Tally:
    """Tally of a run; `texts` are the answers that are owed."""

    chance: random.Random
    texts: list[str] = field(default_factory=list)
    back_s: list[float] = field(default_factory=list)
    taken: int = 0
    moments: list[Moment] = field(default_factory=list)


def run(bench: Bench, amount: int) -> str:
    """Args: `amount` is how often; 0 is a few."""
    tally = _Tally(random.Random(bench.seed))  # noqa: S311 - the same moments each time
    restarts = bench.restarts
    bench.chatting()
    bench.evidence.is_noting = True
    moments = moments_of(amount or CUTS)
    for number, moment in enumerate(moments, 1):
        _cut(bench, number, moment, tally)
        bench.power_on()
        say(
            f"cut {number} of {len(moments)}, {moment.value}: "
            f"{tally.taken} messages were taken so far; starting"
        )
        # What follows a cut is a cut in its start, or nothing before all is answered
        if moments[number : number + 1] in ([], [Moment.MESSAGES]):
            tally.back_s.append(_until_all_answered(bench, number, tally))
            # A cut before that would be one more start that ended early
            bench.guest.wait_for_shell(START_S)
            bench.settled()
    repaired = bench.shell.run("cat /run/barnacle-fsck | tail -1")
    aside = bench.shell.run("cat /run/barnacle-aside 2>/dev/null")
    expect(not aside, f"the data partition is left alone: {aside}; {repaired}")
    expect(bench.restarts == restarts, "the machine restarted by itself; the console says why")
    return _told(bench, tally, repaired)


def moments_of(cuts: int) -> list[Moment]:
    """The moment of each cut."""
    return [_ROUND[number % len(_ROUND)] for number in range(cuts)]


def _cut(bench: Bench, number: int, moment: Moment, tally: _Tally) -> None:
    tally.moments.append(moment)
    if moment is Moment.MESSAGES:
        _cut_among_messages(bench, number, tally)
    else:
        _cut_in_start(bench, tally)
    bench.stop()


def _cut_among_messages(bench: Bench, number: int, tally: _Tally) -> None:
    outside = bench.outside
    texts = [_text(number, one) for one in range(_MESSAGES)]
    sent = [outside.write(f"say {text}") for text in texts]
    tally.texts += texts
    outside.until(lambda: outside.was_confirmed(sent[0]), "nothing was taken", _PATIENCE_S)
    time.sleep(tally.chance.uniform(0, _LONGEST_WAIT_S))
    bench.stop()
    tally.taken += sum(outside.was_confirmed(update) for update in sent)


def _cut_in_start(bench: Bench, tally: _Tally) -> None:
    outside, chance = bench.outside, tally.chance
    is_in_turn, after_s, into_turn_s = (
        chance.random() < _IN_TURN,
        chance.uniform(*_START_S),
        chance.uniform(0, _TURN_S),
    )
    # Where every message was answered before the cut, there is no turn
    if is_in_turn and not _are_answered(bench, tally):
        asked = outside.asked
        outside.until(lambda: not bench.go_on() and outside.asked > asked, "no turn", _PATIENCE_S)
        time.sleep(into_turn_s)
    else:
        time.sleep(max(0.0, bench.guest.started_s + after_s - time.monotonic()))


def _are_answered(bench: Bench, tally: _Tally) -> bool:
    said = bench.outside.shown()
    return all(any(text in one for one in said) for text in tally.texts)


def _until_all_answered(bench: Bench, number: int, tally: _Tally) -> float:
    """Wait until every message is answered; the unconfirmed ones are sent again.

    One more is asked after the start, for a start in which nothing is owed.
    """
    tally.texts.append(f"back after cut {number}.")
    bench.outside.write(f"say {tally.texts[-1]}")
    for text in tally.texts:
        bench.outside.until(
            lambda text=text: (
                not bench.go_on() and any(text in one for one in bench.outside.shown())
            ),
            lambda text=text: (
                f"{text!r} was not said; the last were {bench.outside.shown()[-3 * _MESSAGES :]}"
            ),
            _PATIENCE_S,
        )
    took_s = bench.guest.age_s
    say(f"all answered {took_s:.0f} s after power")
    return took_s


def _told(bench: Bench, tally: _Tally, repaired: str) -> str:
    counts = ", ".join(f"{tally.moments.count(one)} {one.value}" for one in Moment)
    each = " ".join(f"{took_s:.0f}" for took_s in tally.back_s)
    said = bench.outside.shown()
    twice = sum(sum(text in each for each in said) > 1 for text in tally.texts)
    return (
        f"cuts: {counts}; it came up every time, with all answers {each} s after power (at most "
        f"{max(tally.back_s):.0f}); none of {tally.taken} acknowledged messages lost, {twice} "
        f"answered twice; last fsck: {repaired}"
    )


def _text(cut: int, one: int) -> str:
    return f"cut {cut}, message {one}."
