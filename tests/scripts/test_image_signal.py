"""Signal on the card: what is given to the build is looked at; only what a Pi needs is taken."""

import io
import shlex
import struct
import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest

from image.lib.signal_parts import CONFIG, SIGNAL_UNIT, checked, without_others

VERSION, NEEDED = "0.14.2", "0.86.1"
AARCH64, X86_64 = 183, 62


def release(folder: Path, *names: str) -> Path:
    files = names or (f"lib/signal-cli-{VERSION}.jar", f"lib/libsignal-client-{NEEDED}.jar")
    path = folder / "signal-cli.tar.gz"
    with tarfile.open(path, "w:gz") as tar:
        for name in (*files, "bin/signal-cli"):
            tar.addfile(tarfile.TarInfo(f"signal-cli-{VERSION}/{name}"), io.BytesIO())
    return path


def library(folder: Path, machine: int = AARCH64, version: str = NEEDED) -> Path:
    path = folder / "libsignal_jni.so"
    head = b"\x7fELF\x02\x01".ljust(18, b"\0") + struct.pack("<H", machine)
    path.write_bytes(head + f"Initializing libsignal version:{version}".encode())
    return path


def test_nothing_is_put_on_a_card_that_nobody_wants_it_on() -> None:
    assert checked(None, None) is None


def test_a_release_and_the_library_that_it_names_are_taken(tmp_path: Path) -> None:
    parts = checked(release(tmp_path), library(tmp_path))
    assert parts is not None
    assert (parts.version, parts.library_version) == (VERSION, NEEDED)


def test_one_without_the_other_is_refused(tmp_path: Path) -> None:
    for given in ((release(tmp_path), None), (None, library(tmp_path))):
        with pytest.raises(OSError, match="belong together"):
            checked(*given)


@pytest.mark.parametrize(
    ("machine", "version", "told"),
    [
        (X86_64, NEEDED, "no library for 64-bit ARM"),
        (AARCH64, "0.85.0", f"not libsignal {NEEDED}, which signal-cli {VERSION} needs"),
    ],
)
def test_another_library_is_refused(tmp_path: Path, machine: int, version: str, told: str) -> None:
    with pytest.raises(OSError, match=told):
        checked(release(tmp_path), library(tmp_path, machine, version))


def test_what_is_too_short_for_a_library_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "short.so"
    path.write_bytes(b"\x7fELF\x02\x01")
    with pytest.raises(OSError, match="no library"):
        checked(release(tmp_path), path)


def test_what_is_no_release_is_refused(tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("no archive")
    with pytest.raises(OSError, match="--with-signal"):
        checked(text, library(tmp_path))
    with pytest.raises(OSError, match=r"no lib/signal-cli-VERSION\.jar"):
        checked(release(tmp_path, "lib/other-1.0.jar"), library(tmp_path))


def test_libraries_of_other_processors_are_left_out(tmp_path: Path) -> None:
    jar = tmp_path / "some.jar"
    kept = ["a/Some.class", "org/sqlite/native/Linux/aarch64/libsqlitejdbc.so"]
    others = ["libsignal_jni_amd64.so", "x/Linux-Musl/aarch64/y.so", "mac.dylib", "win.dll"]
    with zipfile.ZipFile(jar, "w") as full:
        for name in [*kept, *others]:
            full.writestr(name, name)
    without_others(jar)
    once = jar.read_bytes()
    with zipfile.ZipFile(jar) as smaller:
        assert smaller.namelist() == kept
        assert smaller.read(kept[0]) == kept[0].encode()
    without_others(jar)
    assert jar.read_bytes() == once


@pytest.mark.parametrize(
    ("config", "status"),
    [
        ("[channels.signal]\n", 0),
        ("  [channels.signal]\n", 0),
        ("# [channels.signal]\n", 1),
        (None, 2),
    ],
)
def test_it_starts_only_where_signal_is_configured(
    tmp_path: Path, config: str | None, status: int
) -> None:
    file = tmp_path / "barnacle.toml"
    if config is not None:
        file.write_text(config)
    [line] = [one for one in SIGNAL_UNIT.splitlines() if one.startswith("ExecCondition=+")]
    # systemd takes what is quoted as a shell does
    command = shlex.split(line.removeprefix("ExecCondition=+").replace(CONFIG, str(file)))
    assert subprocess.run(command, check=False).returncode == status
