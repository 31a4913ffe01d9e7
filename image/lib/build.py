"""Builds the image: the base once (20 minutes and more, kept), everything after it in minutes."""

import argparse
import datetime as dt
import hashlib
import os
import shutil
import sys
import time
from pathlib import Path

from agent import __version__
from image.lib import (
    agent_tree,
    blank_boards,
    bundle,
    foreign,
    layout,
    models,
    recipe,
    signal_parts,
    system_tree,
)
from image.lib.filesystems import TREES, Maker
from image.lib.pins_library import PinsLibrary
from image.lib.trees import TreeRefused
from scripts.lib import stamps
from scripts.lib.progress import Progress, StepFailed, say

ROOT = Path(__file__).resolve().parents[2]
RAMDISK = "image/ramdisk-modules"
CACHE = ROOT / ".barnacle/image"
PROGRAMS = {
    "mmdebstrap": "mmdebstrap",
    "arch-test": "arch-test",
    "qemu-aarch64-static": "qemu-user-static",
    "mksquashfs": "squashfs-tools",
    "mkfs.vfat": "dosfstools",
    "mcopy": "mtools",
    "sfdisk": "fdisk",
    "mke2fs": "e2fsprogs",
    "systemd-sysusers": "systemd",
    "openssl": "openssl",
    "dtc": "device-tree-compiler",
    "swig": "swig",
    "aarch64-linux-gnu-gcc": "gcc-aarch64-linux-gnu libc6-dev-arm64-cross",
}


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="image/build", description="Builds barnacle.img for a Raspberry Pi's card."
    )
    parser.add_argument("--output", type=Path, help="default: barnacle.img in the cache")
    parser.add_argument(
        "--cache",
        type=Path,
        default=Path(os.environ.get("BARNACLE_IMAGE_CACHE", CACHE)),
        help="what is kept from one build to the next (default: BARNACLE_IMAGE_CACHE, "
        "else .barnacle/image)",
    )
    parser.add_argument(
        "--date",
        type=dt.date.fromisoformat,
        help="the date of the base; default: the newest that is kept, else today. "
        "Another date fetches the packages of today anew",
    )
    parser.add_argument(
        "--sign-key",
        type=Path,
        metavar="FILE",
        help="a private Ed25519 key, as PEM: the image takes updates signed by it, and one of "
        "itself is made (barnacle-VERSION.update). Without one the image takes none",
    )
    parser.add_argument(
        "--trust-key",
        type=Path,
        metavar="FILE",
        action="append",
        default=[],
        help="another key, public or private, whose updates are taken too; may be repeated",
    )
    parser.add_argument(
        "--board", metavar="NAME=FILE", action="append", default=[], help=blank_boards.HELP
    )
    parser.add_argument(
        "--with-signal", type=Path, metavar="RELEASE", help=signal_parts.RELEASE_HELP
    )
    parser.add_argument(
        "--signal-library", type=Path, metavar="FILE", help=signal_parts.LIBRARY_HELP
    )
    given = parser.parse_args(arguments)
    started_s = time.monotonic()
    try:
        with stamps.exclusive(given.cache / "lock", lambda: say("waiting for another build")):
            _build(given)
    except (StepFailed, recipe.NoMirror, TreeRefused, OSError) as failure:
        print(failure, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        say("interrupted; what was fetched is kept")
        return 130
    say(f"the image took {time.monotonic() - started_s:.0f} s")
    return 0


def _build(given: argparse.Namespace) -> None:
    _check_machine()
    cache = given.cache.resolve()
    keys = _keys(given)
    boards = blank_boards.checked(given.board)
    signal = signal_parts.checked(given.with_signal, given.signal_library)
    progress = Progress(cache / "logs")
    base = _base(cache, given.date, progress)
    day = dt.datetime.fromisoformat(base.name.removeprefix("base-")[:10])
    epoch = int(day.replace(tzinfo=dt.UTC).timestamp())
    # For every program that asks
    os.environ["SOURCE_DATE_EPOCH"] = str(epoch)
    work = cache / "work"
    root, boot = _system(base, work, progress)
    for line in blank_boards.put(boards, root):
        say(line)
    if signal is not None:
        signal_parts.SignalInstaller(cache, f"{day:%F}", progress).install(signal, root, _archive())
    release = bundle.Release(__version__, epoch)
    bundle.describe(root, release, keys)
    shutil.copyfile(root / bundle.IDENTITY, work / "image.json")
    maker = Maker(work, epoch, progress)
    parts = _partitions(maker, work, root, boot)
    target = given.output or cache / "barnacle.img"
    maker.image(parts, target)
    _report(target, parts)
    if given.sign_key is None:
        say("built without --sign-key: there is no update of it")
    else:
        update = target.with_name(f"barnacle-{release.version}.update")
        bundle.write(update, release, work / "firmware/A", parts[layout.SYSTEM_A], given.sign_key)
        _report_update(update)


def _partitions(maker: Maker, work: Path, root: Path, boot: Path) -> dict[layout.Partition, Path]:
    """Make what each partition begins with.

    Raises:
        OSError: a model of the Pi would not start with it.
    """
    firmware = maker.firmware(boot)
    [kernel] = (root / "usr/lib/modules").iterdir()
    if wrong := list(models.problems(work / "firmware/A", kernel)):
        raise OSError("\n".join(["not every Pi would start:", *wrong]))
    return {
        layout.FIRMWARE: firmware,
        layout.SYSTEM_A: maker.squashfs(root),
        layout.DATA: maker.data(),
    }


def _report_update(update: Path) -> None:
    print(f"{update}: {update.stat().st_size / layout.MIB:.0f} MiB")
    print(f"sha256 {_digest(update)}")


def _keys(given: argparse.Namespace) -> list[Path]:
    """Return the keys whose updates are taken, known to be some before an hour of work."""
    keys = [*([given.sign_key] if given.sign_key else []), *given.trust_key]
    for key in keys:
        bundle.public_part(key)
    return keys


def _system(base: Path, work: Path, progress: Progress) -> tuple[Path, Path]:
    """The root of the system, and what the base has in /boot."""
    root = work / "root"
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    _run(progress, "unpack the base", ["tar", "-xpf", base, "-C", root])
    _run(progress, "make the firmware of the boards", [ROOT / "scripts/flash", "--images"])
    boot = _set_aside(root, work)
    system_tree.strip(root)
    uv = agent_tree.installer(work, progress)
    agent_tree.fill(root, uv, work, progress)
    # Debian's own Python may be without pip; the one that uv is in is not
    library = PinsLibrary(work, agent_tree.PYTHON, uv.with_name("python"), progress)
    library.install(root / agent_tree.PACKAGES, _archive())
    system_tree.overlay(root)
    system_tree.install_units(root)
    system_tree.configure(root, progress)
    system_tree.compile_python(root, uv, progress)
    return root, boot


def _check_machine() -> None:
    if os.geteuid() != 0:
        raise OSError(
            "files of the system belong to several users: start it as root (sudo image/build)"
        )
    path = f"{os.environ['PATH']}:/usr/sbin:/sbin"
    missing = sorted({deb for name, deb in PROGRAMS.items() if not shutil.which(name, path=path)})
    if missing:
        raise OSError(f"packages are missing: apt-get install {' '.join(missing)}")
    if os.uname().machine != "aarch64":
        foreign.register()


def _base(cache: Path, date: dt.date | None, progress: Progress) -> Path:
    """The system without the agent: made once for each package list and date."""
    names = recipe.PACKAGES.read_text()
    if date is None:
        kept = sorted(cache.glob(f"base-{recipe.base_key(names, '*')}.tar"))
        if kept:
            say(f"the base is {kept[-1].name}")
            return kept[-1]
    day = date or dt.datetime.now(dt.UTC).date()
    base = cache / f"base-{recipe.base_key(names, day.isoformat())}.tar"
    if not base.exists():
        fresh = base.with_suffix(".new.tar")
        _run(progress, "fetch and unpack Debian", recipe.command(fresh, _archive()))
        fresh.replace(base)
    return base


def _archive() -> str:
    return os.environ.get("BARNACLE_MIRROR") or recipe.mirror()


def _set_aside(root: Path, work: Path) -> Path:
    """Take the kernel, its trees and the Pi's boot loader out of the system."""
    boot = work / "boot"
    shutil.rmtree(boot, ignore_errors=True)
    shutil.copytree(root / "boot", boot, symlinks=True)
    [kernel] = (root / "usr/lib/modules").iterdir()
    shutil.copytree(kernel / "dtb/broadcom", boot / TREES)
    [ramdisk] = boot.glob("initrd.img-*")
    if absent := list(models.needed_early(ramdisk.read_bytes())):
        raise OSError(f"the initial RAM disk lacks {', '.join(absent)}: rename it in {RAMDISK}")
    return boot


def _run(progress: Progress, title: str, command: list[str | Path]) -> None:
    progress.run(title, command, environment=os.environ, remedy="The log says more.")


def _report(target: Path, parts: dict[layout.Partition, Path]) -> None:
    for partition, part in parts.items():
        used = part.stat().st_blocks * 512
        print(f"{partition.name:10} {partition.size_mib:5} MiB  {used / layout.MIB:6.0f} MiB used")
    on_disk = target.stat().st_blocks * 512 / layout.MIB
    print(f"{target}: {layout.IMAGE_BYTES / layout.MIB:.0f} MiB, {on_disk:.0f} MiB on disk")
    print(f"sha256 {_digest(target)}")


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
