import asyncio
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnxruntime
import pytest

from agent.embeddings import onnx
from agent.embeddings.folder import ModelFolder
from agent.embeddings.onnx import OnnxEmbedder
from agent.errors import EmbedderUnavailable
from tests.waits import wait_until


@pytest.fixture
def own_model(model_dir: Path, tmp_path: Path) -> Path:
    """A copy of the model that a test may damage."""
    return Path(shutil.copytree(model_dir, tmp_path / "model"))


async def test_it_knows_its_model_before_it_is_loaded(model_dir: Path) -> None:
    embedder = OnnxEmbedder(model_dir)
    assert embedder.dimensions == 384
    assert embedder.model_id.startswith("all-MiniLM-L6-v2-int8-")
    assert embedder._session is None
    [vector] = await embedder.embed(["turn the led on"])
    assert vector.shape == (384,)
    assert embedder._session is not None
    await embedder.aclose()


async def test_many_may_ask_at_once(model_dir: Path) -> None:
    embedder = OnnxEmbedder(model_dir)
    texts = [f"fact number {number}" for number in range(12)]
    alone = [(await embedder.embed([text]))[0] for text in texts]
    together = await asyncio.gather(*(embedder.embed([text]) for text in texts))
    assert np.allclose(alone, [vectors[0] for vectors in together])
    await embedder.aclose()


async def test_without_a_model_it_says_so_and_has_no_dimensions(tmp_path: Path) -> None:
    embedder = OnnxEmbedder(tmp_path / "missing")
    assert (embedder.model_id, embedder.dimensions) == ("", 0)
    with pytest.raises(EmbedderUnavailable, match=r"no embedding model in .*run scripts/"):
        await embedder.embed(["a"])
    await embedder.aclose()


async def test_a_model_that_comes_later_is_used(model_dir: Path, tmp_path: Path) -> None:
    embedder = OnnxEmbedder(tmp_path / "model")
    with pytest.raises(EmbedderUnavailable):
        await embedder.embed(["a"])
    shutil.copytree(model_dir, tmp_path / "model")
    assert embedder.dimensions == 384
    assert len(await embedder.embed(["a"])) == 1
    await embedder.aclose()


