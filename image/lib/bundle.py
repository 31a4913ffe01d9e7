"""The update that a build makes: the parts of a slot, and a signed list of them.

Written with the standard library alone and the same bytes each time; `agent/update/bundle.py`
reads it. Without a key there is none: nobody would take it.
"""

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from agent import __version__
from image.lib import layout

CACHE = Path(__file__).resolve().parents[2] / ".barnacle/image"
MAGIC = b"BARNACLE UPDATE 1\n"
ARCHITECTURE = "arm64"
# The oldest version whose data, slots and updater get along with this one
NEEDS = "0.1.0"
IDENTITY = Path("usr/share/barnacle/image.json")
KEYS = Path("usr/share/barnacle/update-keys")
_COPY_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Release:
    """Version and date of one build."""

    version: str
    built_s: int
    needs: str = NEEDS


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="image/bundle",
        description="Makes an update of what image/build has left in its cache.",
    )
    default = Path(os.environ.get("BARNACLE_IMAGE_CACHE", CACHE))
    parser.add_argument("--cache", type=Path, default=default, help="where image/build worked")
    parser.add_argument("--sign-key", type=Path, required=True, help="an Ed25519 key, as PEM")
    parser.add_argument("--version", default=__version__, help="say that it is another version")
    parser.add_argument("--system", type=Path, help="another system than the one that was built")
    parser.add_argument("--output", type=Path, help="default: barnacle-VERSION.update in the cache")
    given = parser.parse_args(arguments)
    work = given.cache / "work"
    try:
        identity = json.loads((work / "image.json").read_text())
        target = given.output or given.cache / f"barnacle-{given.version}.update"
        system = given.system or work / "system.squashfs"
        release = Release(given.version, identity["built_s"])
        write(target, release, work / "firmware/A", system, given.sign_key)
    except (OSError, subprocess.CalledProcessError) as failure:
        print(f"image/bundle: {failure}", file=sys.stderr)
        return 1
    print(target)
    return 0


def describe(root: Path, release: Release, keys: Sequence[Path]) -> None:
    """Tell the system at `root` what it is, and whose updates it takes.

    Args:
        keys: public keys, as PEM; with none, it takes no updates.
    """
    slots = {slot: partition.partuuid for slot, partition in layout.SLOTS.items()}
    told = {"version": release.version, "built_s": release.built_s, "architecture": ARCHITECTURE}
    (root / IDENTITY).write_text(json.dumps(told | {"slots": slots}, sort_keys=True) + "\n")
    shutil.rmtree(root / KEYS, ignore_errors=True)
    (root / KEYS).mkdir(parents=True)
    for key in keys:
        pem = public_part(key)
        (root / KEYS / f"{hashlib.sha256(pem).hexdigest()[:16]}.pem").write_bytes(pem)
    # Whatever the umask of who builds
    for path in (root / IDENTITY, root / KEYS, *(root / KEYS).iterdir()):
        path.chmod(0o755 if path.is_dir() else 0o644)


def write(target: Path, release: Release, slot: Path, system: Path, key: Path) -> None:
    """Write the update whole or not at all.

    Args:
        slot: the files of a slot's folder on the firmware partition.
        key: private, as PEM.
    """
    template = layout.command_line("A").replace(layout.SLOTS["A"].partuuid, "@ROOT@")
    template = template.replace("barnacle.slot=A", "barnacle.slot=@SLOT@")
    fresh = target.with_suffix(".new")
    with tempfile.TemporaryDirectory(prefix="barnacle-bundle-") as folder:
        line = Path(folder, "cmdline.txt")
        line.write_text(template + "\n")
        files = {path.name: path for path in sorted(slot.iterdir())}
        # The large one last: what is wrong with the others is known before
        parts = files | {"cmdline.txt": line, "system": system}
        listed = [_part(name, path) for name, path in parts.items()]
        manifest = {
            "version": release.version,
            "built_s": release.built_s,
            "architecture": ARCHITECTURE,
            "needs": release.needs,
            "parts": listed,
        }
        encoded = json.dumps(manifest, sort_keys=True).encode()
        with fresh.open("wb") as file:
            file.write(MAGIC + len(encoded).to_bytes(4, "big"))
            file.write(sign(MAGIC + encoded, key) + encoded)
            for path in parts.values():
                _append(file, path)
    fresh.replace(target)


def sign(content: bytes, key: Path) -> bytes:
    """The signature of Ed25519: always the same for the same content."""
    with tempfile.TemporaryDirectory(prefix="barnacle-bundle-") as folder:
        signed, signature = Path(folder, "signed"), Path(folder, "signature")
        signed.write_bytes(content)
        command = ["openssl", "pkeyutl", "-sign", "-inkey", key, "-rawin"]
        subprocess.run([*command, "-in", signed, "-out", signature], check=True)
        return signature.read_bytes()


def public_part(key: Path) -> bytes:
    """The public key in a file that holds it, or the private one."""
    is_public = b"BEGIN PUBLIC KEY" in key.read_bytes()
    command = ["openssl", "pkey", "-in", key, "-pubout", *(["-pubin"] if is_public else [])]
    told = subprocess.run([*command, "-text"], capture_output=True, check=False)
    if told.returncode or b"ED25519" not in told.stdout.upper():
        raise OSError(f"{key} is no Ed25519 key: openssl genpkey -algorithm ed25519 makes one")
    return subprocess.run(command, capture_output=True, check=True).stdout


def _part(name: str, path: Path) -> dict[str, str | int]:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {"name": name, "size_bytes": path.stat().st_size, "sha256": digest}


def _append(file: BinaryIO, path: Path) -> None:
    with path.open("rb") as part:
        shutil.copyfileobj(part, file, _COPY_BYTES)
