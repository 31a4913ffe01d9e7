"""The agent below /opt/barnacle: looks like a virtual environment of the system's own Python.

Wheels for the Pi are fetched on the machine that builds; nothing of them runs here.
"""

import os
import re
import shutil
import sys
from pathlib import Path

from scripts.lib import locks, places
from scripts.lib.places import PREFIX
from scripts.lib.progress import Progress

ROOT = Path(__file__).resolve().parents[2]
MODEL = Path("usr/share/barnacle/model")
# Debian 13's own
PYTHON = "3.13"
PACKAGES = PREFIX / f"lib/python{PYTHON}/site-packages"
_UV = "uv==0.13.8"
_PLATFORM = "aarch64-manylinux_2_36"
_LOCKS = ("requirements.lock", "requirements-extras.lock")
_OF_THE_BUILD = re.compile(r"\.dist-info/(?:uv_\w+|direct_url)\.json,")
_PYVENV = f"""\
home = /usr/bin
include-system-site-packages = true
version = {PYTHON}
"""
_REMEDY = "Is the network there? pip's and uv's own settings (mirror, proxy) are respected."


def fill(root: Path, uv: Path, work: Path, progress: Progress) -> None:
    """Put the agent, its packages and its model into the system at `root`."""
    environment = dict(os.environ) | {"UV_LINK_MODE": "copy"}
    target = ["--target", root / PACKAGES, "--python-version", PYTHON]
    target += ["--python", sys.executable, "--python-platform", _PLATFORM, "--no-deps"]
    for name in _LOCKS:
        lock = work / name
        lock.write_text(locks.without((ROOT / "scripts" / name).read_text(), locks.NO_WHEEL))
        options = ["--require-hashes", "--only-binary", ":all:", "-r", lock]
        progress.run(
            f"fetch {name}",
            [uv, "pip", "install", *target, *options],
            environment=environment,
            remedy=_REMEDY,
        )
    wheels = work / "wheels"
    shutil.rmtree(wheels, ignore_errors=True)
    progress.run(
        "pack the agent",
        [uv, "build", "--wheel", "--python", sys.executable, "--out-dir", wheels, ROOT],
        environment=environment,
        remedy=_REMEDY,
    )
    progress.run(
        "install the agent",
        [uv, "pip", "install", *target, *wheels.glob("*.whl")],
        environment=environment,
        remedy=_REMEDY,
    )
    _tidy(root)


def installer(work: Path, progress: Progress) -> Path:
    """The installer, in an environment of its own."""
    folder = work / "uv"
    if not (folder / "bin/uv").exists():
        progress.run(
            "make an environment for uv",
            [sys.executable, "-m", "venv", "--clear", folder],
            environment=os.environ,
            remedy="Install Debian's package python3-venv and try again.",
        )
        progress.run(
            "fetch uv",
            [folder / "bin/python", "-m", "pip", "install", "--quiet", _UV],
            environment=os.environ,
            remedy=_REMEDY,
        )
    return folder / "bin/uv"


def _tidy(root: Path) -> None:
    packages = root / PACKAGES
    # These name folders of the machine that builds, and the time
    for pattern in ("*.dist-info/direct_url.json", "*.dist-info/uv_*", ".lock"):
        for path in packages.glob(pattern):
            path.unlink()
    for record in packages.glob("*.dist-info/RECORD"):
        lines = record.read_text().splitlines(keepends=True)
        kept = [line for line in lines if not _OF_THE_BUILD.search(line)]
        record.write_text("".join(kept))
    places.trim(packages)
    (root / PREFIX / "pyvenv.cfg").write_text(_PYVENV)
    commands = root / PREFIX / "bin"
    commands.mkdir()
    for name in ("python", "python3"):
        (commands / name).symlink_to(f"/usr/bin/python{PYTHON}")
    places.write_launcher(commands / "barnacle", Path("/", PREFIX, "bin/python"), Path("/", MODEL))
    (root / "usr/bin/barnacle").symlink_to(f"/{PREFIX}/bin/barnacle")
    places.copy_model(ROOT / ".barnacle/model", root / MODEL)
