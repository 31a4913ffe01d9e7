"""An update that cannot start gives way to the version before; a good one is kept, then undone."""

from pathlib import Path

from image.lib import bundle
from image.lib.emulated.bench import START_S, Bench
from image.lib.emulated.guest import Conditions
from image.lib.layout import MIB
from image.lib.trials.expectation import NotTried, expect

_NEXT = "99.0.0"
# 300 MB are read, checked and written, all of it emulated
_INSTALL_S = 900.0
# As much as a system, and nothing in it that starts
_BAD_MIB = 8


def run(bench: Bench, amount: int) -> str:
    del amount
    if bench.sign_key is None:
        raise NotTried("an update has to be signed: name the --sign-key of image/build")
    work = bench.image.parent / "work"
    bench.chatting()
    bench.stop()
    bad = _bundle(bench, work, bench.work / "bad.update", is_good=False)
    _try(bench, bad)
    gave_up_s = bench.guest.wait_for_end(START_S)
    bench.start(Conditions(disk=_bundle(bench, work, bench.work / "good.update", is_good=True)))
    expect(_slot(bench) == "A", "the version that cannot start was kept")
    told = bench.outside.wait_for(_NEXT)
    _install(bench)
    bench.start(Conditions(config="tryboot.txt"))
    expect(_slot(bench) == "B", "the new version was not tried")
    bench.shell.run("barnacle update commit")
    bench.outside.ask("Hello there", "I only obey a few phrases.")
    expect(bench.card.slot() == "B", "the new version was not kept")
    bench.shell.send("barnacle update rollback")
    bench.guest.wait_for_end(START_S)
    bench.start()
    expect(_slot(bench) == "A", "the version before was not started")
    bench.outside.ask("Hello there", "I only obey a few phrases.")
    return f"bad one gave up after {gave_up_s:.0f} s ({told!r}); good one kept, then rolled back"


def _try(bench: Bench, update: Path) -> None:
    bench.start(Conditions(disk=update))
    _install(bench)
    bench.power_on(Conditions(config="tryboot.txt"))


def _install(bench: Bench) -> None:
    said = bench.shell.run("barnacle update /dev/vdb --later 2>&1 | tail -3", _INSTALL_S)
    expect("verified" in said or "starts it" in said, f"not installed: {said}")
    bench.shell.send("barnacle update try")
    bench.guest.wait_for_end(START_S)
    expect(bench.guest.wants_trial, "no trial was asked for")


def _slot(bench: Bench) -> str:
    return bench.shell.run("grep -o 'barnacle.slot=.' /proc/cmdline | tail -c 2")


def _bundle(bench: Bench, work: Path, target: Path, *, is_good: bool) -> Path:
    system = work / "system.squashfs"
    if not is_good:
        system = target.with_suffix(".squashfs")
        with system.open("wb") as file:
            file.truncate(_BAD_MIB * MIB)
    assert bench.sign_key is not None
    # Of the moment: it has to be newer than what runs
    release = bundle.Release(_NEXT, int(work.stat().st_mtime))
    bundle.write(target, release, work / "firmware/A", system, bench.sign_key)
    return target
