"""A card of an earlier version is updated to this one and back; what was said stays, both ways."""

from pathlib import Path

from image.lib.emulated.bench import START_S, Bench
from image.lib.emulated.guest import Conditions
from image.lib.trials.expectation import NotTried, expect
from image.lib.trials.updating import INSTALL_S, other, slot

_HELLO, _ANSWER = "Hello there", "I only obey a few phrases."
_REMEMBERED = "I will remember that."
# Of the earlier version, and of this one
_FIRST, _SECOND = "barometer", "wheelbarrow"
_STATE = "/var/lib/barnacle"
_TRIAL = Conditions(config="tryboot.txt")


def run(bench: Bench, amount: int) -> str:
    del amount
    if bench.older is None:
        raise NotTried("an earlier image is needed: name it by --older, signed by the same key")
    updates = list(bench.image.parent.glob("barnacle-*.update"))
    if len(updates) != 1:
        raise NotTried("one update of this image is needed: image/build --sign-key makes it")
    try:
        bench.put_older_card()
        return _try(bench, updates[0])
    finally:
        bench.spend_card()


def _try(bench: Bench, update: Path) -> str:
    outside = bench.with_board()
    before, older = slot(bench), _version(bench)
    outside.ask(f"remember that the spare key hangs behind the {_FIRST}", _REMEMBERED)
    _install(bench, update)
    bench.start(_TRIAL)
    newer = _version(bench)
    expect(newer != older, f"{older} is still there")
    expect(slot(bench) == other(before), "the new version was not tried")
    _look(bench, _FIRST)
    outside.ask(f"remember that the ladder lies under the {_SECOND}", _REMEMBERED)
    _act(bench)
    bench.shell.send("barnacle update rollback")
    bench.guest.wait_for_end(START_S)
    bench.start()
    expect(slot(bench) == before, "the version before was not started")
    expect(_version(bench) == older, f"it is {_version(bench)}, not {older}")
    _look(bench, _FIRST, _SECOND)
    _act(bench)
    _install(bench, update)
    bench.start(_TRIAL)
    _look(bench, _FIRST, _SECOND)
    bench.shell.run("barnacle update commit")
    expect(bench.card.slot() == other(before), "the new version was not kept")
    _act(bench)
    return (
        f"{older} updated to {newer}, back, and updated again; its owner, what each of them was "
        "told and the board were there each time"
    )


def _install(bench: Bench, update: Path) -> None:
    bench.start(Conditions(disk=update))
    said = bench.shell.run("barnacle update /dev/vdb --later 2>&1 | tail -4", INSTALL_S)
    expect("verified" in said, f"not installed: {said}")
    bench.shell.send("barnacle update try")
    bench.guest.wait_for_end(START_S)


def _version(bench: Bench) -> str:
    return bench.shell.run("barnacle --version 2>&1 | tail -1")


def _look(bench: Bench, *things: str) -> None:
    """It remembers these, and its files are whole."""
    shell = bench.shell
    remembered = shell.run(f"barnacle memory list --json --state-dir {_STATE}")
    for thing in things:
        expect(thing in remembered, f"it has forgotten the {thing}: {remembered[-300:]}")
    damaged = shell.run(f"find {_STATE} -name '*.damaged*' -o -name '*.corrupt*'")
    expect(not damaged, f"taken for damaged: {damaged}")
    failed = shell.run("systemctl --failed --no-legend --plain")
    expect(not failed, f"units have failed: {failed}")


def _act(bench: Bench) -> None:
    """Its owner is still its owner, and the board obeys."""
    outside = bench.with_board()
    outside.ask(_HELLO, _ANSWER)
    outside.ask("turn on the led", "The led is on now.")
    outside.ask("turn off the led", "The led is off now.")
