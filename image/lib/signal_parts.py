"""Signal on the card: `image/build --with-signal RELEASE --signal-library FILE`.

signal-cli holds the account and speaks to Signal. Signal turns old clients away, and a release has
no library for the Pi, so both files come from whoever builds, and are looked at before the work
begins. Java is Debian's own, with the modules that signal-cli uses.
"""

import os
import re
import shutil
import struct
import tarfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from image.lib import recipe
from scripts.lib.progress import Progress, say

RELEASE_HELP = (
    "puts signal-cli on the card, for a Pi with 1 GB and more: RELEASE is signal-cli-VERSION.tar.gz"
    " of github.com/AsamK/signal-cli. It needs --signal-library, and starts only where "
    "[channels.signal] is configured"
)
LIBRARY_HELP = (
    "libsignal_jni.so for aarch64 Linux, of the version that the release names (it is said when it "
    "is another one): made from github.com/signalapp/libsignal, or one of "
    "github.com/exquo/signal-libs-build"
)
HOME = Path("opt/signal-cli")
UNITS = Path("usr/lib/systemd/system")
_JDK = "openjdk-25-jdk-headless"
_JVM = Path("usr/lib/jvm/java-25-openjdk-arm64")
_MODULES = (
    *("java.base", "java.logging", "java.management", "java.naming", "java.sql", "java.xml"),
    *("jdk.crypto.ec", "jdk.httpserver", "jdk.unsupported"),
)
_EMULATOR, _STRIP = "qemu-aarch64-static", "aarch64-linux-gnu-strip"
_REMEDY = "Is the network there? The log says more."
_PROGRAM = "signal-cli-"
_CLIENT = "libsignal-client-"
_VERSION = r"(\d+(?:\.\d+)+)\.jar"
# The machine of an ELF file, and where it stands
_ELF, _AARCH64, _MACHINE_AT = b"\x7fELF\x02\x01", 183, 18
# Of other systems and processors; each is some tens of megabytes
_NATIVE = (".so", ".dylib", ".jnilib", ".dll")
_OURS = "Linux/aarch64/"
CONFIG = "/etc/barnacle/barnacle.toml"
SIGNAL_UNIT = f"""\
# Where nobody configured Signal, nothing of it runs
[Unit]
RequiresMountsFor=/etc/barnacle /var/lib/barnacle-signal

[Service]
ExecCondition=+/usr/bin/grep -Eqs "^[[:space:]]*\\\\[channels\\\\.signal\\\\]" {CONFIG}
Environment=JAVA_HOME=/{HOME}/java
Environment="JAVA_OPTS=-Xmx128m -Djava.library.path=/{HOME}/native"
"""
_AGENT_UNIT = "[Unit]\nWants=barnacle-signal.service\n"


@dataclass(frozen=True)
class SignalParts:
    """A release of signal-cli and its library, looked at."""

    release: Path
    library: Path
    version: str
    library_version: str


def checked(release: Path | None, library: Path | None) -> SignalParts | None:
    """Return the parts, or None without any.

    Raises:
        OSError: one is missing or is not what it has to be.
    """
    if release is None and library is None:
        return None
    if release is None or library is None:
        raise OSError("--with-signal RELEASE and --signal-library FILE belong together")
    names = list(_names(release))
    version, needed = (_version_of(start, names, release) for start in (_PROGRAM, _CLIENT))
    content = library.read_bytes()
    if not content.startswith(_ELF) or _machine(content) != _AARCH64:
        raise OSError(f"--signal-library {library}: it is no library for 64-bit ARM Linux")
    if needed.encode() not in content:
        raise OSError(
            f"--signal-library {library}: it is not libsignal {needed}, which signal-cli {version} "
            "needs"
        )
    return SignalParts(release, library, version, needed)


def _names(release: Path) -> Iterator[str]:
    """Yield the names of its files below its one folder."""
    try:
        with tarfile.open(release) as tar:
            names = tar.getnames()
    except tarfile.TarError as err:
        raise OSError(f"--with-signal {release}: {err}") from err
    if len({PurePosixPath(name).parts[0] for name in names}) != 1:
        raise OSError(f"--with-signal {release}: it is no release of signal-cli")
    for name in names:
        yield "/".join(PurePosixPath(name).parts[1:])


def _version_of(start: str, names: list[str], release: Path) -> str:
    found = [re.fullmatch(rf"lib/{start}{_VERSION}", name) for name in names]
    versions = [match[1] for match in found if match]
    if len(versions) != 1:
        raise OSError(f"--with-signal {release}: there is no lib/{start}VERSION.jar in it")
    return versions[0]


