"""The int8 model against the same weights in 32-bit floats, both run by onnxruntime on one thread.

It tells what the integers alone are worth, whatever else differs between runtimes.
"""

import statistics
import time
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, helper, numpy_helper

from scripts.lib.bench.table import NO_BAR, Row

# Tokens of a question and of a long turn
LENGTHS = (16, 128)
_WARM_UP = 5
# Of a sentence's direction what int8 keeps; below, it is another model that was measured
_LEAST_SIMILARITY = 0.95
_PRODUCT = "MatMulIntegerToFloat"

Inputs = dict[str, NDArray[np.int64]]


def measure(model: Path, runs: int) -> Row:
    """The row of int8."""
    small = onnx.load(str(model / "model.onnx"))
    sessions = [_session(one.SerializeToString()) for one in (small, widened(small))]
    times = [_times_ms(sessions, _inputs(length), runs) for length in LENGTHS]
    similar = min(_similarity(sessions, _inputs(length)) for length in LENGTHS)
    if similar < _LEAST_SIMILARITY:
        raise ValueError(f"the widened model is another: cosine {similar:.3f}")
    ratios = " and ".join(f"{wide / narrow:.1f}x" for narrow, wide in times)
    return Row(
        "int8 model, 16 and 128 tokens, one thread",
        NO_BAR,
        f"{ratios} as fast as floats ({' and '.join(f'{narrow:.1f}' for narrow, _ in times)} ms)",
        f"{' and '.join(f'{wide:.1f}' for _, wide in times)} ms (onnxruntime, same weights, fp32)",
        None,
    )


def widened(model: ModelProto) -> ModelProto:
    """The same graph, its integer products replaced by products of floats."""
    wide = ModelProto()
    wide.CopyFrom(model)
    constants = {one.name: numpy_helper.to_array(one) for one in model.graph.initializer}
    products = [node for node in model.graph.node if node.op_type == _PRODUCT]
    made: dict[str, NodeProto] = {}
    dropped: set[str] = set()
    for node in products:
        prefix = node.output[0].removesuffix("product_steps")
        states = next(one for one in model.graph.node if one.output[0] == f"{prefix}steps").input[0]
        weights = constants[node.input[1]].astype(np.float32) * constants[node.input[3]]
        wide.graph.initializer.append(numpy_helper.from_array(weights, f"{prefix}wide"))
        made[f"{prefix}product"] = helper.make_node(
            "MatMul", [states, f"{prefix}wide"], [f"{prefix}product"]
        )
        around = ("sizes", "largest", "range", "token_scale", "steps", "integers", "product_steps")
        dropped.update(f"{prefix}{name}" for name in around)
    nodes = [made.get(one.output[0], one) for one in model.graph.node]
    del wide.graph.node[:]
    wide.graph.node.extend(one for one in nodes if one.output[0] not in dropped)
    return wide


def _session(model: bytes) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    # Initialisers that nothing uses any more are no news
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def _inputs(length: int) -> Inputs:
    ids = np.random.default_rng(length).integers(1000, 20_000, (1, length))
    return {"input_ids": ids, "attention_mask": np.ones_like(ids)}


def _times_ms(
    sessions: list[onnxruntime.InferenceSession], inputs: Inputs, runs: int
) -> tuple[float, float]:
    """Medians; both take turns, so that a slow moment of the machine meets both."""
    taken: tuple[list[float], list[float]] = ([], [])
    for _ in range(runs + _WARM_UP):
        for session, times in zip(sessions, taken, strict=True):
            began_s = time.perf_counter()
            session.run(None, inputs)
            times.append((time.perf_counter() - began_s) * 1e3)
    narrow, wide = (statistics.median(times[_WARM_UP:]) for times in taken)
    return narrow, wide


def _similarity(sessions: list[onnxruntime.InferenceSession], inputs: Inputs) -> float:
    narrow, wide = (session.run(["sentence_embedding"], inputs)[0][0] for session in sessions)
    return float(narrow @ wide)
