"""Recipe of the system below the agent: the package list, the options, and the key of both."""

import subprocess
from pathlib import Path

from scripts.lib.stamps import key_of

IMAGE = Path(__file__).resolve().parents[1]
PACKAGES = IMAGE / "packages"
RAMDISK_MODULES = IMAGE / "ramdisk-modules"
RELEASE = "trixie"
# Newer packages for the same release, of which only those are taken that the list names with it
BACKPORTS = f"{RELEASE}-backports"
_COMPONENTS = "main non-free-firmware"
_KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
# Where initramfs-tools looks for modules that it would not take by itself
_MODULES = "usr/share/initramfs-tools/modules.d"
_OPTIONS = (
    "--architectures=arm64",
    "--variant=minbase",
    # The Pi's boot loader and its radio are in the second one
    f"--components={_COMPONENTS}",
    '--aptopt=APT::Install-Recommends "false"',
    '--aptopt=Apt::Key::gpgvcommand "/usr/bin/gpgv"',
    "--dpkgopt=path-exclude=/usr/share/doc/*",
    "--dpkgopt=path-include=/usr/share/doc/*/copyright",
    "--dpkgopt=path-exclude=/usr/share/man/*",
    "--dpkgopt=path-exclude=/usr/share/locale/*",
    "--dpkgopt=path-exclude=/usr/share/info/*",
    # The trees of every other maker's boards are 110 MiB
    "--dpkgopt=path-exclude=/usr/lib/modules/*/dtb/*.dtb*",
    "--dpkgopt=path-include=/usr/lib/modules/*/dtb/broadcom/*",
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
    made_of = (RELEASE, *_OPTIONS, ramdisk_hook(), *sorted(packages(text)))
    return f"{date}-{key_of(*made_of)[:12]}"


def ramdisk_hook() -> str:
    """Return the shell command that names further modules before the RAM disk is made."""
    names = " ".join(packages(RAMDISK_MODULES.read_text()))
    into = f'"$1/{_MODULES}"'
    return f"mkdir -p {into} && printf '%s\\n' {names} >{into}/barnacle"


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
    options = [*_OPTIONS, f"--essential-hook={ramdisk_hook()}", f"--include={names}"]
    signed_by = f" [signed-by={_KEYRING}]" if Path(_KEYRING).exists() else ""
    backports = f"deb{signed_by} {archive} {BACKPORTS} {_COMPONENTS}"
    return ["mmdebstrap", *options, RELEASE, str(tar), archive, backports]


def extraction(package: str, folder: Path, archive: str) -> list[str]:
    """The command that unpacks a package of the image's release, and what it needs, for a look."""
    architecture, _, components, recommends, *_ = _OPTIONS
    options = [architecture, "--variant=extract", components, recommends]
    return ["mmdebstrap", *options, f"--include={package}", RELEASE, str(folder), archive]
