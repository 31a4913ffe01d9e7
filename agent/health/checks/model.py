"""Are the files of the embedding model those that were built?"""

import hashlib
from pathlib import Path

import msgspec

from agent.health.base import Finding, Patient
from agent.health.daemon_thread import in_daemon_thread

_ABOUT = "model.json"
_FILES = ("model.onnx", "tokenizer.json")
# Of what describes a model
_MAX_ABOUT_BYTES = 64 * 1024
_REMEDY = "run scripts/setup to build it again"


class _About(msgspec.Struct, frozen=True):
    """Checksums beside the model's files; a model of one's own may lack them."""

    sha256: dict[str, str] = msgspec.field(default_factory=dict)


async def check(patient: Patient) -> Finding:
    """Name the damaged file of the model; another check says if the model works."""
    folder = patient.model_dir
    if folder is None:
        return Finding.ok("no model of this machine is used")
    return await in_daemon_thread(lambda: _finding(folder))


def _finding(folder: Path) -> Finding:
    if not (folder / _FILES[0]).exists():
        return Finding.ok(f"there is none in {folder}")
    if missing := [name for name in _FILES if not (folder / name).is_file()]:
        return Finding.warning(f"{folder} lacks {' and '.join(missing)}: {_REMEDY}")
    sizes = ", ".join(f"{name} {(folder / name).stat().st_size // 1000} kB" for name in _FILES)
    try:
        with (folder / _ABOUT).open("rb") as file:
            about = msgspec.json.decode(file.read(_MAX_ABOUT_BYTES), type=_About)
    except (OSError, msgspec.DecodeError, UnicodeError):
        return Finding.ok(f"{sizes}; nothing says which they should be")
    try:
        damaged = [name for name in _FILES if _is_another(folder / name, about)]
    except OSError as err:
        return Finding.failed(f"{folder} cannot be read: {err.strerror}")
    if damaged:
        return Finding.failed(f"{' and '.join(damaged)} in {folder} is damaged: {_REMEDY}")
    return Finding.ok(f"{sizes}, as they were built" if about.sha256 else sizes)


def _is_another(path: Path, about: _About) -> bool:
    wanted = about.sha256.get(path.name)
    if wanted is None:
        return False
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() != wanted
