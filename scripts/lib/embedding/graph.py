"""The model as an ONNX graph: a BERT encoder with int8 weights, pooling and normalisation inside.

Weights have one scale per output column, activations one per token, found while running: what a
text's vector is does not depend on the texts beside it. The same weights give the same bytes on
every machine.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from onnx import NodeProto, TensorProto, helper, numpy_helper

from scripts.lib.embedding.weights import LARGEST_INT8, Tensors, quantised

LAYERS, HEADS, WIDTH = 6, 12, 384
# The runtime's fused operators; everything else is of the standard
_FUSED = "com.microsoft"
_STANDARD_VERSION = 17
_FORMAT_VERSION = 8
# Added under a division by a length or a spread, as in the original
_LAYER_NORM_EPSILON = 1e-12
_SMALLEST_SCALE = 1e-9


def build(tensors: Tensors) -> bytes:
    """The serialised model."""
    graph = _Graph()
    states = _embeddings(graph, tensors)
    graph.add("Cast", ["attention_mask"], "mask", to=TensorProto.INT32)
    for number in range(LAYERS):
        states = _layer(graph, tensors, number, states)
    _pool(graph, states)
    return graph.serialised()


class _Graph:
    """Collects nodes and constants."""

    def __init__(self) -> None:
        self._nodes: list[NodeProto] = []
        self._constants: list[TensorProto] = []
        self.constant("zero_point", np.array(LARGEST_INT8 + 1, np.uint8))
        self.constant("step", np.array(1 / LARGEST_INT8, np.float32))
        self.constant("smallest", np.array(_SMALLEST_SCALE, np.float32))
        self.constant("unit", np.array(1, np.float32))
        self.constant("axis_0", np.array([0], np.int64))
        self.constant("axis_1", np.array([1], np.int64))
        self.constant("thirds", np.array([WIDTH] * 3, np.int64))

    def constant(self, name: str, values: NDArray[np.generic]) -> str:
        self._constants.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def add(
        self,
        operator: str,
        inputs: Sequence[str],
        output: str,
        *more_outputs: str,
        domain: str = "",
        **attributes: object,
    ) -> str:
        """A node; the name of its first output."""
        outputs = [output, *more_outputs]
        node = helper.make_node(operator, inputs, outputs, domain=domain, **attributes)
        self._nodes.append(node)
        return output

    def serialised(self) -> bytes:
        graph = helper.make_graph(
            self._nodes,
            "encoder",
            [_value(name, TensorProto.INT64) for name in ("input_ids", "attention_mask")],
            [
                _value("sentence_embedding", TensorProto.FLOAT, ["texts", WIDTH]),
                _value("token_embeddings", TensorProto.FLOAT, ["texts", "tokens", WIDTH]),
            ],
            self._constants,
        )
        versions = [
            helper.make_opsetid("", _STANDARD_VERSION),
            helper.make_opsetid(_FUSED, 1),
        ]
        model = helper.make_model(
            graph, opset_imports=versions, ir_version=_FORMAT_VERSION, producer_name="barnacle"
        )
        return bytes(model.SerializeToString(deterministic=True))


def _value(name: str, kind: int, shape: Sequence[str | int] = ("texts", "tokens")) -> object:
    return helper.make_tensor_value_info(name, kind, list(shape))


def _embeddings(graph: _Graph, tensors: Tensors) -> str:
    """Vectors of words and of places, summed; words stay int8 until they are looked up."""
    words, scales = quantised(tensors["embeddings.word_embeddings.weight"].T)
    graph.constant("words", words.T)
    graph.constant("word_scales", scales[:, None])
    # There is one kind of text only, so its vector is part of every place
    kind = tensors["embeddings.token_type_embeddings.weight"][0]
    graph.constant("places", tensors["embeddings.position_embeddings.weight"] + kind)
    graph.add("Gather", ["words", "input_ids"], "word_integers")
    graph.add("Cast", ["word_integers"], "word_steps", to=TensorProto.FLOAT)
    graph.add("Gather", ["word_scales", "input_ids"], "word_scale")
    graph.add("Mul", ["word_steps", "word_scale"], "word")
    graph.add("Shape", ["input_ids"], "length", start=1, end=2)
    graph.add("Slice", ["places", "axis_0", "length"], "place")
    graph.add("Add", ["word", "place"], "placed_word")
    return _layer_norm(graph, tensors, "embeddings.LayerNorm", "placed_word")


def _layer(graph: _Graph, tensors: Tensors, number: int, states: str) -> str:
    source = f"encoder.layer.{number}."
    name = f"layer_{number}_"
    attended = _attention(graph, tensors, source, states)
    projected = _product(graph, tensors, [f"{source}attention.output.dense"], attended)
    states = _residual(graph, tensors, f"{source}attention.output", projected, states)
    wide = _product(graph, tensors, [f"{source}intermediate.dense"], states)
    bias = graph.constant(f"{name}wide_bias", tensors[f"{source}intermediate.dense.bias"])
    graph.add("Add", [wide, bias], f"{name}biased")
    graph.add("Gelu", [f"{name}biased"], f"{name}active", domain=_FUSED)
    narrow = _product(graph, tensors, [f"{source}output.dense"], f"{name}active")
    return _residual(graph, tensors, f"{source}output", narrow, states)


def _attention(graph: _Graph, tensors: Tensors, source: str, states: str) -> str:
    parts = [f"{source}attention.self.{part}" for part in ("query", "key", "value")]
    joined = _product(graph, tensors, parts, states)
    thirds = [f"{part}.split" for part in parts]
    graph.add("Split", [joined, "thirds"], *thirds, axis=-1)
    biases = np.concatenate([tensors[f"{part}.bias"] for part in parts])
    bias = graph.constant(f"{source}attention.bias", biases)
    return graph.add(
        "MultiHeadAttention",
        [*thirds, bias, "mask"],
        f"{source}attended",
        domain=_FUSED,
        num_heads=HEADS,
    )


def _product(graph: _Graph, tensors: Tensors, sources: Sequence[str], states: str) -> str:
    """States times the joined weights of `sources`, in integers; biases are added by the caller."""
    weights, scales = quantised(np.concatenate([tensors[f"{one}.weight"] for one in sources]).T)
    name = f"{sources[0]}."
    graph.constant(f"{name}weights", weights)
    graph.constant(f"{name}scales", scales)
    graph.add("Abs", [states], f"{name}sizes")
    graph.add("ReduceMax", [f"{name}sizes"], f"{name}largest", axes=[-1], keepdims=1)
    graph.add("Max", [f"{name}largest", "smallest"], f"{name}range")
    graph.add("Mul", [f"{name}range", "step"], f"{name}token_scale")
    graph.add("Div", [states, f"{name}token_scale"], f"{name}steps")
    graph.add("QuantizeLinear", [f"{name}steps", "unit", "zero_point"], f"{name}integers")
    graph.add(
        "MatMulIntegerToFloat",
        [f"{name}integers", f"{name}weights", "unit", f"{name}scales", "zero_point"],
        f"{name}product_steps",
        domain=_FUSED,
    )
    return graph.add("Mul", [f"{name}product_steps", f"{name}token_scale"], f"{name}product")


def _residual(graph: _Graph, tensors: Tensors, source: str, product: str, states: str) -> str:
    bias = graph.constant(f"{source}.bias", tensors[f"{source}.dense.bias"])
    graph.add("Add", [states, bias], f"{source}.biased")
    graph.add("Add", [product, f"{source}.biased"], f"{source}.sum")
    return _layer_norm(graph, tensors, f"{source}.LayerNorm", f"{source}.sum")


def _layer_norm(graph: _Graph, tensors: Tensors, source: str, states: str) -> str:
    weight = graph.constant(f"{source}.weight", tensors[f"{source}.weight"])
    bias = graph.constant(f"{source}.bias", tensors[f"{source}.bias"])
    # The fused form with its sum inside is seven times slower on CPUs
    return graph.add(
        "LayerNormalization",
        [states, weight, bias],
        f"{source}.out",
        axis=-1,
        epsilon=_LAYER_NORM_EPSILON,
    )


def _pool(graph: _Graph, states: str) -> None:
    """The direction of the mean of a text's own tokens: dividing by their number changes none."""
    graph.add("Identity", [states], "token_embeddings")
    graph.add("Cast", ["attention_mask"], "mask_numbers", to=TensorProto.FLOAT)
    graph.add("Unsqueeze", ["mask_numbers", "axis_1"], "mask_row")
    graph.add("MatMul", ["mask_row", states], "sum_row")
    graph.add("Squeeze", ["sum_row", "axis_1"], "sum")
    graph.add("LpNormalization", ["sum"], "sentence_embedding", axis=-1, p=2)
