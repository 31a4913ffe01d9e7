"""Recipe of the system below the agent: the package list, the options, and the key of both."""

import subprocess
from pathlib import Path

from scripts.lib.stamps import key_of

IMAGE = Path(__file__).resolve().parents[1]
PACKAGES = IMAGE / "packages"
RELEASE = "trixie"
_OPTIONS = (
    "--architectures=arm64",
    "--variant=minbase",
    # The Pi's boot loader and its radio are in the second one
    "--components=main non-free-firmware",
    '--aptopt=APT::Install-Recommends "false"',
    '--aptopt=Apt::Key::gpgvcommand "/usr/bin/gpgv"',
    "--dpkgopt=path-exclude=/usr/share/doc/*",
    "--dpkgopt=path-include=/usr/share/doc/*/copyright",
    "--dpkgopt=path-exclude=/usr/share/man/*",
    "--dpkgopt=path-exclude=/usr/share/locale/*",
    "--dpkgopt=path-exclude=/usr/share/info/*",
)
# `apt-get indextargets` names only what was fetched; its sites are in order of /etc/apt
_SITES = ("apt-get", "indextargets", "--format", "$(SITE)", "Identifier: Packages")


class NoMirror(Exception):
    """This machine's apt knows no archive to fetch from."""


def packages(text: str) -> list[str]:
    """The names in a package list, as they stand there."""
    lines = (line.partition("#")[0].strip() for line in text.splitlines())
    return [line for line in lines if line]


def base_key(text: str, date: str) -> str:
    """Names a base: another list, other options or another date is another base."""
    return f"{date}-{key_of(RELEASE, *_OPTIONS, *sorted(packages(text)))[:12]}"


def mirror() -> str:
    """The archive that this machine's own apt fetches from first.

    Raises:
        NoMirror: there is none.
    """
    done = subprocess.run(_SITES, capture_output=True, text=True, check=False)
    for site in done.stdout.splitlines():
        if "security" not in site and site.strip():
            return site.strip()
    raise NoMirror("apt names no archive here: run `apt-get update`, or set BARNACLE_MIRROR")


def command(tar: Path, archive: str) -> list[str]:
    """The command that makes the base."""
    names = ",".join(sorted(packages(PACKAGES.read_text())))
    return ["mmdebstrap", *_OPTIONS, f"--include={names}", RELEASE, str(tar), archive]


def extraction(package: str, folder: Path, archive: str) -> list[str]:
    """The command that unpacks a package of the image's release, and what it needs, for a look."""
    architecture, _, components, recommends, *_ = _OPTIONS
    options = [architecture, "--variant=extract", components, recommends]
    return ["mmdebstrap", *options, f"--include={package}", RELEASE, str(folder), archive]
