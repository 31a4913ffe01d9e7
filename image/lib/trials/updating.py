"""Common parts of the update trials: bundles, a card that gets one, and the running slot."""

from pathlib import Path

from agent.cli.update import LATER_TEXT
from image.lib import bundle
from image.lib.emulated.bench import START_S, Bench
from image.lib.emulated.guest import Conditions
from image.lib.layout import MIB
from image.lib.trials.expectation import NotTried, expect

NEXT = "99.0.0"
# 300 MB are read, checked and written, all of it emulated
INSTALL_S = 900.0
# As much as a system, and nothing in it that starts
_BAD_MIB = 8


def bundle_of(bench: Bench, *, is_good: bool) -> Path:
    """A signed update: what was built once more, or a system of nothing but zeroes.

    Raises:
        NotTried: there is no key to sign it with, or not what the image was built of.
    """
    if bench.sign_key is None:
        raise NotTried("an update has to be signed: name the --sign-key of image/build")
    work = bench.image.parent / "work"
    if not work.is_dir():
        raise NotTried(
            f"an update is made of what the image was built of, and there is no {work}: try the "
            "image where image/build puts it without --output, or link `work` of its cache there"
        )
    target = bench.work / ("good.update" if is_good else "bad.update")
    system = work / "system.squashfs"
    if not is_good:
        system = target.with_suffix(".squashfs")
        with system.open("wb") as file:
            file.truncate(_BAD_MIB * MIB)
    # Of the moment: it has to be newer than what runs
    release = bundle.Release(NEXT, int(work.stat().st_mtime))
    bundle.write(target, release, work / "firmware/A", system, bench.sign_key)
    return target


def install(bench: Bench, update: Path, *, is_pi: bool = False) -> str:
    """Into the other slot, and restarted to try it; what was said of it."""
    bench.start(Conditions(disk=update, is_pi=is_pi))
    bench.chatting()
    said = bench.shell.run("barnacle update /dev/vdb --later 2>&1 | tail -4", INSTALL_S)
    expect("verified" in said and LATER_TEXT in said, f"not installed: {said}")
    bench.shell.send("barnacle update try")
    bench.guest.wait_for_end(START_S)
    return said


def slot(bench: Bench) -> str:
    """The one that was started."""
    return bench.shell.run("grep -o 'barnacle.slot=.' /proc/cmdline | tail -c 2")


def other(one: str) -> str:
    return "B" if one == "A" else "A"
