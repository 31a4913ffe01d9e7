"""Checks of the image without building it; a second of work, part of the tests."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from image.lib import layout, recipe, system_tree
from scripts.lib import places

_IMAGE = recipe.IMAGE
_NAME = re.compile(rf"[a-z0-9][a-z0-9+.-]+(?:/{recipe.BACKPORTS})?")
# Without these there is no appliance. The last one has the names of time zones that browsers and
# Windows still use: Asia/Calcutta, Europe/Kiev, US/Pacific
_NEEDED = frozenset({"systemd", "linux-image-arm64", "raspi-firmware", "python3", "e2fsprogs"})
_NEEDED |= {"tzdata-legacy"}
# Written with gaps, so that this file does not find itself
_HOSTS = re.compile(r"(?:debian|pypi|pythonhosted|npmjs|ubuntu)\.(?:org|com|net)\b")
# Where a partition may start: a multiple of what cards erase at once
_ALIGNMENT_MIB = 4


def main(arguments: list[str]) -> int:
    """Usage: image/check."""
    if arguments:
        print(main.__doc__)
        return 0 if arguments[0] in {"-h", "--help"} else 2
    found = list(problems())
    for problem in found:
        print(problem, file=sys.stderr)
    print(f"image/check: {len(found)} problems")
    return 1 if found else 0


def problems() -> Iterator[str]:
    """Everything that is wrong with the recipe of the image."""
    yield from of_packages(recipe.PACKAGES.read_text())
    yield from of_layout(layout.PARTITIONS)
    for path in sorted(_IMAGE.rglob("*")):
        if path.is_file() and path.suffix != ".pyc":
            yield from of_file(path)
    yield from _of_units()


def of_packages(text: str) -> Iterator[str]:
    listed = recipe.packages(text)
    yield from (f"packages: {name!r} is no name" for name in listed if not _NAME.fullmatch(name))
    names = [name.partition("/")[0] for name in listed]
    yield from (f"packages: {name} twice" for name in sorted(set(names)) if names.count(name) > 1)
    yield from (f"packages: {name} is missing" for name in sorted(_NEEDED.difference(names)))


def of_layout(partitions: tuple[layout.Partition, ...]) -> Iterator[str]:
    end_mib = 1
    for one in partitions:
        if one.start_mib < end_mib:
            yield f"layout: {one.name} overlaps what is before it"
        if one.start_mib % _ALIGNMENT_MIB:
            yield f"layout: {one.name} starts in the middle of an erase block"
        end_mib = one.end_mib
    if [one.size_mib for one in partitions if one.name.startswith("system")].count(
        layout.SYSTEM_A.size_mib
    ) != len(layout.SLOTS):
        yield "layout: the slots are not of one size"


def of_file(path: Path) -> Iterator[str]:
    text = path.read_text()
    name = path.name
    for number, line in enumerate(text.splitlines(), start=1):
        if found := _HOSTS.search(line):
            yield f"{name}:{number}: an archive's or a registry's host: {found[0]}"
    shell = re.match(r"#!(?:/usr/bin/env |/bin/)(bash|sh)\n", text)
    if shell is None:
        return
    done = subprocess.run([shell[1], "-n", path], capture_output=True, text=True, check=False)
    if done.returncode:
        yield f"{name}: {done.stderr.strip()}"
    if path.parent == _IMAGE and not os.access(path, os.X_OK):
        yield f"{name}: cannot be started"


def _of_units() -> Iterator[str]:
    """Of the units that start, ours must be there."""
    folders = (places.SYSTEMD, system_tree.OVERLAY / "usr/lib/systemd/system")
    for unit in system_tree.ENABLED:
        is_ours = unit.startswith("barnacle")
        if is_ours and not any((folder / unit).exists() for folder in folders):
            yield f"units: {unit} is enabled and not there"
