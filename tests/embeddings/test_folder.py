import json
from hashlib import sha256
from pathlib import Path

import pytest

from agent.embeddings.folder import ModelFolder
from agent.errors import EmbedderUnavailable

FILES = {"model.onnx": b"a graph", "tokenizer.json": b"{}"}


def described(folder: Path) -> Path:
    """A folder whose files are what its description says."""
    for name, content in FILES.items():
        (folder / name).write_bytes(content)
    hashes = {name: sha256(content).hexdigest() for name, content in FILES.items()}
    description = {"model_id": "mini", "dimensions": 8, "sha256": hashes, "licence": "free"}
    (folder / "model.json").write_text(json.dumps(description))
    return folder


def test_a_whole_folder_names_its_model(tmp_path: Path) -> None:
    folder = ModelFolder(described(tmp_path))
    assert folder.verified_id() == "mini"
    description = folder.description()
    assert description is not None
    assert description.dimensions == 8


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_is_named_with_the_remedy(tmp_path: Path, name: str) -> None:
    (described(tmp_path) / name).unlink()
    with pytest.raises(EmbedderUnavailable, match=rf"{name} is missing; run scripts/embedding"):
        ModelFolder(tmp_path).verified_id()


@pytest.mark.parametrize("name", FILES)
def test_a_changed_file_is_damage(tmp_path: Path, name: str) -> None:
    (described(tmp_path) / name).write_bytes(b"something else")
    with pytest.raises(EmbedderUnavailable, match=rf"damaged \({name} is not the file"):
        ModelFolder(tmp_path).verified_id()


@pytest.mark.parametrize(
    "content",
    [b"", b"[]", b'{"model_id": 1}', b'{"model_id": "mini"}', b"\x00", b'{"model_id": "m\xb0"}'],
)
def test_a_description_that_says_nothing_is_damage(tmp_path: Path, content: bytes) -> None:
    (described(tmp_path) / "model.json").write_bytes(content)
    with pytest.raises(EmbedderUnavailable, match="damaged"):
        ModelFolder(tmp_path).verified_id()


def test_a_folder_without_a_description_is_named_by_its_weights(tmp_path: Path) -> None:
    (described(tmp_path) / "model.json").unlink()
    folder = ModelFolder(tmp_path)
    first = folder.verified_id()
    assert first.startswith(f"{tmp_path.name}-")
    folder.model.write_bytes(b"another graph")
    assert folder.verified_id() != first


def test_the_fingerprint_changes_with_the_files(tmp_path: Path) -> None:
    folder = ModelFolder(tmp_path)
    nothing = folder.fingerprint()
    described(tmp_path)
    whole = folder.fingerprint()
    folder.model.write_bytes(b"another, longer graph")
    assert len({nothing, whole, folder.fingerprint()}) == 3
