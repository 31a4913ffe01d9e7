"""The same with a kernel that knows no tryboot.txt: the RAM disk of a trial names the old slot."""

from image.lib.emulated.bench import START_S, Bench
from image.lib.emulated.guest import Conditions
from image.lib.trials.expectation import expect
from image.lib.trials.updating import NEXT, bundle_of, install, other, slot

_PI = Conditions(is_pi=True)
_LOOK_S = 120.0


def run(bench: Bench, amount: int) -> str:
    del amount
    before = bench.card.slot()
    new = other(before)
    _install(bench, new, is_good=False)
    bench.power_on(_PI)
    _expect_first_turn(bench, new)
    gave_up_s = bench.guest.wait_for_end(START_S)
    since = len(bench.outside.shown())
    _install(bench, new, is_good=True)
    bench.outside.wait_for(NEXT, since)
    bench.power_on(_PI)
    _expect_first_turn(bench, new)
    bench.guest.wait_for_shell(START_S)
    bench.settled()
    expect(slot(bench) == new, "the new version was not tried")
    bench.shell.run("barnacle update commit")
    expect(bench.card.slot() == new, "the new version was not kept")
    bench.start(_PI)
    expect((slot(bench), bench.card.slot()) == (new, new), "what was kept gave way")
    bench.outside.ask("Hello there", "I only obey a few phrases.")
    return (
        f"config.txt named {before} again before the root was mounted; bad one gave up after "
        f"{gave_up_s:.0f} s, a good one was kept and started once more"
    )


def _install(bench: Bench, new: str, *, is_good: bool) -> None:
    said = install(bench, bundle_of(bench, is_good=is_good), is_pi=True)
    expect("cannot ask the boot loader" in said, f"it took the kernel for one that can: {said}")
    expect(bench.card.slot() == new, "config.txt does not name what is to be tried")


def _expect_first_turn(bench: Bench, new: str) -> None:
    """Check the messages and actions of the initial RAM disk."""
    words = f"barnacle: slot {new} is on trial"
    bench.until(lambda: bench.guest.has_said(words), "the RAM disk took no turn", _LOOK_S)
    expect(bench.card.slot() == other(new), "config.txt names the version on trial")
