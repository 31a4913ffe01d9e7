"""The libraries of the console's pages, taken from their npm packages as those are published."""

import argparse
import base64
import hashlib
import io
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "agent" / "console" / "static" / "vendor"
# A registry answers within seconds, or not at all
_PACK_TIMEOUT_S = 120


@dataclass(frozen=True, slots=True)
class Package:
    """A package of one version, with the hash that npm publishes for it.

    Args:
        files: the name here, by the name in the package.
    """

    name: str
    version: str
    sha512: str
    files: dict[str, str]


PACKAGES = (
    Package(
        "htmx.org",
        "2.0.11",
        "Thx/WtpeOQqSrqBCw/A1cwGJGg4UrVa3+sW0GmrM3p4gJgO89ecH4qtbnyzDDWFvBTqjnIMCgELTNt636dtamA==",
        {"dist/htmx.min.js": "htmx.min.js", "LICENSE": "LICENSE.htmx"},
    ),
    Package(
        "uplot",
        "1.6.32",
        "KIMVnG68zvu5XXUbC4LQEPnhwOxBuLyW1AHtpm6IKTXImkbLgkMy+jabjLgSLMasNuGGzQm/ep3tOkyTxpiQIw==",
        {
            "dist/uPlot.iife.min.js": "uPlot.iife.min.js",
            "dist/uPlot.min.css": "uPlot.min.css",
            "LICENSE": "LICENSE.uplot",
        },
    ),
)


def packed(package: Package, folder: Path) -> bytes:
    """Return the package as npm has it; end the program if it is another one than expected."""
    subprocess.run(
        ["npm", "pack", "--silent", f"{package.name}@{package.version}"],
        cwd=folder,
        check=True,
        timeout=_PACK_TIMEOUT_S,
        stdout=subprocess.DEVNULL,
    )
    content = (folder / f"{package.name}-{package.version}.tgz").read_bytes()
    found = base64.b64encode(hashlib.sha512(content).digest()).decode()
    if found != package.sha512:
        sys.exit(f"vendor: {package.name} {package.version} has another hash: {found}")
    return content


def contents(package: Package, content: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield the files that are taken, by their names here."""
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        for there, here in package.files.items():
            member = archive.extractfile(f"package/{there}")
            if member is None:
                sys.exit(f"vendor: {package.name} has no {there}")
            yield here, member.read()


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="scripts/vendor-console", description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing; fail on a difference")
    is_check = parser.parse_args(words).check
    FOLDER.mkdir(parents=True, exist_ok=True)
    different = []
    with tempfile.TemporaryDirectory() as folder:
        for package in PACKAGES:
            for name, content in contents(package, packed(package, Path(folder))):
                path = FOLDER / name
                if not path.exists() or path.read_bytes() != content:
                    different.append(name)
                    if not is_check:
                        path.write_bytes(content)
                print(f"vendor: {name} ({len(content)} bytes, {package.name} {package.version})")
    if is_check and different:
        sys.exit(f"vendor: other than in the packages: {', '.join(different)}")
    return 0