def _machine(content: bytes) -> int:
    (machine,) = struct.unpack_from("<H", content.ljust(_MACHINE_AT + 2), _MACHINE_AT)
    return int(machine)


class SignalInstaller:
    """Puts signal-cli and a Java of its own into a system; Java is made once for each day."""

    def __init__(self, cache: Path, day: str, progress: Progress) -> None:
        self._cache = cache
        self._kept = cache / f"signal-java-{day}"
        self._progress = progress

    def install(self, parts: SignalParts, root: Path, archive: str) -> None:
        """Put everything into the system at `root`."""
        home = root / HOME
        with tarfile.open(parts.release) as tar:
            tar.extractall(root / "opt", filter="data")
            folder = PurePosixPath(tar.getnames()[0]).parts[0]
        (root / "opt" / folder).rename(home)
        for jar in home.glob("lib/*.jar"):
            without_others(jar)
        native = home / "native"
        native.mkdir()
        shutil.copyfile(parts.library, native / "libsignal_jni.so")
        shutil.copytree(self._java(archive), home / "java", symlinks=True)
        for name, content in (
            ("barnacle-signal.service.d/card.conf", SIGNAL_UNIT),
            ("barnacle.service.d/signal.conf", _AGENT_UNIT),
        ):
            unit = root / UNITS / name
            unit.parent.mkdir(exist_ok=True)
            unit.write_text(content)
            unit.chmod(0o644)
        self._say_its_version(home, root)
        mib = sum(path.stat().st_size for path in home.rglob("*") if path.is_file()) >> 20
        say(f"signal-cli {parts.version}, libsignal {parts.library_version}: {mib} MiB unpacked")

    def _java(self, archive: str) -> Path:
        """Return a Java for the Pi with the modules that are used."""
        if not self._kept.exists():
            unpacked = self._cache / "signal-jdk"
            shutil.rmtree(unpacked, ignore_errors=True)
            self._run("fetch Java", recipe.extraction(_JDK, unpacked, archive))
            # Unpacked alone, without what its own installation would do
            (unpacked / "lib").symlink_to("usr/lib")
            _put_settings(unpacked)
            fresh = self._cache / "signal-java.new"
            shutil.rmtree(fresh, ignore_errors=True)
            wanted = ["--module-path", unpacked / _JVM / "jmods"]
            wanted += ["--add-modules", ",".join(_MODULES), "--output", fresh]
            smaller = ["--strip-java-debug-attributes", "--no-man-pages", "--no-header-files"]
            smaller.append("--exclude-files=**.debuginfo")
            jlink = [_EMULATOR, "-L", unpacked, unpacked / _JVM / "bin/jlink"]
            self._run("make a small Java", [*jlink, *wanted, *smaller])
            libraries = [*fresh.rglob("*.so"), fresh / "lib/jspawnhelper"]
            self._run("strip Java", [_STRIP, "--strip-unneeded", *libraries])
            fresh.replace(self._kept)
            shutil.rmtree(unpacked)
        return self._kept

    def _say_its_version(self, home: Path, root: Path) -> None:
        """Start it once, emulated: a module that is missing is found here."""
        java = [_EMULATOR, "-L", root, home / "java/bin/java"]
        main = ["-cp", f"{home}/lib/*", "org.asamk.signal.Main", "--version"]
        self._run("let signal-cli say its version", [*java, *main])

    def _run(self, title: str, command: list[str | Path]) -> None:
        self._progress.run(title, command, environment=os.environ, remedy=_REMEDY)


def _put_settings(unpacked: Path) -> None:
    """Replace links into /etc by the files there; they would be looked for on this machine."""
    for link in [path for path in (unpacked / _JVM).rglob("*") if path.is_symlink()]:
        target = link.readlink()
        if target.is_absolute():
            link.unlink()
            inside = unpacked / target.relative_to("/")
            if inside.is_file():
                shutil.copyfile(inside, link)


def without_others(jar: Path) -> None:
    """Take out the libraries of other systems and processors."""
    with zipfile.ZipFile(jar) as full:
        entries = full.infolist()
        kept = [
            one for one in entries if not one.filename.endswith(_NATIVE) or _OURS in one.filename
        ]
        if len(kept) == len(entries):
            return
        smaller = jar.with_suffix(".new")
        with zipfile.ZipFile(smaller, "w", zipfile.ZIP_DEFLATED) as target:
            for one in kept:
                # The entry's own time and name: the same jar each time
                target.writestr(one, full.read(one))
    smaller.replace(jar)
