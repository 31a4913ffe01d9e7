"""The agent below /opt/barnacle: looks like a virtual environment of the system's own Python.

Wheels for the Pi are fetched on the machine that builds; nothing of them runs here.
"""

import os
import re
import shutil
import sys
from pathlib import Path

from scripts.lib.progress import Progress

ROOT = Path(__file__).resolve().parents[2]
PREFIX = Path("opt/barnacle")
MODEL = Path("usr/share/barnacle/model")
# Debian 13's own
PYTHON = "3.13"
_PACKAGES = PREFIX / f"lib/python{PYTHON}/site-packages"
_UV = "uv==0.13.8"
_PLATFORM = "aarch64-manylinux_2_36"
_LOCKS = ("requirements.lock", "requirements-extras.lock")
# Published without a wheel for this Python; the Pi's own pins need it
NO_WHEEL = frozenset({"lgpio"})
# Tests of the packages, and what trains or converts models
_UNUSED = (
    "bin",
    "numpy/**/tests",
    "numpy/f2py",
    "onnxruntime/transformers",
    "onnxruntime/quantization",
    "onnxruntime/tools",
    "setuptools*",
    "_distutils_hack",
    "distutils-precedence.pth",
)
_OF_THE_BUILD = re.compile(r"\.dist-info/(?:uv_\w+|direct_url)\.json,")
_PYVENV = f"""\
home = /usr/bin
include-system-site-packages = true
version = {PYTHON}
"""
_LAUNCHER = f"""\
#!/{PREFIX}/bin/python -I
import os
import sys

os.environ.setdefault("BARNACLE_MODEL_DIR", "/{MODEL}")
from agent.cli.main import main

sys.exit(main())
"""
_REMEDY = "Is the network there? pip's and uv's own settings (mirror, proxy) are respected."


def without(lock: str, names: frozenset[str]) -> str:
    """A lock without some packages, their hashes included."""
    blocks = re.split(r"^(?=[a-z0-9])", lock, flags=re.MULTILINE)
    return "".join(block for block in blocks if block.split("==")[0] not in names)


def fill(root: Path, uv: Path, work: Path, progress: Progress) -> None:
    """Put the agent, its packages and its model into the system at `root`."""
    environment = dict(os.environ) | {"UV_LINK_MODE": "copy"}
    target = ["--target", root / _PACKAGES, "--python-version", PYTHON]
    target += ["--python", sys.executable, "--python-platform", _PLATFORM, "--no-deps"]
    for name in _LOCKS:
        lock = work / name
        lock.write_text(without((ROOT / "scripts" / name).read_text(), NO_WHEEL))
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
    packages = root / _PACKAGES
    # These name folders of the machine that builds, and the time
    for pattern in ("*.dist-info/direct_url.json", "*.dist-info/uv_*", ".lock"):
        for path in packages.glob(pattern):
            path.unlink()
    for record in packages.glob("*.dist-info/RECORD"):
        lines = record.read_text().splitlines(keepends=True)
        kept = [line for line in lines if not _OF_THE_BUILD.search(line)]
        record.write_text("".join(kept))
    for pattern in _UNUSED:
        for path in sorted(packages.glob(pattern)):
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()
    (root / PREFIX / "pyvenv.cfg").write_text(_PYVENV)
    commands = root / PREFIX / "bin"
    commands.mkdir()
    for name in ("python", "python3"):
        (commands / name).symlink_to(f"/usr/bin/python{PYTHON}")
    launcher = commands / "barnacle"
    launcher.write_text(_LAUNCHER)
    launcher.chmod(0o755)
    (root / "usr/bin/barnacle").symlink_to(f"/{PREFIX}/bin/barnacle")
    model = root / MODEL
    model.mkdir(parents=True)
    for part in ("model.json", "model.onnx", "tokenizer.json"):
        shutil.copyfile(ROOT / ".barnacle/model" / part, model / part)
