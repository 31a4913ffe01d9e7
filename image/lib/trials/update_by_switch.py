"""The same with a kernel that knows no tryboot.txt: the RAM disk of a trial names the old slot."""

from image.lib.emulated.bench import START_S, Bench
from image.lib.emulated.guest import Conditions
from image.lib.trials.expectation import expect
from image.lib.trials.updating import NEXT, bundle_of, install, slot

# What the initial RAM disk of slot B says
_FIRST_TURN = "barnacle: slot B is on trial"
_PI = Conditions(is_pi=True)
_LOOK_S = 120.0


def run(bench: Bench, amount: int) -> str:
    del amount
    _install(bench, is_good=False)
    bench.power_on(_PI)
    _expect_first_turn(bench)
    gave_up_s = bench.guest.wait_for_end(START_S)
    since = len(bench.outside.shown())
    _install(bench, is_good=True)
    bench.outside.wait_for(NEXT, since)
    bench.power_on(_PI)
    _expect_first_turn(bench)
    bench.guest.wait_for_shell(START_S)
    bench.settled()
    expect(slot(bench) == "B", "the new version was not tried")
    bench.shell.run("barnacle update commit")
    expect(bench.card.slot() == "B", "the new version was not kept")
    bench.start(_PI)
    expect((slot(bench), bench.card.slot()) == ("B", "B"), "what was kept gave way")
    bench.outside.ask("Hello there", "I only obey a few phrases.")
    return (
        f"config.txt named A again before the root was mounted; bad one gave up after "
        f"{gave_up_s:.0f} s, a good one was kept and started once more"
    )


def _install(bench: Bench, *, is_good: bool) -> None:
    said = install(bench, bundle_of(bench, is_good=is_good), is_pi=True)
    expect("cannot ask the boot loader" in said, f"it took the kernel for one that can: {said}")
    expect(bench.card.slot() == "B", "config.txt does not name what is to be tried")


def _expect_first_turn(bench: Bench) -> None:
    bench.until(lambda: bench.guest.has_said(_FIRST_TURN), "the RAM disk took no turn", _LOOK_S)
    expect(bench.card.slot() == "A", "config.txt names the version on trial")