async def test_a_flipped_byte_is_found_before_it_is_run(own_model: Path) -> None:
    content = bytearray((own_model / "model.ort").read_bytes())
    content[len(content) // 2] ^= 0xFF
    (own_model / "model.ort").write_bytes(content)
    embedder = OnnxEmbedder(own_model)
    for _ in range(2):
        with pytest.raises(EmbedderUnavailable, match=r"model\.ort is not the file"):
            await embedder.embed(["a"])
    await embedder.aclose()


@pytest.mark.parametrize("name", ["model.ort", "tokenizer.json"])
async def test_a_file_of_rubbish_without_a_description_is_damage(
    own_model: Path, name: str
) -> None:
    (own_model / "model.json").unlink()
    (own_model / name).write_text("rubbish")
    embedder = OnnxEmbedder(own_model)
    assert embedder.dimensions == 0
    with pytest.raises(EmbedderUnavailable, match="damaged"):
        await embedder.embed(["a"])
    await embedder.aclose()


async def test_any_folder_with_graph_and_tokenizer_will_do(own_model: Path) -> None:
    (own_model / "model.json").unlink()
    embedder = OnnxEmbedder(own_model)
    assert embedder.dimensions == 384
    assert embedder.model_id.startswith("model-")
    assert len(await embedder.embed(["a", "b"])) == 2
    await embedder.aclose()


async def test_a_missing_file_beside_a_description_means_no_model(own_model: Path) -> None:
    (own_model / "tokenizer.json").unlink()
    assert OnnxEmbedder(own_model).dimensions == 0


async def test_after_the_end_it_says_so(model_dir: Path) -> None:
    embedder = OnnxEmbedder(model_dir)
    await embedder.aclose()
    await embedder.aclose()
    with pytest.raises(EmbedderUnavailable):
        await embedder.embed(["a"])


async def test_the_runtime_gets_one_thread_that_does_not_spin(model_dir: Path) -> None:
    embedder = OnnxEmbedder(model_dir)
    await embedder.embed(["a"])
    assert embedder._session is not None
    options = embedder._session._runtime.get_session_options()
    assert (options.intra_op_num_threads, options.inter_op_num_threads) == (1, 1)
    assert options.get_session_config_entry("session.intra_op.allow_spinning") == "0"
    assert isinstance(embedder._session._runtime, onnxruntime.InferenceSession)
    await embedder.aclose()


def test_where_the_runtime_is_not_installed_it_says_what_to_install(model_dir: Path) -> None:
    program = (
        "import asyncio, sys; sys.modules['onnxruntime'] = None\n"
        "from pathlib import Path\n"
        "from agent.embeddings.onnx import OnnxEmbedder\n"
        "from agent.errors import EmbedderUnavailable\n"
        "try: asyncio.run(OnnxEmbedder(Path(sys.argv[1])).embed(['a']))\n"
        "except EmbedderUnavailable as err: print(err)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(model_dir)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    assert done.stdout.startswith("onnxruntime is not installed")


_LOADS = """
import asyncio, sys
from pathlib import Path
from agent.embeddings import onnx
from agent.embeddings.folder import ModelFolder
from agent.embeddings.onnx import OnnxEmbedder
[vector] = asyncio.run(OnnxEmbedder(Path(sys.argv[1])).embed(["turn the led on"]))
assert vector.shape == (384,)
"""


def test_the_runtime_keeps_and_sends_nothing_about_this_machine(
    model_dir: Path, tmp_path: Path
) -> None:
    environ = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    subprocess.run([sys.executable, "-c", _LOADS, str(model_dir)], env=environ, check=True)
    assert list(tmp_path.iterdir()) == []


async def test_the_mapped_graph_gives_the_same_vectors_as_the_other(own_model: Path) -> None:
    texts = ["turn the light on", "my sister is called Mei", "a" * 900]
    mapped = OnnxEmbedder(own_model)
    one, mapped_id = await mapped.embed(texts), mapped.model_id
    await mapped.aclose()
    (own_model / "model.ort").unlink()
    copied = OnnxEmbedder(own_model)
    other = await copied.embed(texts)
    # What was remembered with one is found with the other
    assert copied.model_id == mapped_id
    await copied.aclose()
    assert abs(one - other).max() < 1e-5


async def test_the_weights_are_not_in_memory_twice(own_model: Path) -> None:
    embedder = OnnxEmbedder(own_model)
    await embedder.embed(["turn the light on"])
    mapped = (own_model / "model.ort").resolve()
    read_bytes = _read_of(mapped)
    # Half of them are laid out for the processor in memory of their own
    assert 0 < read_bytes < mapped.stat().st_size / 4
    # The others are rows of words, and of those that were read none is kept
    await wait_until(lambda: _read_of(mapped) == 0)
    await embedder.aclose()


def _read_of(mapped: Path) -> int:
    """Return the bytes of a mapped file that this process has in memory."""
    [told] = [
        told
        for told in Path("/proc/self/smaps").read_text().split("VmFlags:")
        if f"{mapped}\n" in told
    ]
    return int(told.split("\nRss:")[1].split()[0]) * 1024


async def test_a_model_that_nobody_asks_is_let_go_and_loaded_again(
    own_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded: list[ModelFolder] = []

    def load(folder: ModelFolder) -> object:
        loaded.append(folder)
        return new_session(folder)

    new_session = onnx._new_session
    monkeypatch.setattr(onnx, "_new_session", load)
    monkeypatch.setattr(onnx, "IDLE_S", 0.01)
    embedder = OnnxEmbedder(own_model)
    first = await embedder.embed(["a"])
    await wait_until(lambda: embedder._session is None)
    assert (await embedder.embed(["a"]) == first).all()
    assert len(loaded) == 2
    assert embedder.dimensions == 384
    await embedder.aclose()
    assert embedder._letting_go is None
