"""Description of a built model, `model.json`: what its files are, and what has made them."""

import json
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from scripts.lib.embedding import package

# What the graph's bytes are on every machine
GRAPH_SHA256 = "7f79724425d6d8fb8e9baba0a416403c54af03fc3c8f15103f4dcdc2be6b034c"
NAME = "all-MiniLM-L6-v2-int8"
_FILES = ("model.onnx", "model.ort", "tokenizer.json")


def is_current(folder: Path) -> bool:
    """Return true if the model is whole, and the installed runtime has laid it out."""
    try:
        told = json.loads((folder / "model.json").read_bytes())
        files = {name: package.sha256(folder / name) for name in told["sha256"]}
    except (OSError, ValueError, KeyError):
        return False
    is_whole = told["sha256"] == files and set(files) == set(_FILES)
    # Another runtime may not read what this one has laid out
    laid_out_by = told.get("laid_out_by")
    is_readable = laid_out_by == (_runtime() or laid_out_by)
    return is_whole and is_readable and files["model.onnx"] == GRAPH_SHA256


def write(made: Path, dimensions: int) -> None:
    """Describe the model in that folder."""
    hashes = {name: package.sha256(made / name) for name in _FILES}
    if hashes["model.onnx"] != GRAPH_SHA256:
        print(f"embedding model: note: this graph is {hashes['model.onnx']}, not {GRAPH_SHA256}")
    told = {
        "model_id": f"{NAME}-{hashes['model.onnx'][:8]}",
        "dimensions": dimensions,
        "source": f"sentence-transformers/all-MiniLM-L6-v2, as packaged in {package.PACKAGE}",
        "licence": "Apache-2.0",
        "laid_out_by": _runtime(),
        "sha256": hashes,
    }
    (made / "model.json").write_text(json.dumps(told, indent=2) + "\n")


def _runtime() -> str:
    """Return the runtime that lays the graph out; empty where it is not installed."""
    try:
        return f"onnxruntime {version('onnxruntime')}"
    except PackageNotFoundError:
        return ""
