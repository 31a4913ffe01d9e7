"""Folders of very small embedding models: a table of words, as an exporter would lay it out."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, pre_tokenizers

# A word is its place in this list; an unknown one is the first
WORDS = ("[UNK]", "red", "green", "blue", "query:", "passage:")
DIMENSIONS = 4
# Row by row what each word is; none is in the direction of another
TABLE = np.array(
    [
        [0.1, 0.1, 0.1, 0.1],
        [3.0, 0.0, 0.0, 1.0],
        [0.0, 3.0, 0.0, 1.0],
        [0.0, 0.0, 3.0, 1.0],
        [0.0, 0.0, 0.0, 9.0],
        [9.0, 0.0, 0.0, 0.0],
    ],
    np.float32,
)


def write_model(
    folder: Path,
    *,
    table: np.ndarray = TABLE,
    inputs: Sequence[str] = ("input_ids", "attention_mask"),
    settings: Mapping[str, object] | None = None,
    sentence_output: bool = False,
    integer: int = TensorProto.INT64,
) -> Path:
    """A folder with a graph that gives each token its row; `settings` are files beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    nodes = [helper.make_node("Gather", ["table", "input_ids"], ["last_hidden_state"])]
    outputs = [_value("last_hidden_state", ["texts", "tokens", "width"])]
    if sentence_output:
        nodes.append(
            helper.make_node("ReduceMax", ["last_hidden_state", "axes"], ["one"], keepdims=0)
        )
        outputs.append(_value("one", ["texts", "width"]))
    graph = helper.make_graph(
        nodes,
        "words",
        [helper.make_tensor_value_info(name, integer, ["texts", "tokens"]) for name in inputs],
        outputs,
        [
            numpy_helper.from_array(np.asarray(table, np.float32), "table"),
            numpy_helper.from_array(np.array([1], np.int64), "axes"),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
    # The oldest format that has this set of operations: any runtime reads it
    model.ir_version = 8
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    tokenizer = Tokenizer(
        models.WordLevel({word: place for place, word in enumerate(WORDS)}, unk_token="[UNK]")
    )
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.save(str(folder / "tokenizer.json"))
    for name, content in (settings or {}).items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(json.dumps(content))
    return folder


def pooling(mode: str) -> dict[str, object]:
    """The file that says how tokens are pooled, as sentence-transformers writes it."""
    return {
        "1_Pooling/config.json": {
            "word_embedding_dimension": DIMENSIONS,
            "pooling_mode_cls_token": mode == "cls",
            "pooling_mode_mean_tokens": mode == "mean",
            "pooling_mode_max_tokens": mode == "max",
            "pooling_mode_mean_sqrt_len_tokens": mode == "mean_sqrt_len",
            "pooling_mode_lasttoken": mode == "last",
        }
    }


def _value(name: str, shape: list[str]) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
