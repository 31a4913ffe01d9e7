"""Embedding through the agent against the bare call of the runtime and its tokenizer."""

import asyncio
import statistics
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

from agent.embeddings.onnx import OnnxEmbedder
from scripts.lib.bench.table import Row

BUDGET = 1.15
_WARM_UP = 5


def measure(texts: Sequence[str], model: Path) -> Row:
    """The row of the way to the model."""
    agent_s, bare_s = asyncio.run(_both(texts, model))
    agent_ms, bare_ms = (statistics.median(one) * 1e3 for one in (agent_s, bare_s))
    # Each text against itself: a slow moment of the machine meets both
    ratio = statistics.median(ours / bare for ours, bare in zip(agent_s, bare_s, strict=True))
    return Row(
        "embedding through the agent, p50",
        f"<= {BUDGET:g}x the bare session",
        f"{ratio:.2f}x ({agent_ms:.2f} ms, {len(texts)} texts)",
        f"{bare_ms:.2f} ms (tokenizer and session, one thread)",
        ratio <= BUDGET,
    )


async def _both(texts: Sequence[str], model: Path) -> tuple[list[float], list[float]]:
    embedder = OnnxEmbedder(model)
    bare = _Bare(model)
    agent_s: list[float] = []
    bare_s: list[float] = []
    for text in [*texts[:_WARM_UP], *texts]:
        began_s = time.perf_counter()
        await embedder.embed([text])
        middle_s = time.perf_counter()
        await asyncio.to_thread(bare.vector, text)
        bare_s.append(time.perf_counter() - middle_s)
        agent_s.append(middle_s - began_s)
    await embedder.aclose()
    return agent_s[_WARM_UP:], bare_s[_WARM_UP:]


class _Bare:
    """The runtime as its documentation shows it, with the settings that are best here."""

    def __init__(self, model: Path) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
        self._session = onnxruntime.InferenceSession(
            str(model / "model.onnx"), options, providers=["CPUExecutionProvider"]
        )
        self._tokenizer = Tokenizer.from_file(str(model / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._output = self._session.get_outputs()[0].name
        self._inputs = {value.name for value in self._session.get_inputs()}

    def vector(self, text: str) -> object:
        ids = np.array([self._tokenizer.encode(text).ids], np.int64)
        known = {
            "input_ids": ids,
            "attention_mask": np.ones_like(ids),
            "token_type_ids": np.zeros_like(ids),
        }
        fed = {name: value for name, value in known.items() if name in self._inputs}
        return self._session.run([self._output], fed)[0]
