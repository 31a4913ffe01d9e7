"""An update that cannot start gives way to the version before; a good one is kept, then undone."""

from image.lib.emulated.bench import START_S, Bench
from image.lib.emulated.guest import Conditions
from image.lib.trials.expectation import expect
from image.lib.trials.updating import NEXT, bundle_of, install, other, slot

_HELLO, _ANSWER = "Hello there", "I only obey a few phrases."


def run(bench: Bench, amount: int) -> str:
    del amount
    before = bench.card.slot()
    _install(bench, before, is_good=False)
    bench.power_on(Conditions(config="tryboot.txt"))
    gave_up_s = bench.guest.wait_for_end(START_S)
    since = len(bench.outside.shown())
    _install(bench, before, is_good=True)
    told = bench.outside.wait_for(NEXT, since)
    bench.start(Conditions(config="tryboot.txt"))
    expect(slot(bench) == other(before), "the new version was not tried")
    expect(bench.card.slot() == before, "it is kept before it has shown anything")
    bench.outside.ask(_HELLO, _ANSWER)
    bench.shell.run("barnacle update commit")
    expect(bench.card.slot() == other(before), "the new version was not kept")
    bench.shell.send("barnacle update rollback")
    bench.guest.wait_for_end(START_S)
    bench.start()
    expect(slot(bench) == before, "the version before was not started")
    bench.outside.ask(_HELLO, _ANSWER)
    return f"bad one gave up after {gave_up_s:.0f} s ({told!r}); good one kept, then rolled back"


def _install(bench: Bench, before: str, *, is_good: bool) -> None:
    install(bench, bundle_of(bench, is_good=is_good))
    expect(bench.guest.wants_trial, "no trial was asked for")
    expect(bench.card.slot() == before, "config.txt names the new version before it was tried")
