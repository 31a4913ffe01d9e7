"""Folder of an embedding model: `model.onnx`, `tokenizer.json` and their description.

`model.json` is optional; where it is there, the files must be the ones that it names. `model.ort`
is optional too: the same graph, laid out so that its weights are mapped and not copied.
"""

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from agent.errors import EmbedderUnavailable

if TYPE_CHECKING:
    from agent.embeddings.recipe import Recipe

MODEL_FILE = "model.onnx"
MAPPED_FILE = "model.ort"
TOKENIZER_FILE = "tokenizer.json"
DESCRIPTION_FILE = "model.json"
_REMEDY = "run scripts/embedding-model to build it again"
# Enough of a hash to tell any two models apart
_ID_HASH_CHARS = 12


class Description(msgspec.Struct, frozen=True):
    """Description in `model.json`; unused keys are for people."""

    model_id: str
    dimensions: int
    # Of model.onnx and tokenizer.json
    sha256: dict[str, str]


class ModelFolder:
    """A folder that should hold a model."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.tokenizer = path / TOKENIZER_FILE

    @property
    def model(self) -> Path:
        """Return the file with the graph: the mapped one where there is one."""
        mapped = self.path / MAPPED_FILE
        return mapped if mapped.exists() else self.path / MODEL_FILE

    @property
    def is_mapped(self) -> bool:
        return self.model.name == MAPPED_FILE

    def description(self) -> Description | None:
        """Return the folder's description; None if it has none.

        Raises:
            EmbedderUnavailable: it says something that cannot be read.
        """
        try:
            content = (self.path / DESCRIPTION_FILE).read_bytes()
            return msgspec.json.decode(content, type=Description)
        except FileNotFoundError:
            return None
        except (OSError, msgspec.DecodeError, UnicodeError) as err:
            raise self.damaged(f"{DESCRIPTION_FILE}: {err}") from err

    def verified_id(self) -> str:
        """Return the id of the exact weights, after checking the files.

        Raises:
            EmbedderUnavailable: a file is missing, or is not the one that was built.
        """
        description = self.description()
        try:
            hashes = {path.name: _sha256(path) for path in (self.model, self.tokenizer)}
        except FileNotFoundError as err:
            raise EmbedderUnavailable(
                f"no embedding model in {self.path}: {err.filename} is missing; {_REMEDY}"
            ) from err
        except OSError as err:
            raise self.damaged(str(err)) from err
        if description is None:
            return f"{self.path.name}-{self._hash_of_use(hashes)}"
        for name, digest in hashes.items():
            if description.sha256.get(name) != digest:
                raise self.damaged(f"{name} is not the file that {DESCRIPTION_FILE} names")
        return description.model_id

    def recipe(self) -> "Recipe":
        """Return how to use the model.

        Raises:
            EmbedderUnavailable: a file that should tell it cannot be understood.
        """
        from agent.embeddings.recipe import read_recipe  # noqa: PLC0415 - with the model

        return read_recipe(self.path)

    def fingerprint(self) -> tuple[tuple[int, int], ...]:
        """Return a value that changes when a file is replaced; cheap enough for every call."""
        from agent.embeddings import recipe  # noqa: PLC0415 - with the model

        names = (MODEL_FILE, MAPPED_FILE, TOKENIZER_FILE, DESCRIPTION_FILE, *recipe.FILES)
        return tuple(_size_and_time(self.path / name) for name in names)

    def _hash_of_use(self, hashes: dict[str, str]) -> str:
        """Hash tokenizer, pooling and prefix too: they change the vectors of the same weights."""
        used = f"{hashes[self.model.name]} {hashes[TOKENIZER_FILE]} {self.recipe()}"
        return hashlib.sha256(used.encode()).hexdigest()[:_ID_HASH_CHARS]

    def damaged(self, reason: str) -> EmbedderUnavailable:
        return EmbedderUnavailable(
            f"the embedding model in {self.path} is damaged ({reason}); {_REMEDY}"
        )


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _size_and_time(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
    except OSError:
        return (-1, -1)
    return (status.st_size, status.st_mtime_ns)
